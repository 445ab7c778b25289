"""Bytecode of failures is kept once each, by its user alone, and not without end."""

from __future__ import annotations

import os
import stat
import tempfile

import pytest

from tilewright.backend.tileir import lowered as assembler
from tilewright.backend.tileir.lowered import keep
from tilewright.base.files import RefusedError


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A directory for temporary files that has nothing in it yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_was_kept_can_be_read_by_its_user_alone(temporary):
    path = keep("k", b"bytecode")
    assert path.read_bytes() == b"bytecode"
    assert path.parent.parent == temporary
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (path, path.parent)]
    assert modes == [0o600, 0o700]


def test_the_same_bytecode_is_one_file_and_another_one_its_own(temporary):
    paths = {keep("k", b"one"), keep("k", b"one"), keep("k", b"two"), keep("l", b"one")}
    assert len(paths) == 3
    assert set(temporary.glob("*/*")) == paths


def test_the_newest_are_kept(temporary, monkeypatch):
    monkeypatch.setattr(assembler, "MOST", 3)
    paths = []
    for number in range(5):
        paths.append(keep("k", bytes([number])))
        os.utime(paths[-1], (number, number))
    assert set(temporary.glob("*/*")) == set(paths[2:])
    keep("k", bytes([2]))  # fails again, so it is new again
    last = keep("k", b"last")
    assert set(temporary.glob("*/*")) == {paths[2], paths[4], last}


def test_what_was_never_finished_goes_as_well(temporary, monkeypatch):
    monkeypatch.setattr(assembler, "MOST", 1)
    folder = keep("k", b"one").parent
    (folder / "k-0.tileirbc.0.tmp").write_bytes(b"half")
    last = keep("k", b"two")
    assert list(folder.iterdir()) == [last]


def test_a_long_name_is_cut():
    assert len(keep("k" * 300, b"").name) < 100


def test_a_folder_that_others_can_enter_is_not_used(temporary):
    folder = keep("k", b"one").parent
    folder.chmod(0o755)
    with pytest.raises(RefusedError, match="open to other users"):
        keep("k", b"two")
    assert len(list(folder.iterdir())) == 1
