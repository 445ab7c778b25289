"""Looking after the cache from the command line."""

from __future__ import annotations

import errno
import os

import pytest

from tilewright.base.config import override
from tilewright.base.stage import Saved
from tilewright.compile.store import Record, current_store
from tilewright.tools.command import main


@pytest.fixture
def store(tmp_path):
    with override(cache_dir=str(tmp_path / "cache")):
        yield current_store()


def put(store, kernel, nbytes=1000, **facts):
    record = Record.of({"made": "cubin", "kernel": kernel, **facts})
    assert store.put(record, Saved({}, bytes(nbytes)))
    return store.root / record.name[:2] / f"{record.name}.tw"


def test_ls_shows_the_last_used_first(store, capsys):
    old, new = put(store, "softmax", arch="sm_90"), put(store, "gemm", 5000, cpu="znver4")
    os.utime(old, (0, 0))
    assert main(["cache", "ls"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "KERNEL", "FOR", "SIZE", "USED"]
    assert first.split()[:4] == [new.stem[:12], "gemm", "cpu", "znver4"]
    assert second.split()[:3] == [old.stem[:12], "softmax", "sm_90"]
    assert "d ago" in second and "KiB" in second


def test_ls_of_nothing(store, capsys):
    assert main(["cache", "ls"]) == 0
    assert "is empty" in capsys.readouterr().out


def test_damaged_entries_are_named(store, capsys):
    whole, damaged = put(store, "softmax"), put(store, "gemm")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert main(["cache", "ls"]) == 0
    assert "damaged: its length differs from that in its header" in capsys.readouterr().out
    assert main(["cache", "verify"]) == 1
    text = capsys.readouterr().out
    assert f"removed: {damaged.stem}: its length" in text
    assert "2 entries, 1 damaged" in text
    assert whole.exists() and not damaged.exists()
    assert main(["cache", "verify"]) == 0


def test_clear(store, capsys):
    put(store, "softmax"), put(store, "gemm")
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith("removed 2 entries, ")
    assert store.entries() == ()


def test_stats(store, capsys):
    put(store, "softmax", arch="sm_90"), put(store, "gemm", arch="sm_90")
    put(store, "add", cpu="znver4").write_bytes(b"junk")
    assert main(["cache", "stats"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {f"directory {store.root}", "entries 3", "for sm_90 2", "for damaged 1"} <= set(lines)
    assert any(line.startswith("size ") and line.endswith("of 1.0 GiB") for line in lines)


def test_path(store, capsys):
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(store.root)


def test_off_is_an_error_that_says_so(capsys):
    with override(cache_dir="off"):
        assert main(["cache", "ls"]) == 1
    assert "compiled code is not cached on disk" in capsys.readouterr().err


def test_a_directory_open_to_others_is_an_error(store, capsys):
    put(store, "softmax")
    store.root.chmod(0o755)
    assert main(["cache", "ls"]) == 1
    assert "chmod 700" in capsys.readouterr().err
    store.root.chmod(0o700)


def test_what_cannot_be_removed_is_said(store, capsys, monkeypatch):
    """As on a disk that became read-only."""
    damaged = put(store, "gemm")
    damaged.write_bytes(b"junk")

    def refuse(*args, **keywords):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "unlink", refuse)
    assert main(["cache", "verify"]) == 1
    assert f"damaged, not removed: {damaged.stem}" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("removed 0 entries, 0 B, ") and "1 could not be removed" in text


def test_pack_and_unpack(store, tmp_path, capsys):
    put(store, "softmax"), put(store, "gemm", 5000)
    file = tmp_path / "kernels.xz"
    assert main(["cache", "pack", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"2 entries in {file}, ")
    with override(cache_dir=str(tmp_path / "there")):
        assert main(["cache", "unpack", str(file)]) == 0
        assert f"2 entries put into {tmp_path / 'there'}" in capsys.readouterr().out
        names = [entry.name for entry in current_store().entries()]
    assert sorted(names) == sorted(entry.name for entry in store.entries())


@pytest.mark.parametrize(("words", "status"), [
    (["pack"], 2), (["unpack"], 2), (["ls", "x"], 2), (["unpack", "/none.xz"], 1),
    (["pack", "/proc/none.xz"], 1), (["unpack", "/etc/passwd"], 1),
])  # fmt: skip
def test_files_that_are_not_there_or_not_wanted(store, capsys, words, status):
    assert main(["cache", *words]) == status
    assert "Traceback" not in capsys.readouterr().err
