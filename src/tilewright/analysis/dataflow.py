"""Forward dataflow over the regions of a function: one driver for all lattices, and constants.

An analysis gives the lattice (`join`, `widen`) and what ops make of facts (`transfer`). The driver
visits ops in program order, joins what the exits of `if` and `scope` pass on, and finds the least
fixpoint of what loops carry: it assumes of a carried value what is known of its initial one, runs
the body, joins what `continue` passes on, and runs the body again until nothing changes (Kildall's
algorithm on structured control flow). Facts of the body are those of its last run, in which the
assumption held by itself. An arm that an analysis knows not to be taken passes nothing on, as in
conditional constant propagation (Wegman and Zadeck).

A value without a fact may be anything: that is the top of every lattice.

A tile is known if all its elements are one number. Known are constants, elementwise ops on known
numbers (see `ir.semantics`), rearrangements, what the signature fixes (static extents, tile counts,
the grid), and what all reached exits of a branch or a loop agree on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from ..base.dtypes import i32, int_range
from ..base.shapes import ceil_div
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.control import BREAK, CONTINUE, FOR, IF, RETURN, SCOPE
from ..ir.semantics import Number, evaluate, number_of, same
from ..ir.signature import Signature
from .structure import TARGETS, arguments, carried

# --- forward dataflow over the regions of a function -------------------------------------------

F = TypeVar("F")
Facts: TypeAlias = dict[Value, F]

PATIENCE = 3
"""Runs of a loop's body after which a fact that still changes is widened."""
LAST = 16
"""Runs after which facts that still change are given up, whatever the lattice."""


class Analysis(ABC, Generic[F]):
    """A lattice of facts about values, and the transfer functions of ops. None is the top."""

    @abstractmethod
    def transfer(self, op: Op, known: Facts[F]) -> Sequence[F | None]:
        """Return the facts of an op's results; an empty sequence if none is known."""

    @abstractmethod
    def join(self, value: Value, a: F, b: F) -> F | None:
        """Return the join of two facts: what holds if either of them does."""

    def widen(self, value: Value, old: F, new: F) -> F | None:
        """Return a fact above both that ends ascending chains; `new` is above `old`."""
        return None

    def induction(self, op: Op, known: Facts[F]) -> F | None:
        """Return the fact of the variable of a `for`."""
        return None

    def taken(self, cond: Value, known: Facts[F]) -> bool | None:
        """Return whether a condition always holds, or never; None if that is unknown."""
        return None


def solve(func: Func, analysis: Analysis[F], given: Mapping[Value, F] | None = None) -> Facts[F]:
    """Return the facts of all values; the facts in `given` are assumed."""
    driver = _Driver(analysis, given or {})
    driver.block(func.body)
    return driver.known


class _Driver(Generic[F]):
    def __init__(self, analysis: Analysis[F], given: Mapping[Value, F]) -> None:
        self.analysis = analysis
        self.given = given
        self.known: Facts[F] = dict(given)
        self.frames: list[tuple[Op, list[Op]]] = []
        """The ops around the current one, each with the exits to it that were reached."""
        self.dead = 0
        """How many arms around the current op are never taken."""
        self.runs: dict[Op, int] = {}
        """How often the facts of each loop have changed."""

    def block(self, block: Block) -> None:
        for op in block.ops:
            if op.has(Trait.TERMINATOR):
                self.exit(op)
            elif op.has(Trait.LOOP):
                self.loop(op)
            elif op.regions:
                self.regions(op)
            else:
                self.transfer(op)

    def transfer(self, op: Op) -> None:
        facts = self.analysis.transfer(op, self.known) if op.results else ()
        for value, fact in zip(op.results, facts or [None] * len(op.results), strict=True):
            self.put(value, fact)

    def put(self, value: Value, fact: F | None) -> None:
        """Note a fact, or that there is none: an earlier run of a loop may have had one."""
        if value in self.given:
            return
        if fact is None:
            self.known.pop(value, None)
        else:
            self.known[value] = fact

    def exit(self, op: Op) -> None:
        if op.is_a(RETURN) or self.dead:
            return
        targets = TARGETS[op.defn]
        exits = next(exits for outer, exits in reversed(self.frames) if outer.is_a(*targets))
        exits.append(op)

    def enter(self, op: Op, region: Block, *, dead: bool = False) -> list[Op]:
        """Visit a region of an op and return the exits to the op that were reached."""
        exits: list[Op] = []
        self.frames.append((op, exits))
        self.dead += dead
        self.block(region)
        self.dead -= dead
        self.frames.pop()
        return exits

    def regions(self, op: Op) -> None:
        """Analyze branches, and ops that combine elements, whose arguments are unknown."""
        taken = self.analysis.taken(op.one("cond"), self.known) if op.is_a(IF) else None
        exits: list[Op] = []
        for region, truth in zip(op.regions, (True, False), strict=False):
            exits += self.enter(op, region, dead=taken is not None and taken is not truth)
        if not op.is_a(IF, SCOPE):
            self.transfer(op)
            return
        for slot, result in enumerate(op.results):
            self.put(result, self.joined(result, [end.operands[slot] for end in exits]))

    def joined(self, target: Value, sources: Sequence[Value]) -> F | None:
        """Join the facts of all sources; None if there are none, or one is unknown."""
        facts = [self.known.get(value) for value in sources]
        total = facts[0] if facts else None
        for fact in facts[1:]:
            if total is None or fact is None:
                return None
            total = self.analysis.join(target, total, fact)
        return total

    def loop(self, op: Op) -> None:
        (body,) = op.regions
        args, inits = arguments(op), carried(op)
        if op.is_a(FOR):
            self.put(body.args[0], self.analysis.induction(op, self.known))
        # Entered again by a loop around it, a loop starts from what it had: facts only go up, so
        # all runs of a nest together are as many as its facts have steps.
        entered = op in self.runs
        for arg, init in zip(args, inits, strict=True):
            self.put(arg, self.joined(arg, [arg, init] if entered else [init]))
        self.runs.setdefault(op, 0)
        exits = self.enter(op, body)
        while self.advance(op, exits):
            self.runs[op] += 1
            exits = self.enter(op, body)
        self.results(op, exits)

    def advance(self, op: Op, exits: Sequence[Op]) -> bool:
        """Join what the next iteration is given into the facts of a body; return if they change.

        Each fact is given up at last, and none comes back: a loop ends.
        """
        again = [end for end in exits if end.is_a(CONTINUE)]
        run, changed = self.runs[op], False
        for slot, arg in enumerate(arguments(op)):
            old = self.known.get(arg)
            if old is None or arg in self.given or not again:
                continue
            new = self.joined(arg, [arg, *(end.operands[slot] for end in again)])
            if new is old or new == old:
                continue
            changed = True
            if new is not None and run >= PATIENCE:
                new = self.analysis.widen(arg, old, new) if run < LAST else None
            self.put(arg, new)
        return changed

    def results(self, op: Op, exits: Sequence[Op]) -> None:
        """Add the exit of a `for` at the end of its range, with the next iteration's arguments."""
        whole = op.is_a(FOR)
        for slot, result in enumerate(op.results):
            sources = [arguments(op)[slot]] if whole else []
            sources += [e.operands[slot] for e in exits if e.is_a(BREAK)]
            self.put(result, self.joined(result, sources))


