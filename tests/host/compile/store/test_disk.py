"""The store gives back what it was given, or nothing; whatever is wrong with the disk."""

from __future__ import annotations

import errno
import os
import resource
import stat
import sys
import time
import warnings

import pytest

from tilewright.base.files import opened
from tilewright.base.stage import Saved
from tilewright.compile.store.disk import Store, acquire, path_of
from tilewright.compile.store.entry import LARGEST, Record, Stats

IS_ROOT = os.geteuid() == 0
SAVED = Saved({"symbol": "add"}, b"code" * 100)


def record(number=0, **facts):
    return Record.of({"kernel": "add", "number": number, **facts})


def same(saved):
    return saved


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def store(root):
    return Store(root, 1 << 20, patience=0.05)


@pytest.fixture
def kept(store):
    """The path of an entry that is kept under `record()`."""
    assert store.put(record(), SAVED)
    return store.root / path_of(record().name)


def nothing(store):
    """Nothing is found, and nobody is disturbed by that."""
    return store.get(record(), same) is None


# Right.


def test_what_is_put_is_got(store, root):
    assert nothing(store)
    assert not root.exists()
    assert store.put(record(), SAVED)
    assert store.get(record(), same) == SAVED
    assert Store(root, 1).get(record(), same) == SAVED
    assert store.get(record(1), same) is None
    size = (root / path_of(record().name)).stat().st_size
    assert store.stats == Stats(hits=1, misses=2, puts=1, bytes_written=size)


def test_everything_is_private(store, kept, root):
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in (root, kept.parent, kept)}
    assert modes == {root: 0o700, kept.parent: 0o700, kept: 0o600}
    assert kept == root / record().name[:2] / f"{record().name}.tw"


def test_only_entries_are_left_behind(store, kept, root):
    with store.alone(record()):
        store.put(record(), SAVED)
    assert [p for p in root.rglob("*") if p.is_file()] == [kept]


def test_putting_again_replaces(store, kept):
    newer = Saved({"symbol": "add"}, b"newer")
    assert store.put(record(), newer)
    assert store.get(record(), same) == newer
    assert len(store.entries()) == 1


def test_find_counts_no_misses(store):
    assert store.find(record(), same) is None
    store.put(record(), SAVED)
    assert store.find(record(), same) == SAVED
    assert (store.stats.hits, store.stats.misses) == (1, 0)


def test_a_hit_makes_an_entry_young_looking_does_not(store, kept):
    os.utime(kept, (1, 1))
    store.facts(record().name)
    store.verify()
    store.explain(record(1))
    assert kept.stat().st_mtime == 1
    store.get(record(), same)
    assert abs(kept.stat().st_mtime - time.time()) < 60


# Wrong entries.


def foreign(path):
    path.write_bytes(b"\x7fELF" + bytes(1000))


def truncated(path):
    path.write_bytes(path.read_bytes()[:-1])


def emptied(path):
    path.write_bytes(b"")


def grown(path):
    path.write_bytes(path.read_bytes() + b"x")


