"""What is too much goes, the longest unused first; what writers abandoned goes too."""

from __future__ import annotations

import os
import time

import pytest

from tilewright.compile.store.disk import LOCK, acquire, evict, files, path_of


@pytest.fixture
def directory(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def name(number):
    return f"{number:02x}" + "0" * 62


def write(root, path, size, age):
    file = root / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x" * size)
    then = time.time() - age
    os.utime(file, (then, then))


def entries(directory):
    return sorted(f.name[:2] for f in files(directory) if f.is_entry)


def test_nothing_goes_while_there_is_room(directory, tmp_path):
    for number in range(4):
        write(tmp_path, path_of(name(number)), 100, number)
    assert evict(directory, 400) == 0
    assert len(entries(directory)) == 4


def test_the_longest_unused_go_first_down_to_the_low_mark(directory, tmp_path):
    ages = {1: 50, 2: 10, 3: 40, 4: 20, 5: 30}
    for number, age in ages.items():
        write(tmp_path, path_of(name(number)), 100, age)
    assert evict(directory, 499) == 2  # 80 % of 499 is 399
    assert entries(directory) == ["02", "04", "05"]


def test_all_may_go(directory, tmp_path):
    write(tmp_path, path_of(name(1)), 100, 0)
    assert evict(directory, 50) == 1
    assert entries(directory) == []


def test_nothing_is_there(directory):
    assert evict(directory, 0) == 0


def test_abandoned_files_go_young_ones_stay(directory, tmp_path):
    old, young = 3700, 3500
    write(tmp_path, f"{path_of(name(1))}.{16 * 'a'}.tmp", 10, old)
    write(tmp_path, f"{path_of(name(1))}.{16 * 'b'}.tmp", 10, young)
    write(tmp_path, f"{16 * 'c'}.tmp", 10, old)
    write(tmp_path, f"{name(2)}.lock", 0, old)
    write(tmp_path, f"{name(3)}.lock", 0, young)
    evict(directory, 1000)
    left = sorted(f.path for f in files(directory))
    assert left == [f"{path_of(name(1))}.{16 * 'b'}.tmp", f"{name(3)}.lock"]


def test_files_of_others_stay_however_old_they_are(directory, tmp_path):
    """A cache may be told to use a directory in which there are other files."""
    ours = path_of(name(1))
    theirs = (
        "mailbox.lock", "draft.tmp", "notes.txt", "aa/mailbox.lock", "ab/.tmp", f"{name(1)}.lock2",
        f"ab/{name(1)}.lock", f"{16 * 'g'}.tmp", f"zz/{name(1)}.tw.{16 * 'a'}.tmp",
        f"{ours}.aa.tmp", f"{ours}.{16 * 'a'}.tmp.lock", "evict.lock",
    )  # fmt: skip
    for path in theirs:
        write(tmp_path, path, 1000, 365 * 24 * 3600)
    assert evict(directory, 0) == 0
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()} == set(
        theirs
    )


def test_what_is_not_ours_stays(directory, tmp_path):
    """Somebody may have put other files there: only names of entries are counted and removed."""
    others = ["notes.txt", "01/readme", f"02/{name(1)}.tw", f"01/{name(1)}.tw.bak", "abc/file.tw"]
    for path in others:
        write(tmp_path, path, 100, 9999)
    (tmp_path / "03").symlink_to(tmp_path)
    assert evict(directory, 0) == 0
    assert all((tmp_path / path).exists() for path in others)


def test_one_process_at_a_time(directory, tmp_path):
    write(tmp_path, path_of(name(1)), 100, 0)
    held = acquire(directory, LOCK, 0.0)
    assert evict(directory, 0) == 0
    held.release()
    assert evict(directory, 0) == 1
    assert not (tmp_path / LOCK).exists()


def test_files_that_vanish_meanwhile(directory, tmp_path, monkeypatch):
    for number in range(3):
        write(tmp_path, path_of(name(number)), 100, number)
    unlink = os.unlink

    def twice(path, **where):
        unlink(path, **where)
        unlink(path, **where)

    monkeypatch.setattr(os, "unlink", twice)
    assert evict(directory, 1) == 3


@pytest.mark.parametrize("bad", ["", "../x", "a" * 63, "A" * 64])
def test_a_path_is_made_of_names_only(bad):
    with pytest.raises(ValueError, match="not the name of an entry"):
        path_of(bad)
