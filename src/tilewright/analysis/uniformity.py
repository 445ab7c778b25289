"""Uniformity and divergence of SIMT threads, as in LLVM's uniformity analysis.

Sections: the layout of shared memory, block-uniform loads of shared memory, the uniformity analysis
itself, and synchronizing ops in divergent code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from ..base.shapes import ceil_div
from ..ir.attrs import WARP_SIZE, Ordering, ShuffleMode, ThreadCoordinate
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Effect, OpDef, Trait
from ..ir.ops.control import CONTINUE, FOR, IF, YIELD
from ..ir.ops.elementwise import DIVI, SHRI
from ..ir.ops.memory import ATOMIC_CAS, ATOMIC_RMW, STORE_PTR
from ..ir.ops.simt import (
    BALLOT,
    INDEX_1D,
    INDEX_2D,
    LOAD_SHARED,
    LOAD_SLICE,
    PLACE,
    SHARED,
    SHUFFLE,
    STORE_SHARED,
    STORE_SLICE,
    SYNC_THREADS,
    SYNC_WARP,
    VOTE,
)
from ..ir.types import SharedType, TensorType
from .dataflow import constants
from .structure import Structure, structure

# -------------------------------------------------------------------------------------------------
# Layout of the shared arrays in the memory of a block.

ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Byte offsets of the arrays by number, of the dynamic part, and all bytes."""

    offsets: dict[int, int]
    dynamic: int
    total: int


def shared_layout(func: Func) -> SharedLayout:
    """Find the layout of a kernel's shared memory."""
    offsets: dict[int, int] = {}
    at = 0
    for op in func.walk():
        if op.is_a(SHARED) and op.attrs["number"] not in offsets:
            kind = op.result.type
            assert isinstance(kind, SharedType)
            offsets[op.attrs["number"]] = at
            at += ceil_div(kind.nbytes, ALIGNMENT) * ALIGNMENT
    return SharedLayout(offsets, at, at + func.signature.shared_bytes)


# -------------------------------------------------------------------------------------------------
# Block-uniform loads of shared memory: no thread writes the array in the same phase.
#
# A phase is the code between two barriers that all threads of a block reach. If no thread writes an
# array in the phase of a read, all threads that read one element get the same value, for instance a
# flag that one thread has set before the barrier.

Position: TypeAlias = tuple[Block, int]
"""An op, by its place in its block."""

ELSEWHERE = (STORE_SLICE, STORE_PTR, ATOMIC_RMW, ATOMIC_CAS, SYNC_THREADS, SYNC_WARP)
"""Ops that count as writes, but do not write to shared memory."""


def uniform_shared_reads(func: Func, nesting: Structure) -> set[Op]:
    """Return the reads of shared memory in whose phase no thread writes the array."""
    return {
        op
        for op in func.walk()
        if op.is_a(LOAD_SHARED) and _is_first(op, nesting) and _is_last(op, nesting)
    }


def _is_first(read: Op, nesting: Structure) -> bool:
    """Return whether a barrier precedes a read with no write between them."""
    block, place = _position(read, nesting)
    for op in reversed(block.ops[:place]):
        if op.is_a(SYNC_THREADS):
            return True
        if any(_disturbs(inner, read, nesting) for inner in _all(op)):
            return False
    return False


def _is_last(read: Op, nesting: Structure) -> bool:
    """Return whether every path from a read reaches a barrier before a write."""
    block, place = _position(read, nesting)
    todo: list[Position] = [(block, place + 1)]
    seen: set[tuple[int, int]] = set()
    while todo:
        block, place = todo.pop()
        if (id(block), place) in seen:
            continue
        seen.add((id(block), place))
        op = block.ops[place]
        if _disturbs(op, read, nesting):
            return False
        if not op.is_a(SYNC_THREADS):
            todo += _next(op, nesting)
    return True


def _next(op: Op, nesting: Structure) -> Iterator[Position]:
    """Return the ops that may follow an op."""
    block, place = _position(op, nesting)
    target = nesting.target.get(op)
    if op.defn.terminator:
        if target is not None:
            outer, where = _position(target, nesting)
            yield outer, where + 1
            if op.is_a(CONTINUE):
                yield target.regions[0], 0
        return
    yield from ((region, 0) for region in op.regions)
    if not op.regions or op.has(Trait.LOOP):
        yield block, place + 1


def _disturbs(op: Op, read: Op, nesting: Structure) -> bool:
    """Return whether an op may write to the array of a read."""
    if not op.defn.effects & Effect.WRITE or op.is_a(*ELSEWHERE):
        return False
    if not op.is_a(STORE_SHARED):
        return True
    arrays = [nesting.definer(o.one("memory")) for o in (op, read)]
    apart = all(made is not None and made.is_a(SHARED) for made in arrays)
    return not apart or arrays[0] is arrays[1]


