"""Loop rerolling: make one loop of many unrolled copies of large code.

Goals: a `tl.static_range` over 25 taps of a convolution is 25 copies of loads and a product. Of
so much code an assembler takes a minute; it spills, and does not fit into the instruction cache.
The same loop not unrolled has one copy. (LLVM's LoopReroll does the same for small loops.)

Non-goals: code of moderate size, whose author has asked for copies; copies that differ in anything
but integers in arithmetic progression, such as shapes, other constants, or ops that are missing.

Rules. Copies are runs of ops, one right after the other, that agree in everything but operands.
They become iterations 0, 1, ... of one loop if

1. each operand is defined at one place in its own copy, or in the copy before, or outside of all
   copies; if outside, it is the same value in all;
2. the operands that come from the copy before are values that a loop can carry; the first copy has
   their initial values;
3. after the copies only these values of the last one are used;
4. 32-bit constants grow by the same number from copy to copy; others are equal;
5. no copy leaves a loop, a scope or the function.
       %a = f %x, 4; %b = f %a, 6; %c = f %b, 8
    -> %c = for %i in 0..3, %x {(%y) %n = 2 * %i + 4; %z = f %y, %n; continue %z}

Rows of copies come first: what they become are copies again, of which an outer loop is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ..base.dtypes import i32
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value, walk
from ..ir.opdef import Effect, Trait
from ..ir.ops.control import BREAK, CONTINUE, FOR, LEAVE, RETURN, SCOPE
from ..ir.ops.layout import CONSTANT
from ..ir.ops.matmul import PRODUCTS
from ..ir.printer import attr_text
from ..ir.types import TileType

LARGEST_UNROLLED = 4096
"""Instructions of each thread that may be copies: 64 KiB, half of the instruction cache."""
FEWEST_COPIES, FEWEST_IN_ALL = 3, 8
"""Copies of which a loop is made; and copies, those of outer loops included."""
CANDIDATES = 8
"""Lengths of a copy that are tried at one op: the distances to the next ops like it."""
THREADS = 128
PER_ACCESS, PER_STAGED = 6, 4
"""Instructions for an element that is loaded or stored, and for one that is multiplied."""
TENSOR_CORE = 64 * 64 * 16 // 4
"""Multiplications of one instruction of a warp."""


def reroll_loops(func: Func) -> Func:
    """Make loops of large unrolled code, by the rules above."""
    while True:
        rerolled = _Reroller(func)
        func = rerolled.func()
        if not rerolled.found:
            return func


Key = tuple[object, ...]


@dataclass(frozen=True)
class _Run:
    """Copies that agree in everything but operands: where they begin, their length and number."""

    start: int
    length: int
    copies: int

    def copy(self, ops: Sequence[Op], number: int) -> Sequence[Op]:
        """Return the ops of one copy."""
        first = self.start + number * self.length
        return ops[first : first + self.length]

    def ops(self, ops: Sequence[Op]) -> Sequence[Op]:
        """Return the ops of all copies."""
        return ops[self.start : self.start + self.length * self.copies]


@dataclass(frozen=True)
class _Wiring:
    """Where the operands of one copy come from, in order."""

    operands: tuple[tuple[str, object], ...]
    numbers: tuple[int, ...]
    """The values of its 32-bit constants."""


class _Reroller:
    """A copy of a function in which runs of copies are loops."""

    def __init__(self, func: Func) -> None:
        self.old = func
        self.found = False
        self.users: dict[Value, set[Op]] = {}
        for op in func.walk():
            for value in op.operands:
                self.users.setdefault(value, set()).add(op)

    def func(self) -> Func:
        """Return the new function."""
        plan = {block: [*self.runs(block)] for block in _blocks(self.old.body)}
        self.found = any(plan.values())
        return rewrite(self.old, _RunWriter(plan).visit) if self.found else self.old

    def runs(self, block: Block) -> Iterator[_Run]:
        """Yield the runs of a block that become loops, in order."""
        ops = block.ops[:-1]
        if sum(map(_instructions, ops)) <= LARGEST_UNROLLED:
            return
        keys = _interned([_key(op) for op in ops])
        following = _following(keys)
        start = 0
        while start < len(ops):
            copies = _large_copies(ops, keys, following, start)
            if copies is None:
                start += 1
            else:
                yield from self.iterations(ops, copies)
                start += copies.length * copies.copies

    def iterations(self, ops: Sequence[Op], run: _Run) -> Iterator[_Run]:
        """Yield the parts of a run that are iterations of one loop: rows of two loops."""
        at = 0
        while at <= run.copies - FEWEST_COPIES:
            rest = _Run(run.start + at * run.length, run.length, run.copies - at)
            found = _Run(rest.start, run.length, self.equivalent(ops, rest))
            if found.copies >= FEWEST_COPIES and self.ends_well(ops, found):
                yield found
                at += found.copies
            else:
                at += 1

    def equivalent(self, ops: Sequence[Op], run: _Run) -> int:
        """Return how many copies, from the first on, are iterations of one loop."""
        if any(_leaves(op) for op in run.copy(ops, 0)):
            return 0
        wirings: list[_Wiring] = []
        before: Mapping[Value, int] = {}
        for number in range(run.copies):
            copy = run.copy(ops, number)
            own = _positions(copy)
            wirings.append(_wiring(copy, own, before))
            if not _continues(wirings):
                return number
            before = own
        return run.copies

    def ends_well(self, ops: Sequence[Op], run: _Run) -> bool:
        """Return whether only carried values of the last copy are used after the copies."""
        carried = {use.position for use in _uses_of_copy_before(ops, run)}
        inside = {*walk(run.ops(ops))}
        for number in range(run.copies):
            is_last = number == run.copies - 1
            for value, position in _positions(run.copy(ops, number)).items():
                used_after = not inside.issuperset(self.users.get(value, ()))
                if used_after and not (is_last and position in carried):
                    return False
                if position in carried and not isinstance(value.type, TileType):
                    return False
        return True


class _RunWriter:
    """Writes loops in place of runs."""

    def __init__(self, plan: Mapping[Block, Sequence[_Run]]) -> None:
        self.starts: dict[Op, tuple[_Run, Sequence[Op]]] = {}
        self.copies: set[Op] = set()
        for block, runs in plan.items():
            for run in runs:
                self.starts[block.ops[run.start]] = run, block.ops
                self.copies.update(run.ops(block.ops))

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op in self.starts:
            _write_loop(r, *self.starts[op])
        return r.many(op.results) if op in self.copies else None


def _write_loop(r: Rewriter, run: _Run, ops: Sequence[Op]) -> None:
    """Write a loop whose iterations are the copies of a run; bind what is used after them."""
    first, last = run.copy(ops, 0), run.copy(ops, run.copies - 1)
    uses = [*_uses_of_copy_before(ops, run)]
    inits = {use.position: use.op.operands[use.operand] for use in uses}
    own, end = ([*_positions(copy)] for copy in (first, last))
    index = Value(TileType(i32, ()))
    args = {position: Value(init.type, init.name) for position, init in inits.items()}
    body = Block((index, *args.values()))
    steps = _steps(ops, run)
    carried: dict[Op, dict[int, Value]] = {}
    for use in uses:
        carried.setdefault(use.op, {})[use.operand] = args[use.position]

    def visit(inner: Rewriter, op: Op) -> Sequence[Value] | None:
        if op in steps:
            return (_number(inner, index, *steps[op]),)
        if op not in carried:
            return None
        # By operand: the initial value may be used in all copies, too.
        operands = [carried[op].get(k) or inner.get(v) for k, v in enumerate(op.operands)]
        return inner.put(op, operands, [inner.region(region) for region in op.regions]).results

    inner = Rewriter(visit, r.mapping)
    with inner.at(body):
        inner.ops(first)
        inner.op("continue", inner.many([own[position] for position in inits]))
    bounds = [r.constant(n, i32) for n in (0, run.copies, 1)]
    times = run.copies * _times(first)
    made = r.op("for", *bounds, r.many([*inits.values()]), regions=(body,), rerolled=times)
    r.bind([end[position] for position in inits], made.results)


def _number(r: Rewriter, index: Value, first: int, step: int) -> Value:
    """Write first + index * step; of loops that are copies again, this must be alike too."""
    start = r.constant(first, i32)
    if not step:
        return start
    moved = index if step == 1 else r.emit("muli", index, r.constant(step, i32))
    return r.emit("addi", moved, start)


class _Use(NamedTuple):
    """An operand in the first copy, in whose place others use a value of the copy before."""

    op: Op
    operand: int
    position: int
    """That of the value in its copy."""


def _uses_of_copy_before(ops: Sequence[Op], run: _Run) -> Iterator[_Use]:
    """Yield the operands of the first copy that are initial values of carried ones."""
    first, second = run.copy(ops, 0), run.copy(ops, 1)
    wiring = _wiring(second, _positions(second), _positions(first))
    operands = [(op, k) for op in walk(first) for k in range(len(op.operands))]
    for (where, position), (op, k) in zip(wiring.operands, operands, strict=True):
        if where == "before":
            assert isinstance(position, int), "a place in a copy is a number"
            yield _Use(op, k, position)


def _continues(wirings: Sequence[_Wiring]) -> bool:
    """Return whether the last copy continues those before it."""
    last = wirings[-1]
    if len(wirings) == 1:
        return True
    first, second = wirings[:2]
    if len(wirings) > 2:
        earlier = wirings[-2].numbers
        steps = [b - a for a, b in zip(first.numbers, second.numbers, strict=True)]
        grown = [b - a for a, b in zip(earlier, last.numbers, strict=True)]
        return last.operands == second.operands and grown == steps
    initial: dict[object, object] = {}
    for (where, which), (other, value) in zip(second.operands, first.operands, strict=True):
        if where != "before":
            if (where, which) != (other, value):
                return False
        elif other != "outside" or initial.setdefault(which, value) is not value:
            return False
    return True


def _wiring(copy: Sequence[Op], own: Mapping[Value, int], before: Mapping[Value, int]) -> _Wiring:
    operands = [
        ("own", own[v]) if v in own else ("before", before[v]) if v in before else ("outside", v)
        for op in walk(copy)
        for v in op.operands
    ]
    numbers = [op.attrs["value"] for op in walk(copy) if _is_number(op)]
    return _Wiring(tuple(operands), tuple(numbers))


def _steps(ops: Sequence[Op], run: _Run) -> dict[Op, tuple[int, int]]:
    """Return the 32-bit constants of the first copy, and what they grow by."""
    first, second = ([op for op in walk(run.copy(ops, k)) if _is_number(op)] for k in (0, 1))
    return {
        op: (op.attrs["value"], other.attrs["value"] - op.attrs["value"])
        for op, other in zip(first, second, strict=True)
    }


def _positions(copy: Sequence[Op]) -> dict[Value, int]:
    """Return the place of each value that a copy defines, in order."""
    found: dict[Value, int] = {}
    for op in walk(copy):
        for value in (*op.results, *(arg for region in op.regions for arg in region.args)):
            found[value] = len(found)
    return found


# --- equal ops ------------------------------------------------------------------------------------


def _key(op: Op) -> Key:
    """Return what copies of an op have in common: all but operands and 32-bit constants."""
    # As text 0.0 and -0.0 differ, so do 1 and True.
    attrs = [(name, attr_text(value)) for name, value in sorted(op.attrs.items())
             if name != "value" or not _is_number(op)]  # fmt: skip
    types = (*(v.type for v in op.operands), *(v.type for v in op.results))
    regions = ((*(a.type for a in region.args), *map(_key, region.ops)) for region in op.regions)
    return (op.name, op.span, op.sizes, types, *attrs, *regions)


def _is_number(op: Op) -> bool:
    return op.is_a(CONSTANT) and op.result.type == TileType(i32, ())


def _interned(keys: Sequence[Key]) -> list[int]:
    """Return a number for each key, equal for equal keys."""
    numbers: dict[Key, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _following(keys: Sequence[int]) -> list[int | None]:
    """Return for each key the place of the next equal one."""
    last: dict[int, int] = {}
    found: list[int | None] = [None] * len(keys)
    for at in range(len(keys) - 1, -1, -1):
        found[at] = last.get(keys[at])
        last[keys[at]] = at
    return found


def _large_copies(
    ops: Sequence[Op], keys: Sequence[int], following: Sequence[int | None], start: int
) -> _Run | None:
    """Return the copies that begin at an op, if they are many, and too much code."""
    again = following[start]
    for _ in range(CANDIDATES):
        if again is None:
            return None
        length = again - start
        run = _Run(start, length, _alike(keys, start, length) // length + 1)
        if run.copies >= FEWEST_COPIES:
            first = run.copy(ops, 0)
            size, times = sum(map(_instructions, first)), _times(first)
            if times * run.copies >= FEWEST_IN_ALL and size * run.copies > LARGEST_UNROLLED:
                return run
        again = following[again]
    return None


def _alike(keys: Sequence[int], start: int, length: int) -> int:
    """Return how many ops from `start` on are like those that follow at a distance."""
    at = start
    while at + length < len(keys) and keys[at] == keys[at + length]:
        at += 1
    return at - start


# --- what is known of ops -------------------------------------------------------------------------


def _blocks(body: Block) -> Iterator[Block]:
    yield body
    for op in body.walk():
        yield from op.regions


def _leaves(op: Op) -> bool:
    """Return whether something inside an op ends a loop, a scope or the function around it."""
    inner = [(each, False, False) for each in (op,)]
    while inner:
        each, in_loop, in_scope = inner.pop()
        if each.is_a(RETURN) or (each.is_a(BREAK, CONTINUE) and not in_loop):
            return True
        if each.is_a(LEAVE) and not in_scope:
            return True
        loop, scope = in_loop or each.has(Trait.LOOP), in_scope or each.is_a(SCOPE)
        inner += [(o, loop, scope) for region in each.regions for o in region.ops]
    return False


def _times(copy: Sequence[Op]) -> int:
    """Return how many copies a copy was made of before."""
    return max((op.attrs["rerolled"] for op in copy if op.is_a(FOR)), default=0) or 1


def _instructions(op: Op) -> int:
    """Return an estimate of the instructions of a thread, those that were copies before counted."""
    times = max(op.attrs["rerolled"], 1) if op.is_a(FOR) else 1
    inner = sum(_instructions(o) for region in op.regions for o in region.ops)
    tiles = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, TileType)]
    each = -(-max((t.size for t in tiles), default=0) // THREADS)
    if op.is_a(*PRODUCTS):
        lhs, rhs = (op.one(name).tile for name in ("lhs", "rhs"))
        done = 4 * prod(lhs.shape) * rhs.shape[-1] // TENSOR_CORE
        return done + PER_STAGED * (lhs.size + rhs.size) // THREADS
    is_access = bool(op.defn.effects & (Effect.READ | Effect.WRITE))
    return times * inner + each * (PER_ACCESS if is_access else op.defn.cost)
