"""The native core's side of the CPU: what it takes, and what it refuses."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import pytest

from tilewright import _core
from tilewright._core import CpuPool, CpuStream
from tilewright.devices.cpu.record import Record
from tilewright.devices.cpu.stamp import CpuStamp

METHODS = {
    "enqueue": ("job",),
    "enqueue_wait": ("stream", "number"),
    "run_inline": ("job", "scratch", "budget"),
    "resume": ("job", "scratch", "budget"),
    "is_first": ("job",),
    "wait": ("number", "budget"),
    "alert_at": ("number",),
}


@pytest.fixture
def pool():
    return CpuPool(15_000)


@pytest.fixture
def stream(pool):
    return CpuStream(pool)


@pytest.mark.parametrize("name", METHODS)
def test_a_wrong_number_of_arguments_is_refused(stream, name):
    right = [0] * len(METHODS[name])
    for given in ([], [*right, 0], [*right, 0, 0]):
        with pytest.raises(TypeError, match=rf"{name}\(\) takes {len(right)} arguments, got"):
            getattr(stream, name)(*given)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("wrong", [None, "1", 1.5, b""])
def test_arguments_of_another_type_are_refused(stream, name, wrong):
    names = METHODS[name]
    for i in range(len(names)):
        given = [stream if each == "stream" else 0 for each in names]
        given[i] = wrong
        with pytest.raises(TypeError, match=rf"{name}\(\): argument {i + 1} is "):
            getattr(stream, name)(*given)
    assert stream.submitted == 0


def test_numbers_that_do_not_fit_are_refused(stream, pool):
    with pytest.raises(OverflowError):
        stream.wait(1 << 63, 0)
    with pytest.raises(OverflowError):
        pool.workers = 1 << 63


@pytest.mark.parametrize("given", [(), (1, 2), ("x",), (None,)])
def test_pools_and_streams_are_made_of_what_they_are_made_of(given):
    with pytest.raises(TypeError):
        CpuPool(*given)
    with pytest.raises(TypeError):
        CpuStream(*given)
    with pytest.raises(TypeError):
        _core.cancel_job(*(given or ("x",)))
    with pytest.raises(TypeError):
        _core.set_listener(*(given or ("x",)))


def test_the_words_of_a_pool(pool):
    assert (pool.workers, pool.usual_threads, pool.unfinished) == (0, 1, 0)
    pool.workers, pool.usual_threads = 3, 4
    assert (pool.workers, pool.usual_threads) == (3, 4)
    with pytest.raises(TypeError, match="an int is expected"):
        pool.workers = "1"
    with pytest.raises(TypeError, match="an int is expected"):
        del pool.usual_threads
    with pytest.raises(AttributeError):
        pool.unfinished = 1


def test_a_stream_keeps_its_pool(pool):
    """Neither has a dict or weak references, so a class of Python stands for the pool."""
    stamp, stream = CpuStamp(), CpuStream(CpuPool(15_000))
    gc.collect()
    assert stream.run_inline(stamp.record.address, 0, 10**9) == 0
    assert stream.completed == stream.submitted == 1
    with pytest.raises(TypeError):
        weakref.ref(pool)


def test_a_worker_keeps_its_pool():
    pool = CpuPool(15_000)
    stream, stamp = CpuStream(pool), CpuStamp()
    thread = threading.Thread(target=pool.serve)
    thread.start()
    stop = pool.stop
    del pool
    assert stream.enqueue(stamp.record.address) == 1
    while not stream.wait(1, 10**9):
        pass
    assert stamp.host_time() > 0
    stop()
    thread.join()


def test_jobs_are_laid_out_as_records_are():
    """A word that two names had would make one of them read the other."""
    positions = list(_core.JOB_LAYOUT.values())
    assert len(set(positions)) == len(positions) and max(positions) < _core.JOB_WORDS
    record = Record(1, (2, 3), (4, 5), 20, 6, together=7)
    found = {name: record.words[position] for name, position in _core.JOB_LAYOUT.items()}
    wanted = {"kernel": 1, "blocks": 20, "scratch_bytes": 6, "threads": 1, "together": 7}
    assert {name: found[name] for name in wanted} == wanted


ENDING = """
import ctypes, sys, threading, time
from tilewright._core import CpuPool, CpuStream

class Last:
    def __del__(self, sleep=ctypes.PyDLL(None).usleep):
        sleep(1_000_000)  # with the interpreter's lock, as the interpreter ends

sys.last = Last()
stream = CpuStream(CpuPool(15_000))
begun = threading.Event()

def wait():
    begun.set()
    stream.wait(1, 500_000_000)

threading.Thread(target=wait, daemon=True).start()
begun.wait()
time.sleep(0.1)
"""


def test_a_thread_may_come_back_when_the_interpreter_has_ended():
    """Nothing may be unwound then: that would be the end of the process."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
