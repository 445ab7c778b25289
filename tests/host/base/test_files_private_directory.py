"""Only a directory that is its user's alone is opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tilewright.base import files
from tilewright.base.files import RefusedError, opened, remove, write


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_private(tmp_path):
    path = tmp_path / "some" / "where" / "cache"
    before = os.umask(0)
    try:
        with opened(path, create=True) as descriptor:
            assert os.path.samestat(os.fstat(descriptor), path.stat())
    finally:
        os.umask(before)
    assert mode_of(path) == 0o700


def test_it_is_made_only_when_asked(tmp_path):
    with pytest.raises(FileNotFoundError), opened(tmp_path / "cache"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o700, 0o500, 0o300, 0o1700])
def test_private_modes(tmp_path, mode):
    path = tmp_path / "cache"
    path.mkdir()
    path.chmod(mode)
    try:
        with opened(path, create=True):
            pass
    except PermissionError:
        assert not mode & 0o400  # a directory without r cannot be opened, unless by root
    finally:
        path.chmod(0o700)


@pytest.mark.parametrize("bit", [0o001, 0o002, 0o004, 0o010, 0o020, 0o040])
def test_each_right_of_others_is_one_too_many(tmp_path, bit):
    path = tmp_path / "cache"
    path.mkdir()
    path.chmod(0o700 | bit)
    with pytest.raises(RefusedError, match=rf"mode 07\d\d\); `chmod 700 {path}` closes it"):
        opened(path, create=True).__enter__()


def test_the_directory_of_another_user(tmp_path, monkeypatch):
    me = os.geteuid()
    monkeypatch.setattr(files.os, "geteuid", lambda: me + 1)
    with pytest.raises(RefusedError, match="belongs to another user"):
        opened(tmp_path / "cache", create=True).__enter__()


def test_a_link_counts_as_what_it_leads_to(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir(0o700)
    link.symlink_to(target)
    with opened(link, create=True) as descriptor:
        assert os.path.samestat(os.fstat(descriptor), target.stat())
    target.chmod(0o755)
    with pytest.raises(RefusedError, match="open to other users"):
        opened(link, create=True).__enter__()


@pytest.mark.parametrize("make", [lambda p: p.write_text("x"), lambda p: p.symlink_to("nowhere")])
def test_what_is_no_directory(tmp_path, make):
    path = tmp_path / "cache"
    make(path)
    with pytest.raises(OSError):  # noqa: PT011  (which one depends on the system)
        opened(path, create=True).__enter__()


def test_what_is_checked_is_what_is_used(tmp_path):
    """Somebody who swaps the directory afterwards changes nothing for who has it open."""
    path = tmp_path / "cache"
    with opened(path, create=True) as descriptor:
        path.rename(tmp_path / "moved")
        path.mkdir()
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=descriptor))
    assert (tmp_path / "moved" / "file").exists()
    assert not (path / "file").exists()


def test_descriptors_are_closed(tmp_path):
    before = descriptors()
    for mode in (0o700, 0o755):
        path = tmp_path / f"{mode:o}"
        path.mkdir()
        path.chmod(mode)
        for _ in range(3):
            try:
                with opened(path):
                    pass
            except RefusedError:
                pass
    assert descriptors() == before


def test_a_file_is_replaced_as_a_whole_and_is_private(tmp_path):
    with opened(tmp_path / "cache", create=True) as descriptor:
        for data in (b"one", b""):
            write(descriptor, "file", data)
            assert (tmp_path / "cache" / "file").read_bytes() == data
    assert mode_of(tmp_path / "cache" / "file") == 0o600
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["file"]


def test_what_cannot_be_replaced_leaves_nothing_behind(tmp_path):
    (tmp_path / "cache" / "file").mkdir(parents=True)
    (tmp_path / "cache").chmod(0o700)
    with opened(tmp_path / "cache") as descriptor, pytest.raises(IsADirectoryError):
        write(descriptor, "file", b"data")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["file"]


def test_what_is_gone_may_be_removed(tmp_path):
    with opened(tmp_path / "cache", create=True) as descriptor:
        write(descriptor, "file", b"data")
        assert remove(descriptor, "file") and remove(descriptor, "file")
    assert list((tmp_path / "cache").iterdir()) == []
