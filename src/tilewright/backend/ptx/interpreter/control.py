"""Where threads go: branches, calls of functions, returns, the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .layout import Layout
from .program import Function, Instr, PtxError, Symbol
from .values import Array, Lanes, UndefinedError, first, reader, unknown

if TYPE_CHECKING:
    from .threads import Threads

End: TypeAlias = "Callable[[Threads, Lanes], None]"
"""Lets threads that have run a step go on."""


def jump(step: int) -> End:
    """Continue at a step."""
    return lambda threads, lanes: threads.go(lanes, step)


def falls_off() -> End:
    """Refuse to run beyond the end of a function."""

    def end(threads: Threads, lanes: Lanes) -> None:
        raise UndefinedError("the function ends without a return", 0)

    return end


def _held(threads: Threads, lanes: Lanes, instr: Instr) -> tuple[Array, Array]:
    """Return the threads for which the guard holds, and the others."""
    numbers = threads.numbers(lanes)
    if instr.guard is None:
        return numbers, numbers[:0]
    holds = threads.read(instr.guard.register, lanes) != instr.guard.negated
    return numbers[holds], numbers[~holds]


def branch(instr: Instr, target: int, following: int) -> End:
    """Continue at a label, or at the next step."""

    def end(threads: Threads, lanes: Lanes) -> None:
        if instr.guard is None:
            threads.go(lanes, target)
            return
        holds = threads.read(instr.guard.register, lanes) != instr.guard.negated
        if instr.opcode == "bra.uni":
            _check_uniform(threads, lanes, holds)
        threads.go(lanes, np.where(holds, target, following).astype(np.int32))

    return end


def _check_uniform(threads: Threads, lanes: Lanes, holds: Array) -> None:
    """Check that the threads of a warp that run `bra.uni` agree."""
    warps = threads.warp[threads.numbers(lanes)]
    taken = np.zeros(int(threads.warp[-1]) + 1, np.bool_)
    taken[warps] = holds
    wrong = taken[warps] != holds
    if wrong.any():
        raise UndefinedError("threads of a warp disagree about it", first(wrong))


def indexed(layout: Layout, instr: Instr, steps: Sequence[int]) -> End:
    """Continue at one of several labels."""
    (index,) = instr.operands
    read = reader(layout, instr, index, "u32")
    table = np.array(steps, np.int32)

    def end(threads: Threads, lanes: Lanes) -> None:
        number = read(threads, lanes)
        wrong = np.atleast_1d(number >= len(table))
        if wrong.any():
            raise UndefinedError("an index beyond the labels", first(wrong))
        threads.go(lanes, table[number])

    return end


def stop(instr: Instr, following: int) -> End:
    """End threads; `trap` ends all with an error."""
    if instr.operands:
        unknown(instr)

    def end(threads: Threads, lanes: Lanes) -> None:
        ending, others = _held(threads, lanes, instr)
        if instr.opcode == "trap" and len(ending):
            raise UndefinedError("a trap", 0)
        threads.end(ending)
        threads.go(others, following)

    return end


def call(layout: Layout, instr: Instr, called: Function, start: int, number: int) -> End:
    """Pass parameters, and go to a function; its registers and memory hold nothing yet."""
    names = [operand.name for operand in instr.operands if isinstance(operand, Symbol)]
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

    def end(threads: Threads, lanes: Lanes) -> None:
        for given, wanted in pairs:
            threads.params.copy(lanes, given.start, wanted.start, wanted.nbytes)
        for register in called.registers:
            threads.forget(register, lanes)
        threads.local.forget(lanes, *local)
        returns = threads.returns.setdefault(called.name, np.full(threads.count, -1, np.int32))
        if (returns[lanes] >= 0).any():
            raise UndefinedError(f"{called.name} calls itself", 0)
        returns[lanes] = number
        threads.go(lanes, start)

    return end


def leave(function: Function, instr: Instr, following: int) -> End:
    """Return from a function with its results, or end."""

    def end(threads: Threads, lanes: Lanes) -> None:
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


def _pass_results(threads: Threads, lanes: Array, function: Function, number: int) -> None:
    """Pass the results of a function to the call that ends a step."""
    layout = threads.launch.layout
    caller, made = threads.launch.code.call_at(number)
    for name, result in zip(made.results, function.results, strict=True):
        source = layout.param(result.name, function.name)
        target = layout.param(name, caller)
        threads.params.copy(lanes, source.start, target.start, result.nbytes)