def flipped(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def linked(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def piped(path):
    path.unlink()
    os.mkfifo(path)


def huge(path):
    os.truncate(path, LARGEST + 1)


@pytest.mark.parametrize(
    "damage", [foreign, truncated, emptied, grown, flipped, linked, piped, huge]
)
def test_what_is_wrong_is_a_miss_and_goes(store, kept, damage):
    damage(kept)
    assert nothing(store)
    assert not kept.exists()
    assert not kept.is_symlink()
    assert (store.stats.invalid, store.stats.misses, store.stats.io_errors) == (1, 1, 0)
    assert store.put(record(), SAVED)
    assert store.get(record(), same) == SAVED


def test_swapped_entries(store, kept):
    other = record(1)
    store.put(other, Saved({"symbol": "sub"}, b"other code"))
    path = store.root / path_of(other.name)
    swap = kept.with_name("swap")
    kept.rename(swap)
    path.rename(kept)
    swap.rename(path)
    assert nothing(store)
    assert store.get(other, same) is None
    assert store.stats.invalid == 2


def test_what_cannot_be_restored_is_removed(store, kept):
    def refuse(saved):
        raise ValueError("not what it should be")

    assert store.get(record(), refuse) is None
    assert not kept.exists()
    assert store.stats.invalid == 1


def unkept(why="cannot be written"):
    """What a user is told, once, where a disk does not let us."""
    return pytest.warns(RuntimeWarning, match=f"compiled code is not cached on disk: .* {why}")


def test_a_directory_in_place_of_an_entry(store, kept):
    kept.unlink()
    kept.mkdir()
    assert nothing(store)
    with unkept():
        assert not store.put(record(), SAVED)
    assert store.stats.io_errors >= 2


def test_the_entry_of_another_user(store, kept, monkeypatch):
    if not IS_ROOT:
        pytest.skip("only root can give a file away")
    os.chown(kept, 12345, -1)
    assert nothing(store)
    assert not kept.exists()


# Wrong directories.


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_an_open_directory_is_not_used(store, kept, root, mode):
    root.chmod(mode)
    with pytest.warns(RuntimeWarning, match=r"compiled code is not cached on disk: .*`chmod 700 "):
        assert nothing(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nothing(store)  # warned once
        assert not store.put(record(1), SAVED)
        with store.alone(record()):
            pass
        assert store.entries() == ()
    assert [p.name for p in root.rglob("*.tw")] == [kept.name]
    root.chmod(0o700)
    assert store.get(record(), same) == SAVED


def test_the_warning(store, root, golden):
    root.mkdir()
    root.chmod(0o755)
    with pytest.warns(RuntimeWarning) as caught:
        nothing(store)
    golden(str(caught[0].message).replace(str(root), "DIRECTORY"))


def test_a_link_to_an_open_directory(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("open")
    store = Store(tmp_path / "link", 1 << 20)
    with pytest.warns(RuntimeWarning, match="open to other users"):
        assert not store.put(record(), SAVED)
    assert list((tmp_path / "open").iterdir()) == []


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(store, kept, root):
    root.chmod(0o500)
    kept.parent.chmod(0o500)
    try:
        assert store.get(record(), same) == SAVED
        with unkept(), store.alone(record(1)):
            assert not store.put(record(1), SAVED)
        assert store.stats.io_errors == 2
    finally:
        root.chmod(0o700)
        kept.parent.chmod(0o700)


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_refuses_writing(store, kept, monkeypatch, code):
    normal = os.open

    def refusing(path, flags, mode=0o777, *, dir_fd=None):
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        return normal(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    monkeypatch.setattr(os, "utime", lambda *a, **k: refusing("", os.O_CREAT))
    assert store.get(record(), same) == SAVED
    with unkept(os.strerror(code)) as warned, store.alone(record(1)):
        assert not store.put(record(1), SAVED)
    assert len(warned) == 1 and "TILEWRIGHT_CACHE_DIR" in str(warned[0].message)
    assert (store.stats.io_errors, store.stats.puts) == (2, 1)


def test_a_disk_that_gets_full_while_writing(store, kept, root):
    """The kernel stops a write in the middle: nothing of it stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    big = Saved({}, os.urandom(100_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with unkept():
            done = store.put(record(1), big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not done
    assert (store.stats.io_errors, store.stats.puts) == (1, 1)
    assert [p for p in root.rglob("*") if p.is_file()] == [kept]
    assert store.put(record(1), big)
    assert store.get(record(1), same) == big


def test_a_disk_that_cannot_be_read(store, kept, monkeypatch):
    def failing(self, *args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("tilewright.compile.store.disk.os.fstat", failing)
    assert nothing(store)
    monkeypatch.undo()
    assert store.stats.io_errors == 1
    assert store.get(record(), same) == SAVED


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_where_no_directory_can_be(tmp_path, where):
    (tmp_path / "file").touch()
    store = Store(tmp_path / where, 1 << 20)
    assert nothing(store)
    with unkept(), store.alone(record()):
        assert not store.put(record(), SAVED)
    assert store.stats.io_errors >= 2


def test_the_directory_may_go_and_come_back(store, kept, root):
    root.rename(root.with_name("gone"))
    assert nothing(store)
    assert store.stats.io_errors == 0
    assert store.put(record(), SAVED)
    assert store.get(record(), same) == SAVED


# Size.


def test_the_longest_unused_make_room(root):
    store = Store(root, 20_000)
    for number in range(10):
        assert store.put(record(number), Saved({}, bytes(3000)))
        path = root / path_of(record(number).name)
        os.utime(path, (number, number))
        if number == 4:
            assert store.get(record(1), same) is not None  # used again: stays
    kept = [n for n in range(10) if store.find(record(n), same) is not None]
    assert kept[0] == 1
    assert kept[-1] == 9
    assert sum(f.size for f in store.entries()) <= 20_000
    assert store.stats.evicted == 10 - len(kept)


def test_another_process_that_fills_the_disk_is_noticed(root):
    Store(root, 1 << 30).put(record(1), Saved({}, bytes(50_000)))
    store = Store(root, 60_000)
    store.put(record(2), Saved({}, bytes(20_000)))
    assert store.stats.evicted == 1
    assert store.find(record(2), same) is not None


def test_what_would_push_out_all_else_is_not_kept(root):
    store = Store(root, 10_000)
    store.put(record(1), Saved({}, bytes(5000)))
    assert not store.put(record(2), Saved({}, bytes(9000)))
    assert store.find(record(1), same) is not None
    assert store.stats.evicted == 0


def test_looking_at_all_files_is_rare(root, monkeypatch):
    looks = []
    monkeypatch.setattr("tilewright.compile.store.disk.evict", lambda *a: looks.append(1) or 0)
    store = Store(root, 1_600_000)
    for number in range(20):
        store.put(record(number), Saved({}, bytes(20_000)))
    assert len(looks) == 1 + 3  # the first, then every 100,000 bytes or so


# One process at a time.


def test_alone(store, root):
    with store.alone(record()):
        with opened(root) as directory:
            assert acquire(directory, f"{record().name}.lock", 0.0) is None
        with store.alone(record(1)):
            pass
        begin = time.monotonic()
        with store.alone(record()):  # patience ends, and life goes on
            assert time.monotonic() - begin >= 0.05
    assert not list(root.rglob("*.lock"))


def test_an_error_inside_comes_out_and_the_lock_is_free(store, root):
    with pytest.raises(OSError, match="mine"), store.alone(record()):
        raise OSError("mine")
    assert not list(root.rglob("*.lock"))
    assert store.stats.io_errors == 0


def test_a_lock_that_cannot_be_released(store, monkeypatch):
    def failing(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    with store.alone(record()):
        monkeypatch.setattr(os, "unlink", failing)
    monkeypatch.undo()
    assert store.stats.io_errors == 1
    with store.alone(record()):
        pass


# Looking after it.


def test_entries_facts_and_clear(store):
    for number in range(3):
        store.put(record(number), SAVED)
        os.utime(store.root / path_of(record(number).name), (100 - number, 100 - number))
    assert [f.name for f in store.entries()] == [record(n).name for n in (2, 1, 0)]
    assert store.facts(record(1).name) == {"format": 1, "kernel": "add", "number": 1}
    assert store.facts("0" * 64) is None
    assert len(store.clear()) == 3
    assert store.entries() == ()
    assert store.clear() == ()


def test_verify_removes_what_is_damaged(store, kept):
    store.put(record(1), SAVED)
    assert store.verify() == {}
    flipped(kept)
    assert list(store.verify()) == [record().name]
    assert [f.name for f in store.entries()] == [record(1).name]
    assert store.stats.invalid == 1


@pytest.mark.parametrize("method", ["facts", "remove"])
def test_names_from_outside_are_checked(store, method):
    with pytest.raises(ValueError, match="not the name of an entry"):
        getattr(store, method)("../../etc/passwd")


def test_why_there_is_no_entry(store):
    assert store.explain(record()) == "there is no entry of `add`"
    store.put(record(1, cpu="a", more=1), SAVED)
    store.put(record(2, cpu="b"), SAVED)
    assert store.explain(record(2, cpu="b")) == "there is an entry"
    assert store.explain(record(2, cpu="c")) == "cpu: b -> c"
    assert store.explain(record(1, cpu="c", more=1)) == "cpu: a -> c"


def test_its_repr(root):
    assert repr(Store(root, 5)) == f"Store({str(root)!r}, 5)"


def test_a_directory_of_no_use_fails_nothing_where_warnings_are_errors(store, root, monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: heard.append(str(given.exc_value)))
    root.mkdir()
    root.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nothing(store) and not store.put(record(), SAVED)
    assert len(heard) == 1 and "compiled code is not cached on disk" in heard[0]
