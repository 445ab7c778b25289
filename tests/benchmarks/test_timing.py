"""Turns, rounds and batches; what a clock says is not looked at."""

from __future__ import annotations

import gc
import hashlib
import threading
import time

import pytest

from benchmarks import timing
from benchmarks.timing import (
    Effort,
    Entrant,
    entrant,
    interleave,
    no_collection,
    others_run,
    settle,
    take_turn,
)

LONG = bytes(256 << 20)
"""Takes a tenth of a second or more to hash, without the interpreter's lock."""


def test_fast_calls_are_batched_and_slow_ones_are_not():
    fast, medium, slow = (entrant(lambda: None, t) for t in (1e-6, 1e-3, 1.0))
    assert (fast.batch, fast.samples, fast.warm_up) == (200, 20, True)
    assert (medium.batch, medium.samples, medium.warm_up) == (1, 20, True)
    assert (slow.batch, slow.samples, slow.warm_up) == (1, 1, False)


def test_a_turn_takes_its_samples():
    calls: list[int] = []
    e = Entrant(lambda: calls.append(1), batch=8, samples=3)
    take_turn(e)
    assert len(e.times) == 3
    assert len(calls) == 2 + 8 * 3  # a quarter of a batch to warm up
    assert all(t > 0 for t in e.times)
    assert e.wall > 0


def test_rounds_alternate_and_begin_with_another_one_each():
    order: list[str] = []
    runs = {name: (lambda n=name: order.append(n)) for name in "abc"}
    rounds: list[int] = []
    starts: list[int] = []

    def notice(number: int) -> None:
        rounds.append(number)
        starts.append(len(order))

    found = interleave(runs, Effort(seconds=0.0, rounds=4), notice)
    assert rounds == [1, 2, 3, 4]
    turns = [order[a:b] for a, b in zip(starts, [*starts[1:], len(order)], strict=True)]
    assert [_runs_of(turn) for turn in turns] == ["abc", "bca", "cab", "abc"]
    assert len({len(e.times) // e.samples for e in found.values()}) == 1


def _runs_of(names: list[str]) -> str:
    kept = [n for i, n in enumerate(names) if i == 0 or n != names[i - 1]]
    return "".join(kept)


def test_collection_comes_back_even_after_an_error():
    assert gc.isenabled()
    with pytest.raises(KeyError), no_collection():
        raise KeyError(gc.isenabled())
    assert gc.isenabled()


def test_collection_is_off_meanwhile():
    with no_collection():
        assert not gc.isenabled()


def test_a_failing_contestant_is_not_hidden():
    def fails() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        interleave({"x": fails}, Effort(0.0, 1))


needs_states = pytest.mark.skipif(not timing.TASKS.is_dir(), reason="states of threads: Linux")


@needs_states
def test_a_turn_waits_for_threads_that_still_run():
    ends: list[float] = []
    busy = threading.Thread(target=lambda: (hashlib.sha256(LONG), ends.append(time.monotonic())))
    begin = time.monotonic()
    busy.start()
    while not others_run() and not ends:
        time.sleep(1e-4)
    settle(patience=0.0)
    assert not ends  # it waits no longer than it is told to
    settle(patience=60.0)
    settled = time.monotonic() - begin
    busy.join()
    assert settled > 0.8 * (ends[0] - begin)
    assert not others_run()
