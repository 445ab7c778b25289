"""Ranks agree on a collective, or all of them learn why not."""

from __future__ import annotations

import json
import pickle
import threading

import pytest

from support.numbers import fresh_rng
from support.ranks import PATIENCE, DictStore, in_ranks
from tilewright.distributed import RankError
from tilewright.distributed.agreement import Agreement
from tilewright.distributed.call import Call
from tilewright.distributed.pulse import Pulse, find_gone
from tilewright.distributed.store import Patience

SUM = Call("all_reduce", (8, 3), "f32", "sum")


def agreement(store, rank, members, patience=PATIENCE):
    return Agreement(store, rank, members, "group", patience)


def reach_all(calls, patience=PATIENCE, store=None):
    """All ranks reach their calls, in order; what each raised."""
    store = store or DictStore()
    members = range(len(calls))
    pulses = [Pulse(store, rank, 0.05) for rank in members]

    def run(rank):
        mine = agreement(store, rank, members, patience)
        for call in calls[rank]:
            mine.reach(call, pulses[rank])

    found = in_ranks(len(calls), run)
    for pulse in pulses:
        pulse.stop()
    return found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_equal_calls_pass_and_leave_few_keys(size):
    store, rng = DictStore(), fresh_rng()
    ops = rng.choice(["all_reduce", "all_gather", "broadcast"], 20)
    calls = [Call(str(op), (n, 2), "f32") for n, op in enumerate(ops)]
    assert reach_all([calls] * size, store=store) == [None] * size
    assert len(store.values) <= 3 * 3 + size  # of the last collectives, and the pulses


DIFFERENT = {
    "op": Call("all_gather", (8, 3), "f32"),
    "shape": Call("all_reduce", (3, 8), "f32", "sum"),
    "dtype": Call("all_reduce", (8, 3), "bf16", "sum"),
    "reduction": Call("all_reduce", (8, 3), "f32", "max"),
    "root": Call("all_reduce", (8, 3), "f32", "sum", 1),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_different_calls_raise_everywhere_and_name_both_sides(what):
    other = DIFFERENT[what]
    for error in reach_all([[SUM, SUM], [SUM, other], [SUM, SUM]]):
        assert isinstance(error, RankError)
        said = {error.expected, error.got}
        assert f"rank 1 calls {other}" in said
        assert said & {f"rank {rank} calls {SUM}" for rank in (0, 2)}


def test_who_sends_agrees_with_who_receives():
    send, recv = Call("send", (4,), "i32", root=0), Call("recv", (4,), "i32", root=0)
    assert reach_all([[send], [recv]]) == [None, None]
    errors = reach_all([[send], [Call("recv", (5,), "i32", root=0)]])
    assert all("(5,)" in str(error) and "(4,)" in str(error) for error in errors)


def test_a_rank_that_is_late_is_named_everywhere():
    patience = Patience(late=0.3, gone=60, beat=0.05)
    errors = reach_all([[SUM, SUM], [SUM], [SUM, SUM]], patience)
    assert errors[1] is None
    for error in (errors[0], errors[2]):
        assert isinstance(error, RankError)
        assert (error.rank, error.op) == (1, "all_reduce")
        assert "rank 1 is late" in error.message
        assert "group/1 `all_reduce`" in error.got  # the last that it has reached


def test_who_comes_after_the_verdict_hears_it_too():
    store, patience = DictStore(), Patience(late=0.2, gone=60, beat=0.05)
    pulses = [Pulse(store, rank, 0.05) for rank in range(2)]
    with pytest.raises(RankError, match="rank 1 is late"):
        agreement(store, 0, range(2), patience).reach(SUM, pulses[0])
    with pytest.raises(RankError, match="rank 1 is late"):
        agreement(store, 1, range(2), patience).reach(SUM, pulses[1])
    for pulse in pulses:
        pulse.stop()


def test_a_rank_whose_pulse_stands_still_is_gone():
    store, patience = DictStore(), Patience(late=60, gone=0.3, beat=0.05)
    dead = Pulse(store, 1, 0.05)
    dead._ended.set()  # as when its process dies
    alive = Pulse(store, 2, 0.05)
    mine = Pulse(store, 0, 0.05)
    with pytest.raises(RankError, match="rank 1 is gone") as caught:
        agreement(store, 0, range(3), patience).reach(SUM, mine)
    assert caught.value.rank == 1
    assert find_gone(store, [1, 2], patience).rank == 1
    for pulse in (alive, mine):
        pulse.stop()


def test_a_rank_that_has_left_is_named_at_once():
    store = DictStore()
    pulses = [Pulse(store, rank, 0.05) for rank in range(2)]
    pulses[1].stop()
    with pytest.raises(RankError, match="rank 1 has left the group"):
        agreement(store, 0, range(2), Patience(60, 60, 0.05)).reach(SUM, pulses[0])
    pulses[0].stop()


def test_nobody_is_gone():
    store = DictStore()
    pulses = [Pulse(store, rank, 0.02) for rank in range(3)]
    assert find_gone(store, [1, 2], Patience(60, 5, 0.05)) is None
    for pulse in pulses:
        pulse.stop()


def test_a_store_that_does_not_answer():
    class Broken(DictStore):
        def compare_set(self, *given):
            raise RuntimeError("connection reset")

    with pytest.raises(RankError, match="the store in which ranks meet") as caught:
        agreement(Broken(), 0, range(2)).reach(SUM)
    assert "connection reset" in caught.value.got


def test_errors_cross_processes():
    error = RankError("rank 3 is late", rank=3, op="send", expected="it", got="nothing")
    other = pickle.loads(pickle.dumps(error))
    assert (str(other), other.rank, other.op) == (str(error), 3, "send")


def test_calls_survive_the_store_and_damage_is_no_call():
    assert Call.read(SUM.text()) == SUM
    for text in ("", "[1]", "{}", '{"op": 1}', '{"shape": "x", "op": "a"}'):
        with pytest.raises((ValueError, KeyError)):
            Call.read(text)


def test_the_pulse_says_how_far_a_rank_is():
    store = DictStore()
    pulse = Pulse(store, 0, 0.02)
    agreement(store, 0, [0]).reach(SUM, pulse)
    seen = threading.Event()
    for _ in range(100):
        if b"group/1" in store.get("pulse/0"):
            break
        seen.wait(0.02)
    assert b"group/1 `all_reduce` of f32" in store.get("pulse/0")
    pulse.stop()
    said, at, reached = json.loads(store.get("pulse/0"))
    assert (said, at, reached) == ("left", f"group/1 {SUM}", {"group": 1})
