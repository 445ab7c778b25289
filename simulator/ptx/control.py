"""Control flow of threads, and what they do together: barriers, shuffles, votes, matches.

Threads wait where they meet others, until all of them are there. Those of a warp must wait at the
same instruction and name the same threads. No thread waits for one that has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .memory import PtxLayout
from .program import Operand, PtxError, PtxFunction, PtxInstr, PtxSymbol
from .values import (
    TYPES,
    Array,
    Lanes,
    UndefinedPtxError,
    bits_of,
    first,
    form,
    reader,
    unknown,
    writer,
)

if TYPE_CHECKING:
    from .threads import PtxThreads

# --- where threads go --------------------------------------------------------------------------

End: TypeAlias = "Callable[[PtxThreads, Lanes], None]"
"""Lets threads that have run a step go on."""


def jump(step: int) -> End:
    """Continue at a step."""
    return lambda threads, lanes: threads.go(lanes, step)


def falls_off() -> End:
    """Refuse to run beyond the end of a function."""

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        raise UndefinedPtxError("the function ends without a return", 0)

    return end


def _held(threads: PtxThreads, lanes: Lanes, instr: PtxInstr) -> tuple[Array, Array]:
    """Return the threads for which the guard holds, and the others."""
    numbers = threads.numbers(lanes)
    if instr.guard is None:
        return numbers, numbers[:0]
    holds = threads.read(instr.guard.register, lanes) != instr.guard.negated
    return numbers[holds], numbers[~holds]


def branch(instr: PtxInstr, target: int, following: int) -> End:
    """Continue at a label, or at the next step."""

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        if instr.guard is None:
            threads.go(lanes, target)
            return
        holds = threads.read(instr.guard.register, lanes) != instr.guard.negated
        if instr.opcode == "bra.uni":
            _check_uniform(threads, lanes, holds)
        threads.go(lanes, np.where(holds, target, following).astype(np.int32))

    return end


def _check_uniform(threads: PtxThreads, lanes: Lanes, holds: Array) -> None:
    """Check that the threads of a warp that run `bra.uni` agree."""
    warps = threads.warp[threads.numbers(lanes)]
    taken = np.zeros(int(threads.warp[-1]) + 1, np.bool_)
    taken[warps] = holds
    wrong = taken[warps] != holds
    if wrong.any():
        raise UndefinedPtxError("threads of a warp disagree about it", first(wrong))


def indexed(layout: PtxLayout, instr: PtxInstr, steps: Sequence[int]) -> End:
    """Continue at one of several labels."""
    (index,) = instr.operands
    read = reader(layout, instr, index, "u32")
    table = np.array(steps, np.int32)

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        number = read(threads, lanes)
        wrong = np.atleast_1d(number >= len(table))
        if wrong.any():
            raise UndefinedPtxError("an index beyond the labels", first(wrong))
        threads.go(lanes, table[number])

    return end


def stop(instr: PtxInstr, following: int) -> End:
    """End threads; `trap` ends all with an error."""
    if instr.operands:
        unknown(instr)

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        ending, others = _held(threads, lanes, instr)
        if instr.opcode == "trap" and len(ending):
            raise UndefinedPtxError("a trap", 0)
        threads.end(ending)
        threads.go(others, following)

    return end


def call(layout: PtxLayout, instr: PtxInstr, called: PtxFunction, start: int, number: int) -> End:
    """Pass parameters, and go to a function; its registers and memory hold nothing yet."""
    names = [operand.name for operand in instr.operands if isinstance(operand, PtxSymbol)]
    if len(names) != len(called.params) or len(instr.results) != len(called.results):
        raise PtxError(f"{instr}: {called.name} has other parameters")
    if instr.guard is not None or called.is_entry:
        unknown(instr)
    pairs = [
        (layout.param(name), layout.param(param.name, called.name))
        for name, param in zip(names, called.params, strict=True)
    ]
    if any(given.nbytes < wanted.nbytes for given, wanted in pairs):
        raise PtxError(f"{instr}: {called.name} has larger parameters")
    local = layout.local_of[called.name]

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        for given, wanted in pairs:
            threads.params.copy(lanes, given.start, wanted.start, wanted.nbytes)
        for register in called.registers:
            threads.forget(register, lanes)
        threads.local.forget(lanes, *local)
        returns = threads.returns.setdefault(called.name, np.full(threads.count, -1, np.int32))
        if (returns[lanes] >= 0).any():
            raise UndefinedPtxError(f"{called.name} calls itself", 0)
        returns[lanes] = number
        threads.go(lanes, start)

    return end


def leave(function: PtxFunction, instr: PtxInstr, following: int) -> End:
    """Make the end of a step that returns from a function with its results, or ends the thread."""

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        ending, others = _held(threads, lanes, instr)
        threads.go(others, following)
        if function.is_entry:
            threads.end(ending)
            return
        returns = threads.returns[function.name]
        for number in np.unique(returns[ending]).tolist():
            mine = ending[returns[ending] == number]
            _pass_results(threads, mine, function, number)
            returns[mine] = -1
            threads.go(mine, number + 1)

    return end


def _pass_results(threads: PtxThreads, lanes: Array, function: PtxFunction, number: int) -> None:
    """Pass the results of a function to the call that ends a step."""
    layout = threads.launch.layout
    caller, made = threads.launch.code.call_at(number)
    for name, result in zip(made.results, function.results, strict=True):
        source = layout.param(result.name, function.name)
        target = layout.param(name, caller)
        threads.params.copy(lanes, source.start, target.start, result.nbytes)


# --- what threads do together ------------------------------------------------------------------

WARP = 32
EndMaker: TypeAlias = "Callable[[PtxLayout, PtxInstr, int], End]"
Together: TypeAlias = "Callable[[PtxThreads, Array], None]"
"""What is done by threads that are all there."""


# --- barriers of blocks --------------------------------------------------------------------------


def _barrier(layout: PtxLayout, instr: PtxInstr, number: int) -> End:
    if instr.opcode == "bar.warp.sync":
        return _warp_barrier(layout, instr, number)
    form(instr, r"bar\.sync|barrier\.sync(?:\.aligned)?|barrier\.cta\.sync(?:\.aligned)?", 1)
    read = reader(layout, instr, instr.operands[0], "u32")

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        if np.any(read(threads, lanes) != 0):
            raise UndefinedPtxError("a barrier other than 0", 0)
        threads.wait(lanes)
        _pass_barriers(threads, lanes, number)

    return end


def _pass_barriers(threads: PtxThreads, lanes: Lanes, number: int) -> None:
    """Resume blocks whose threads have all arrived."""
    shape = (-1, threads.padded)
    there = (threads.turn != threads.pc) & (threads.pc == number)
    blocks = np.unique(threads.block[lanes])
    missing = threads.alive.reshape(shape)[blocks] & ~there.reshape(shape)[blocks]
    done = blocks[~missing.any(1)]
    if len(done):
        threads.epoch[done] += 1
        threads.go(np.flatnonzero(np.isin(threads.block, done) & threads.alive), number + 1)


# --- warps ---------------------------------------------------------------------------------------


def _meeting(layout: PtxLayout, instr: PtxInstr, number: int, mask: Operand, act: Together) -> End:
    """Wait for the threads that a mask names, then act together."""
    read = reader(layout, instr, mask, "b32")

    def end(threads: PtxThreads, lanes: Lanes) -> None:
        threads.wait(lanes)
        numbers = threads.numbers(lanes)
        masks = np.broadcast_to(read(threads, lanes), numbers.shape)
        if not ((masks >> (numbers % WARP).astype(np.uint32)) & 1).all():
            raise UndefinedPtxError("a thread that its own mask does not name", 0)
        # Others of the warp may have come here before.
        warps = np.unique(threads.warp[numbers])
        here = np.flatnonzero(
            (threads.turn != threads.pc) & (threads.pc == number) & np.isin(threads.warp, warps)
        )
        ready = _ready(threads, here, np.broadcast_to(read(threads, here), here.shape))
        if len(ready):
            act(threads, ready)
            threads.go(ready, number + 1)

    return end


def _ready(threads: PtxThreads, here: Array, masks: Array) -> Array:
    """Return the waiting threads all of whose companions wait as well."""
    bits = np.uint32(1) << (here % WARP).astype(np.uint32)
    present = np.zeros(threads.count // WARP, np.uint32)
    np.bitwise_or.at(present, here // WARP, bits)
    living = np.zeros_like(present)
    alive = np.flatnonzero(threads.alive)
    np.bitwise_or.at(living, alive // WARP, np.uint32(1) << (alive % WARP).astype(np.uint32))
    warp = here // WARP
    ready: Array = here[(masks & living[warp] & ~present[warp]) == 0]
    chosen = np.zeros(threads.count, np.uint32)
    chosen[here] = masks
    by_warp = chosen.reshape(-1, WARP)[warp]
    lane = np.arange(WARP, dtype=np.uint32)
    named = (masks[:, None] >> lane & 1 != 0) & (present[warp][:, None] >> lane & 1 != 0)
    if (named & (by_warp != masks[:, None])).any():
        raise UndefinedPtxError("threads of a warp that meet name different ones", 0)
    return ready


def _warp_barrier(layout: PtxLayout, instr: PtxInstr, number: int) -> End:
    form(instr, r"bar\.warp\.sync", 1)

    def act(threads: PtxThreads, lanes: Array) -> None:
        latest = np.zeros(threads.count // WARP, np.int64)
        np.maximum.at(latest, threads.warp[lanes], threads.warp_epoch[lanes])
        threads.warp_epoch[lanes] = latest[threads.warp[lanes]] + 1

    return _meeting(layout, instr, number, instr.operands[0], act)


def _spread(threads: PtxThreads, lanes: Array, values: Array) -> Array:
    """Return values of threads by warp and lane; zero where there is none."""
    all_lanes = np.zeros(threads.count, values.dtype)
    all_lanes[lanes] = values
    return all_lanes.reshape(-1, WARP)


def _shuffle(layout: PtxLayout, instr: PtxInstr, number: int) -> End:
    count = len(instr.operands)
    mode = form(instr, r"shfl\.sync\.(up|down|bfly|idx)\.b32", 6 if count == 6 else 5)[1]
    target, *found = instr.operands[:1] + instr.operands[-4:]
    holds = instr.operands[1] if count == 6 else None
    value, by, bounds = (
        reader(layout, instr, each, kind)
        for each, kind in zip(found, ("b32", "b32", "b32"), strict=False)
    )
    write = writer(instr, target, "b32")
    write_holds = None if holds is None else writer(instr, holds, "pred")

    def act(threads: PtxThreads, lanes: Array) -> None:
        shape = lanes.shape
        given = np.broadcast_to(value(threads, lanes), shape)
        steps = np.broadcast_to(by(threads, lanes), shape) & 31
        limits = np.broadcast_to(bounds(threads, lanes), shape)
        source, inside = _source(mode, lanes % WARP, steps.astype(np.int64), limits)
        lane = np.where(inside, source, lanes % WARP)
        present = _spread(threads, lanes, np.ones(shape, np.bool_))
        wrong = ~present[lanes // WARP, lane]
        if wrong.any():
            which = int(np.flatnonzero(wrong)[0])
            raise UndefinedPtxError(
                f"{threads.described(int(lanes[which]))} takes from lane {int(lane[which])}, "
                f"which does not take part"
            )
        write(threads, lanes, _spread(threads, lanes, given)[lanes // WARP, lane])
        if write_holds is not None:
            write_holds(threads, lanes, inside)

    return _meeting(layout, instr, number, instr.operands[-1], act)


def _source(mode: str, lane: Array, steps: Array, bounds: Array) -> tuple[Array, Array]:
    """Return the lane to take from, and whether it is within the segment."""
    segment, clamp = (bounds >> 8 & 31).astype(np.int64), (bounds & 31).astype(np.int64)
    low, high = lane & segment, (lane & segment) | (clamp & ~segment)
    if mode == "up":
        source = lane - steps
        return source, source >= high
    if mode == "down":
        source = lane + steps
    elif mode == "bfly":
        source = lane ^ steps
    else:
        source = low | (steps & ~segment)
    return source, source <= high


def _vote(layout: PtxLayout, instr: PtxInstr, number: int) -> End:
    match = form(instr, r"vote\.sync\.(all|any|uni|ballot)\.(pred|b32)", 3)
    mode = match[1]
    if (mode == "ballot") != (match[2] == "b32"):
        unknown(instr)
    target, said, mask = instr.operands
    read = reader(layout, instr, said, "pred")
    write = writer(instr, target, match[2])
    masks = reader(layout, instr, mask, "b32")

    def act(threads: PtxThreads, lanes: Array) -> None:
        votes = np.broadcast_to(read(threads, lanes), lanes.shape)
        named = np.broadcast_to(masks(threads, lanes), lanes.shape)
        bit = np.uint32(1) << (lanes % WARP).astype(np.uint32)
        taking, yes = (np.zeros(threads.count // WARP, np.uint32) for _ in range(2))
        np.bitwise_or.at(taking, lanes // WARP, bit)
        np.bitwise_or.at(yes, lanes // WARP, np.where(votes, bit, np.uint32(0)))
        mine, all_of_them = yes[lanes // WARP] & named, taking[lanes // WARP] & named
        results = {
            "ballot": mine, "any": mine != 0, "all": mine == all_of_them,
            "uni": (mine == 0) | (mine == all_of_them),
        }  # fmt: skip
        write(threads, lanes, results[mode])

    return _meeting(layout, instr, number, mask, act)


def _match(layout: PtxLayout, instr: PtxInstr, number: int) -> End:
    kind = form(instr, r"match\.any\.sync\.(b32|b64)", 3)[1]
    target, value, mask = instr.operands
    read = reader(layout, instr, value, kind)
    write = writer(instr, target, "b32")
    masks = reader(layout, instr, mask, "b32")

    def act(threads: PtxThreads, lanes: Array) -> None:
        given = np.broadcast_to(read(threads, lanes), lanes.shape)
        named = np.broadcast_to(masks(threads, lanes), lanes.shape)
        present = _spread(threads, lanes, np.ones(lanes.shape, np.bool_))[lanes // WARP]
        values = _spread(threads, lanes, given)[lanes // WARP]
        same = present & (values == given[:, None])
        bits = (same.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(1, np.uint64)
        write(threads, lanes, bits.astype(np.uint32) & named)

    return _meeting(layout, instr, number, mask, act)


REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def _reduce(layout: PtxLayout, instr: PtxInstr, number: int) -> End:
    match = form(instr, r"redux\.sync\.(add|min|max|and|or|xor)\.([bsu]32)", 3)
    target, value, mask = instr.operands
    read = reader(layout, instr, value, match[2])
    write = writer(instr, target, match[2])
    masks = reader(layout, instr, mask, "b32")
    function = REDUCTIONS[match[1]]

    def act(threads: PtxThreads, lanes: Array) -> None:
        given = np.broadcast_to(read(threads, lanes), lanes.shape)
        named = np.broadcast_to(masks(threads, lanes), lanes.shape)
        made = np.empty(lanes.shape, TYPES[match[2]])
        group = lanes // WARP * (1 << bits_of("b32")) + named.astype(np.int64)
        for each in np.unique(group).tolist():
            made[group == each] = function.reduce(given[group == each])
        write(threads, lanes, made)

    return _meeting(layout, instr, number, mask, act)


ENDS: dict[str, EndMaker] = {
    "bar": _barrier, "barrier": _barrier, "shfl": _shuffle, "vote": _vote, "match": _match,
    "redux": _reduce,
}  # fmt: skip
