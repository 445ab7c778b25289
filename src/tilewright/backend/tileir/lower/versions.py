"""Multi-versioning of a kernel: one version for blocks with full tiles only, one for the others.

If each access had its own bounds test, its result would have to be complete before the next one
begins, and the assembler would not overlap the iterations of a loop. One test at the entry, for all
tiles that the block will access, lets it overlap loads, arithmetic and stores. Where tiles are
full, extents are at least their lengths, so masks computed from extents vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....analysis.entry_bounds import Bound, Combined, EntryBounds, Exact, Number, Step
from ....base.dtypes import i32, int_range
from ....ir.core import Op, Value
from ....ir.types import ViewType
from ..accesses import tiles_per_frame
from ..bytecode.enums import RoundingCode, Signedness
from ..bytecode.program import InstructionRegion, Val
from ..bytecode.types import I64, PartitionView, TileValueType
from .code_growth import code_size
from .emitter import TileEmitter, tile
from .memory import is_below

LARGEST_VERSION = 8192
"""Instructions of the version for full tiles: a larger one is left out, for each access to test."""

CHOSEN = "multi-versioned: one bounds test per block selects the version for full tiles"
"""The line of `explain()`."""

WIDE = TileValueType(I64)
MOST = int_range(i32)[1]


def multiversioned_body(em: TileEmitter) -> None:
    """Emit the body in two versions behind one bounds test, unless that is too much code."""
    views, notes = dict(em.views), len(em.notes)
    answer = _all_whole(em)
    regions = InstructionRegion(), InstructionRegion()
    em.whole, em.least = True, _least(em)
    _version(em, regions[0])
    em.whole, em.views, em.least = None, views, {}
    size = code_size(em).region(regions[0])
    if size > LARGEST_VERSION:
        del em.notes[notes:]
        em.notes.append(f"not multi-versioned: {size} instructions for full tiles alone, about")
        em.ops(em.func.body.ops)
        return
    em.whole = False
    _version(em, regions[1])
    em.whole, em.views = None, views
    em.notes[:] = dict.fromkeys([*em.notes, CHOSEN])
    em.op("if", (), answer, regions=regions)


def _version(em: TileEmitter, region: InstructionRegion) -> None:
    with em.inside(region):
        em.ops(em.func.body.ops)
        em.op("yield", ())


def _least(em: TileEmitter) -> dict[tuple[Value, int], int]:
    """Return lower bounds of extents that follow if the tested tiles are in bounds."""
    found: dict[tuple[Value, int], int] = {}
    for op, access in em.decisions.accesses.items():
        if not access.versioned or access.view is None:
            continue
        for axis, length, index in zip(
            access.view.dim_map, access.view.tile, op.all("index"), strict=True
        ):
            key = _tensor_of(em, op), axis
            tiles = max(em.ranges.of(index).low, 0) + 1
            found[key] = max(found.get(key, 0), tiles * length)
    return found


def _tensor_of(em: TileEmitter, access: Op) -> Value:
    view = em.nesting.definer(access.one("view"))
    assert view is not None, "views are made by make_view"
    return view.one("tensor")


# --- the test ------------------------------------------------------------------------------------


def _all_whole(em: TileEmitter) -> Val:
    """Return whether all tiles of the accesses with two versions are in bounds."""
    bounds, emitted = EntryBounds(em.nesting, em.ranges), _Emitted(em)
    asked: dict[tuple[object, ...], Val] = {}
    for op, access in em.decisions.accesses.items():
        if not access.versioned or access.view is None:
            continue
        tensor, index = _tensor_of(em, op), op.all("index")
        for k, value in enumerate(index):
            assert isinstance(access.view, PartitionView), "only these promise to be in bounds"
            axis, length = access.view.dim_map[k], access.view.tile[k]
            key = (tensor, axis, length, op.one("view").view.frame, value)
            if key not in asked:
                bound = bounds.of(value)
                assert bound is not None, "an access with two versions has known bounds"
                last = _in_tensor(em, op.one("view").view, k, value, emitted.bound(bound))
                asked[key] = is_below(em, em.memory[tensor], axis, length, last)
    first, *others = asked.values()
    for answer in others:
        first = em.same("andi", first, answer)
    return first


def _in_tensor(em: TileEmitter, view: ViewType, k: int, given: Value, index: Val) -> Val:
    """Return an index, in this block's frame if there is one, as one in the tensor."""
    if view.frame is None:
        return index
    count = tiles_per_frame(view, k)
    block = em.widened(em.block[view.dim_map[k]], tile(index).scalar)
    first = block if count == 1 else em.same("muli", block, em.number(count, tile(block)))
    return first if em.constant_of(given) == 0 else em.same("addi", first, index)


# --- bounds as instructions ----------------------------------------------------------------------

Emit: TypeAlias = "Callable[[TileEmitter, Val, Val], Val]"


class _Emitted:
    """The bounds of one kernel as instructions at its entry, each once."""

    def __init__(self, em: TileEmitter) -> None:
        self.em = em
        self.made: set[Value] = set()
        self.known: dict[Bound, Val] = {}

    def bound(self, bound: Bound) -> Val:
        """Return a bound: a value as it is, or a 64-bit number that is not too large."""
        if bound not in self.known:
            self.known[bound] = self._bound(bound)
        return self.known[bound]

    def _bound(self, bound: Bound) -> Val:
        if isinstance(bound, Exact):
            self._make(bound.value)
            return self.em.get(bound.value)
        if isinstance(bound, Number):
            return self.em.number(bound.value, WIDE)
        assert isinstance(bound, Combined), "there are three kinds of bounds"
        lhs, rhs = (self.em.widened(self.bound(part)) for part in (bound.lhs, bound.rhs))
        return CALCULATED[bound.step](self.em, lhs, rhs)

    def _make(self, value: Value) -> None:
        """Lower the definition of a value a second time; the body lowers it as well."""
        maker = self.em.nesting.definer(value)
        if maker is None or value in self.made:
            return
        for operand in maker.operands:
            self._make(operand)
        self.made.update(maker.results)
        self.em.ops([maker])


def _clamped(name: str) -> Emit:
    """Return arithmetic that clamps what may leave 31 bits; no larger index can be in bounds."""

    def emit(em: TileEmitter, lhs: Val, rhs: Val) -> Val:
        found = em.same(name, lhs, rhs)
        return em.same("mini", found, em.number(MOST, WIDE), signedness=Signedness.SIGNED)

    return emit


def _divided(em: TileEmitter, lhs: Val, rhs: Val) -> Val:
    signs = {"signedness": Signedness.SIGNED, "rounding": RoundingCode.NEGATIVE_INF}
    return em.same("divi", lhs, rhs, **signs)


CALCULATED: dict[Step, Emit] = {
    Step.ADD: _clamped("addi"),
    Step.SUB: lambda em, a, b: em.same("subi", a, b),
    Step.MUL: _clamped("muli"),
    Step.DIV: _divided,
    Step.MIN: lambda em, a, b: em.same("mini", a, b, signedness=Signedness.SIGNED),
    Step.MAX: lambda em, a, b: em.same("maxi", a, b, signedness=Signedness.SIGNED),
}
