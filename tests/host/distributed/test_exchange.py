"""Ranks agree by one message from each to each, or all of them learn why not."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from support.numbers import fresh_rng
from support.ranks import DictStore, Swap, in_ranks
from tilewright.distributed.call import Call
from tilewright.distributed.exchange import AHEAD, DATA, HEAD, TEXT, Exchange
from tilewright.distributed.pulse import Pulse, Pulses
from tilewright.distributed.store import Patience
from tilewright.distributed.verdict import DIFFERENT, GONE, LATE, LEFT

SUM = Call("all_reduce", (8, 3), "f32", "sum")
LONG = Patience(60, 60, 0.05)


class Ranks:
    """Exchanges of some ranks, with a pulse each."""

    def __init__(self, size, patience=LONG, members=None):
        self.store, swaps, barrier = DictStore(), [], threading.Barrier(size, timeout=20)
        self.swaps = [Swap(swaps, barrier, size) for _ in range(size)]
        members = members or range(size)
        self.each = [
            Exchange(swap, rank, members, "group", patience)
            for rank, swap in zip(members, self.swaps, strict=True)
        ]
        self.pulses = [Pulse(self.store, rank, 0.02) for rank in members]

    def run(self, calls):
        """What each found, in order; `calls` has, for each rank, calls with what follows them."""

        def one(rank):
            return [
                self.each[rank].find(call, self.pulses[rank], following)
                for call, following in calls[rank]
            ]

        found = in_ranks(len(self.each), one)
        for pulse in self.pulses:
            pulse.stop()
        return found


@pytest.mark.parametrize("size", [1, 2, 5])
def test_equal_calls_pass(size):
    rng = fresh_rng()
    calls = [Call(str(rng.choice(["all_reduce", "all_to_all"])), (n,), "f32") for n in range(20)]
    ranks = Ranks(size)
    assert ranks.run([[(call, ()) for call in calls]] * size) == [[None] * 20] * size
    assert ranks.swaps[0].count == 20


DIFFERENT_CALLS = {
    "op": Call("all_gather", (8, 3), "f32"),
    "shape": Call("all_reduce", (3, 8), "f32", "sum"),
    "dtype": Call("all_reduce", (8, 3), "bf16", "sum"),
    "reduction": Call("all_reduce", (8, 3), "f32", "max"),
    "root": Call("all_reduce", (8, 3), "f32", "sum", 1),
    "rank": Call("all_reduce", tuple(range(10**6, 10**6 + 99)), "f32", "sum"),
}


@pytest.mark.parametrize("what", DIFFERENT_CALLS)
def test_the_rank_that_differs_is_named_everywhere(what):
    other = DIFFERENT_CALLS[what]
    for rank, found in enumerate(Ranks(3).run([[(SUM, ())], [(other, ())], [(SUM, ())]])):
        (verdict,) = found
        assert (verdict.kind, verdict.rank) == (DIFFERENT, 1), rank
        assert verdict.other == f"rank 0 calls {SUM}"
        if what != "rank":  # whose text is longer than a message
            assert verdict.why == f"rank 1 calls {other}"


def test_calls_too_long_for_a_message_are_told_apart():
    shape = tuple(range(10**6, 10**6 + 99))
    same, other = Call("all_gather", shape, "f32"), Call("all_gather", (*shape[:-1], 1), "f32")
    assert len(same.text()) > TEXT
    assert Ranks(2).run([[(same, ())]] * 2) == [[None]] * 2
    for (verdict,) in Ranks(2).run([[(same, ())], [(other, ())]]):
        assert verdict.kind == DIFFERENT and "all_gather" in verdict.why


def test_who_sends_agrees_with_who_receives():
    send, recv = Call("send", (4,), "i32", root=1), Call("recv", (4,), "i32", root=1)
    follows = [(send, (send,)), (send, ())], [(recv, (recv,)), (recv, ())]
    ranks = Ranks(2, members=(1, 3))
    assert ranks.run(follows) == [[None, None]] * 2
    assert ranks.swaps[0].count == 1
    wrong = Call("recv", (5,), "i32", root=1)
    for (verdict,) in Ranks(2, members=(1, 3)).run([[(send, ())], [(wrong, ())]]):
        assert (verdict.why, verdict.other) == (f"rank 3 calls {wrong}", f"rank 1 calls {send}")


def test_what_all_have_started_is_agreed_on_at_once():
    calls = [Call("all_gather", (n,), "f32") for n in range(AHEAD + 4)]
    steps = [(call, calls[n + 1 :]) for n, call in enumerate(calls)]
    ranks = Ranks(3)
    assert ranks.run([steps] * 3) == [[None] * len(calls)] * 3
    assert ranks.swaps[0].count == 2  # one for the first and AHEAD more, one for the rest


def test_what_only_some_have_started_is_agreed_on_in_its_turn():
    rng, calls = fresh_rng(), [Call("all_gather", (n,), "f32") for n in range(40)]

    def steps():
        ends = np.minimum(np.arange(1, 41) + rng.integers(0, AHEAD, 40), 40)
        return [
            (call, calls[n + 1 : end])
            for n, (call, end) in enumerate(zip(calls, ends, strict=True))
        ]

    ranks = Ranks(3)
    assert ranks.run([steps() for _ in range(3)]) == [[None] * 40] * 3
    assert len({swap.count for swap in ranks.swaps}) == 1


def test_ranks_that_will_disagree_find_it_in_its_turn():
    second, other = Call("all_gather", (4,), "f32"), Call("all_gather", (5,), "f32")
    third = Call("broadcast", (1,), "f32")
    found = Ranks(2).run([
        [(SUM, (second, third)), (second, (third,))], [(SUM, (other, third)), (other, (third,))],
    ])  # fmt: skip
    for first, verdict in found:
        assert first is None
        assert "(4,)" in verdict.other and "(5,)" in verdict.why


def test_data_goes_along():
    ranks = Ranks(3)

    def run(rank):
        data = np.full(DATA, rank + 1, np.uint8)
        assert ranks.each[rank].find(SUM, ranks.pulses[rank], data=data) is None
        return ranks.swaps[rank].came[:, HEAD:].copy()

    for came in in_ranks(3, run):
        for rank, row in enumerate(came):
            assert (row == rank + 1).all()
    for pulse in ranks.pulses:
        pulse.stop()


@pytest.mark.parametrize("why", [LATE, GONE, LEFT])
def test_who_waits_learns_which_rank_is_missing(why):
    patience = Patience(0.3 if why == LATE else 60, 0.3 if why == GONE else 60, 0.05)
    ranks = Ranks(3, patience)
    waiting = threading.Thread(target=ranks.each[0].find, args=(SUM, ranks.pulses[0]))
    both = threading.Thread(target=ranks.each[2].find, args=(SUM, ranks.pulses[2]))
    waiting.start()
    both.start()
    if why == GONE:
        ranks.pulses[1]._ended.set()
    elif why == LEFT:
        ranks.pulses[1].stop()
    seen, found, ends = Pulses(ranks.store), None, time.monotonic() + 20
    while found is None and time.monotonic() < ends:
        found = ranks.each[0].missing(seen)
        time.sleep(0.02)
    assert found is not None and (found.kind, found.rank) == (why, 1)
    ranks.each[1].find(SUM, ranks.pulses[1])  # lets the others go
    waiting.join(20)
    both.join(20)
    assert ranks.each[0].missing(seen) is None
    for pulse in ranks.pulses:
        pulse.stop()