# --- conditional constant propagation ----------------------------------------------------------

Constants: TypeAlias = dict[Value, Number]


def constants(func: Func) -> Constants:
    """Return all values of a function that are known numbers."""
    return solve(func, _Propagation(func.signature))


class _Propagation(Analysis[Number]):
    """The flat lattice of numbers: two that differ in a bit join to nothing known."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature

    def transfer(self, op: Op, known: Constants) -> Sequence[Number | None]:
        if len(op.results) != 1:
            return ()
        rule = SPECIAL.get(op.name)
        if rule is not None:
            return (rule(self.signature, op, known),)
        if op.has(Trait.REARRANGES):
            return (known.get(op.operands[0]),)
        if not op.has(Trait.ELEMENTWISE) or any(v not in known for v in op.operands):
            return ()
        return (evaluate(op, [known[v] for v in op.operands]),)

    def join(self, value: Value, a: Number, b: Number) -> Number | None:
        return a if same(a, b) else None

    def taken(self, cond: Value, known: Constants) -> bool | None:
        truth = known.get(cond)
        return None if truth is None else bool(truth)


def _constant(signature: Signature, op: Op, known: Constants) -> Number | None:
    return number_of(op.attrs["value"], op.attrs["dtype"])


def _cat(signature: Signature, op: Op, known: Constants) -> Number | None:
    a, b = known.get(op.one("lhs")), known.get(op.one("rhs"))
    return a if a is not None and b is not None and same(a, b) else None


def _extent(signature: Signature, op: Op, known: Constants) -> Number | None:
    axis: int = op.attrs["axis"]
    return _index(op.one("tensor").tensor.shape[axis])


def _num_tiles(signature: Signature, op: Op, known: Constants) -> Number | None:
    view, k = op.one("view").view, int(op.attrs["axis"])
    axis = view.dim_map[k]
    extent = view.tensor.shape[axis] if view.frame is None else view.frame[axis]
    return None if extent is None else _index(ceil_div(extent, (view.step or view.tile)[k]))


def _num_blocks(signature: Signature, op: Op, known: Constants) -> Number | None:
    return _index(grid_size(signature, op.attrs["axis"]))


def _block_id(signature: Signature, op: Op, known: Constants) -> Number | None:
    return 0 if grid_size(signature, op.attrs["axis"]) == 1 else None


def grid_size(signature: Signature, axis: int) -> int | None:
    """Return the size of the grid along an axis, where the signature fixes it."""
    grid = signature.grid
    return grid[axis] if grid is not None and axis < len(grid) else None


def _index(n: int | None) -> int | None:
    """Return an i32, unless it would not fit."""
    return n if n is not None and n <= int_range(i32)[1] else None


SPECIAL: dict[str, Callable[[Signature, Op, Constants], Number | None]] = {
    "constant": _constant, "cat": _cat,
    "extent": _extent, "num_tiles": _num_tiles,
    "num_blocks": _num_blocks, "block_id": _block_id,
}  # fmt: skip
"""Ops that are known otherwise than from numbers of all operands."""
