"""A lock is held by one at a time, by no dead process, and never awaited for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tilewright.compile.store.disk import acquire

HOLD = """
import os, sys, time
from tilewright.compile.store.disk import acquire
lock = acquire(os.open(sys.argv[1], os.O_RDONLY), "a.lock", 10.0)
print("held", flush=True)
time.sleep(60)
"""


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def directory(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_it_is_held_until_released(directory, tmp_path):
    first = acquire(directory, "a.lock", 0.0)
    assert first is not None
    assert acquire(directory, "a.lock", 0.0) is None
    other = acquire(directory, "b.lock", 0.0)
    assert other is not None
    first.release()
    other.release()
    assert list(tmp_path.iterdir()) == []
    again = acquire(directory, "a.lock", 0.0)
    assert again is not None
    again.release()


def test_patience_ends(directory):
    held = acquire(directory, "a.lock", 0.0)
    begin = time.monotonic()
    assert acquire(directory, "a.lock", 0.15) is None
    assert 0.15 <= time.monotonic() - begin < 5
    held.release()


def test_one_at_a_time_among_threads(directory):
    inside, most, rounds = [], [], []

    def work():
        for _ in range(20):
            lock = acquire(directory, "a.lock", 60.0)
            assert lock is not None
            inside.append(1)
            most.append(len(inside))
            rounds.append(1)
            time.sleep(0)
            inside.pop()
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (max(most), len(rounds)) == (1, 80)


def test_a_file_left_behind_locks_nobody_out(directory, tmp_path):
    (tmp_path / "a.lock").touch()
    lock = acquire(directory, "a.lock", 0.0)
    assert lock is not None
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_dead_holder_holds_nothing(directory, tmp_path):
    paths = os.pathsep.join(filter(None, sys.path))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == "held\n"
        assert acquire(directory, "a.lock", 0.0) is None
        holder.kill()
        holder.wait()
        lock = acquire(directory, "a.lock", 5.0)
        assert lock is not None
        lock.release()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_removed_file_is_no_lock(directory, tmp_path):
    """Cleaning up removes a file that is held: its holder is not disturbed, nor are later ones."""
    first = acquire(directory, "a.lock", 0.0)
    (tmp_path / "a.lock").unlink()
    second = acquire(directory, "a.lock", 0.0)
    assert second is not None
    first.release()
    assert (tmp_path / "a.lock").exists()
    assert acquire(directory, "a.lock", 0.0) is None
    second.release()


def test_a_child_that_has_it_open_too_does_not_keep_it(directory):
    lock = acquire(directory, "a.lock", 0.0)
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE, pass_fds=(lock.file,),
    ):  # fmt: skip
        lock.release()
        again = acquire(directory, "a.lock", 0.0)
        assert again is not None
        again.release()


def test_a_link_is_not_followed(directory, tmp_path):
    (tmp_path / "a.lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match=r"a\.lock"):
        acquire(directory, "a.lock", 0.0)
    assert not (tmp_path / "elsewhere").exists()


def test_where_nothing_can_be_locked(directory, monkeypatch):
    def refuse(*args):
        raise OSError(95, "Operation not supported")

    before = descriptors()
    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(OSError, match="not supported"):
        acquire(directory, "a.lock", 0.0)
    assert descriptors() == before