def _all(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def _position(op: Op, nesting: Structure) -> Position:
    block = nesting.block[op]
    return block, next(k for k, other in enumerate(block.ops) if other is op)


# -------------------------------------------------------------------------------------------------
# The uniformity analysis: values that differ between threads, and ops that only some threads reach.
#
# A value varies if it depends on the position of the thread, on memory that threads write, or on
# divergent control flow. An op is divergent if some threads of a group may reach it and others not:
# under a condition that varies, in a loop that threads leave in different iterations, or after some
# of them have returned.
#
# The group is a block, or the threads of it that run in step: a value that differs between the
# threads of a block may be the same in all threads of a row or of a warp.

QUOTIENTS: dict[OpDef, Callable[[int], int]] = {
    DIVI: lambda by: by,
    SHRI: lambda by: 1 << by if 0 <= by < 31 else 0,
}
"""Ops that divide, and by what."""


class Over(Enum):
    """The set of threads that are compared: a block, or a part of it that runs in step."""

    BLOCK = auto()
    """All threads of a block, whatever its size."""
    WARP = auto()
    """The threads of a warp: 32 of a block, x fastest."""
    ROW = auto()
    """Threads that follow each other along x."""


@dataclass(slots=True)
class Uniformity:
    """The values that vary, the ops that only some threads reach, and how threads leave ops."""

    varying: set[Value] = field(default_factory=set[Value])
    divergent: set[Op] = field(default_factory=set[Op])
    split: set[Op | None] = field(default_factory=set["Op | None"])
    """Loops and scopes that threads leave at different times; None: the kernel itself."""
    uneven: dict[Op, Value] = field(default_factory=dict[Op, Value])
    """Loops and scopes that threads leave at different times, and then go on; the cause."""
    because: dict[Value, Value | Op] = field(default_factory=dict["Value", "Value | Op"])
    """Why a value varies: another that does, or the op that makes it."""

    def varies(self, value: Value) -> bool:
        """Return whether threads of a group may have different values."""
        return value in self.varying

    def source(self, value: Value) -> Op | None:
        """Return the op that is the first reason for a value to vary; None if it is uniform."""
        found: Value | Op | None = value
        while isinstance(found, Value):
            found = self.because.get(found)
        return found


def uniformity(func: Func, over: Over = Over.BLOCK, *, in_step: bool = False) -> Uniformity:
    """Find the values that differ between threads, by iteration to a fixpoint.

    Threads `in_step` read one element at one time, so they all get the same from it.
    """
    nesting = structure(func)
    found = Uniformity()
    sources = _Sources(func, over, in_step, nesting)
    while True:
        before = _size(found)
        _UniformityWalk(found, nesting, sources).block(func.body, divergent=False)
        if _size(found) == before:
            return found


def _size(found: Uniformity) -> tuple[int, ...]:
    return len(found.varying), len(found.divergent), len(found.split), len(found.uneven)


class _Sources:
    """The ops that make a value vary whatever their operands are, and those that never do."""

    def __init__(self, func: Func, over: Over, in_step: bool, nesting: Structure) -> None:
        self.over = over
        self.in_step = in_step
        self.numbers = constants(func) if over is Over.WARP else {}
        self.nesting = nesting
        self.settled = uniform_shared_reads(func, nesting)
        signature = func.signature
        # Code for GPUs may be launched in other blocks, unless the kernel says which.
        fixed = in_step or signature.exact_block
        self.whole_rows = fixed and signature.block_dims[0] % WARP_SIZE == 0
        """Whether no warp has threads of two rows."""
        self.single_row = len(signature.block or ()) == 1

    def makes(self, op: Op) -> bool:
        """Return whether an op has different results in threads though its operands are uniform."""
        if op.is_a(PLACE):
            return self.is_own(op)
        if op.is_a(INDEX_1D, INDEX_2D):
            return True
        if op.has(Trait.WARP):
            return self.over is not Over.WARP
        if op.has(Trait.ATOMIC):
            return True
        if op in self.settled:
            return False
        if not op.defn.effects & (Effect.READ | Effect.WRITE):
            return False
        in_step = self.in_step and op.attrs.get("ordering", Ordering.WEAK) is Ordering.WEAK
        return not in_step and not _is_constant_memory(op)

    def is_own(self, op: Op) -> bool:
        """Return whether a coordinate differs between threads."""
        what, axis = op.attrs["what"], op.attrs["axis"]
        if what is ThreadCoordinate.THREAD:
            along_x = axis == 0 or self.over is Over.BLOCK
            return along_x or (self.over is Over.WARP and not self.whole_rows)
        return what is ThreadCoordinate.LANE or (
            what is ThreadCoordinate.WARP and self.over is not Over.WARP
        )

    def levels(self, op: Op, varying: Collection[Value]) -> bool:
        """Return whether an op has one result in all threads though these operands vary."""
        if self.over is not Over.WARP:
            return False
        # By position: one value may be both what is shuffled and the lane it comes from.
        others_vary = any(v in varying for v in op.operands[1:])
        if op.is_a(VOTE, BALLOT):
            return not others_vary
        if op.is_a(SHUFFLE):
            whole = op.attrs["mode"] is ShuffleMode.IDX and op.attrs["width"] == WARP_SIZE
            return whole and not others_vary
        return op.defn in QUOTIENTS and self.numbers_warps(op)

    def numbers_warps(self, op: Op) -> bool:
        """Return whether an op divides the x coordinate of a thread by the size of a warp."""
        number, by = op.operands
        made, size = self.nesting.definer(number), self.numbers.get(by)
        if made is None or size is None or not (self.whole_rows or self.single_row):
            return False
        own = made.is_a(PLACE) and made.attrs["what"] is ThreadCoordinate.THREAD
        size = QUOTIENTS[op.defn](int(size))
        return own and made.attrs["axis"] == 0 and size > 0 and size % WARP_SIZE == 0


class _UniformityWalk:
    """One sweep over the function that adds to the varying values."""

    def __init__(self, found: Uniformity, nesting: Structure, sources: _Sources) -> None:
        self.found = found
        self.nesting = nesting
        self.sources = sources
        self.left = False
        """Whether some threads may have left a region that still goes on."""

    def block(self, block: Block, divergent: bool) -> None:
        """Visit the ops of a block; `divergent`: not all threads reach it."""
        for op in block.ops:
            if divergent or self.left:
                self.found.divergent.add(op)
            if op.defn.terminator:
                self.terminator(op)
            elif op.regions:
                self.region(op, divergent)
            elif (reason := self.reason(op)) is not None:
                for result in op.results:
                    self.vary(result, reason)

    def vary(self, value: Value, because: Value | Op) -> None:
        if value not in self.found.varying:
            self.found.varying.add(value)
            self.found.because[value] = because

    def reason(self, op: Op) -> Value | Op | None:
        """Return the reason why the results of an op vary: an operand, or the op itself."""
        varying = [v for v in op.operands if v in self.found.varying]
        if varying and not self.sources.levels(op, varying):
            return varying[0]
        return op if self.sources.makes(op) else None

    def terminator(self, op: Op) -> None:
        """Mark the target of a divergent terminator: threads leave it at different times."""
        if op.is_a(YIELD):
            return
        target = self.nesting.target.get(op)
        between = self.between(op, target)
        if any(o in self.found.split or self.diverges(o) for o in between):
            self.found.split.update((target, *(o for o in between if not o.is_a(IF))))
            self.left = True
        causes = [v for o in between for v in self.causes(o)]
        if target is not None and causes:
            for left in (target, *(o for o in between if not o.is_a(IF))):
                self.found.uneven.setdefault(left, causes[0])

    def between(self, op: Op, target: Op | None) -> list[Op]:
        """Return the ops around a terminator inside its target."""
        outer = list(self.nesting.ancestors(op))
        return outer if target is None else outer[: outer.index(target)]

    def diverges(self, op: Op) -> bool:
        """Return whether an op is a divergent branch."""
        return op.is_a(IF) and op.one("cond") in self.found.varying

    def causes(self, op: Op) -> list[Value]:
        """Return the causes of divergence in an op: a condition, or a value used by another arm."""
        if self.diverges(op):
            return [op.one("cond")]
        return [self.found.uneven[op]] if op in self.found.uneven else []

    def region(self, op: Op, divergent: bool) -> None:
        if op.is_a(IF):
            self.branch(op, divergent)
            return
        if op.has(Trait.LOOP):
            self.loop_arguments(op)
        outside = self.left
        inside = divergent or op in self.found.split
        for region in op.regions:
            self.block(region, inside)
        # Threads that left this op alone go on behind it (reconvergence); those that left an op
        # around it, too, do not.
        self.left = outside or any(
            self.nesting.target.get(end) in self.found.split for end in self.nesting.leaves(op)
        )
        self.results(op)

    def branch(self, op: Op, divergent: bool) -> None:
        varies = self.diverges(op)
        before, left = self.left, False
        for region in op.regions:
            self.left = before
            self.block(region, divergent or varies)
            left = left or self.left
        self.left = left
        ends = [r.terminator for r in op.regions if r.terminator.is_a(YIELD)]
        for k, result in enumerate(op.results):
            self.vary_by(result, [*([op.one("cond")] if varies else []),
                                  *(end.operands[k] for end in ends)])  # fmt: skip

    def loop_arguments(self, op: Op) -> None:
        """Mark carried values that vary in any iteration; varying bounds cause divergence."""
        body = op.regions[0]
        if op.is_a(FOR):
            lower, upper, step = op.operands[:3]
            for bound in (lower, upper, step):
                if bound in self.found.varying:
                    self.found.split.add(op)
                    self.found.uneven.setdefault(op, bound)
            self.vary_by(body.args[0], (lower, step))
        args = body.args[1:] if op.is_a(FOR) else body.args
        exits = self.nesting.exits.get(op, [])
        continues = [end for end in exits if end.is_a(CONTINUE)]
        # A thread that has left keeps its value; in the others the value changes (temporal
        # divergence).
        for k, (arg, init) in enumerate(zip(args, op.all("init"), strict=True)):
            self.vary_by(
                arg, (*self.exit_causes(op), init, *(end.operands[k] for end in continues))
            )

    def results(self, op: Op) -> None:
        exits = [end for end in self.nesting.exits.get(op, []) if not end.is_a(YIELD)]
        inits = op.all("init") if op.has(Trait.LOOP) else ()
        for k, result in enumerate(op.results):
            carried = inits[k : k + 1]
            self.vary_by(
                result, (*self.exit_causes(op), *carried, *(end.operands[k] for end in exits))
            )

    def exit_causes(self, op: Op) -> tuple[Value, ...]:
        """Return the reason why threads leave a loop or a scope at different times, if they do."""
        return (self.found.uneven[op],) if op in self.found.uneven else ()

    def vary_by(self, value: Value, reasons: Iterable[Value]) -> None:
        """Mark a value as varying if any of these does."""
        for reason in reasons:
            if reason in self.found.varying:
                self.vary(value, reason)


def _is_constant_memory(op: Op) -> bool:
    """Return whether an op reads memory that no thread of the launch writes."""
    sources = [v.type for v in op.operands if isinstance(v.type, TensorType)]
    return op.is_a(LOAD_SLICE) and all(not t.mutable for t in sources)


# -------------------------------------------------------------------------------------------------
# Divergent synchronization: barriers and warp ops that some threads may not reach.
#
# A barrier does not wait for a thread that has returned. So only conditions and loops count here in
# which threads diverge and then go on: those that hold the op, and the iterations of loops around
# it.


@dataclass(frozen=True, slots=True)
class DivergentSync:
    """A synchronizing op that some threads may not reach, and where they diverge."""

    op: Op
    over: Over
    """The threads that synchronize: those of a block, or of a warp."""
    at: Op
    """The branch, loop or scope around the synchronizing op in which threads diverge."""
    condition: Value
    """What differs between them."""
    source: Op | None
    """What first made it differ."""
    made: Op | None
    """The op that computes the condition."""


def divergent_syncs(func: Func) -> Iterator[DivergentSync]:
    """Yield the synchronizing ops that some threads may not reach, in order."""
    syncs = [op for op in func.walk() if op.defn.effects & Effect.SYNC and not _is_masked(op)]
    if not syncs:
        return
    nesting = structure(func)
    facts = {over: uniformity(func, over) for over in {synchronized_over(op) for op in syncs}}
    for op in syncs:
        over = synchronized_over(op)
        found = _divergence_around(op, over, facts[over], nesting)
        if found is not None:
            yield found


def synchronized_over(op: Op) -> Over:
    """Return the set of threads that synchronize at an op."""
    return Over.BLOCK if op.is_a(SYNC_THREADS) else Over.WARP


def _is_masked(op: Op) -> bool:
    """Return whether the author names the participating lanes."""
    return "mask" in [spec.name for spec in op.defn.operands] and op.maybe("mask") is not None


def _divergence_around(
    op: Op, over: Over, facts: Uniformity, nesting: Structure
) -> DivergentSync | None:
    for outer in nesting.ancestors(op):
        condition = _condition(outer, facts)
        if condition is not None:
            source, made = facts.source(condition), nesting.definer(condition)
            return DivergentSync(op, over, outer, condition, source, made)
    return None


def _condition(outer: Op, facts: Uniformity) -> Value | None:
    """Return the condition under which only some threads execute an op; None if all do."""
    if outer.is_a(IF):
        return outer.one("cond") if facts.varies(outer.one("cond")) else None
    return facts.uneven.get(outer)
