"""Owned indices: the tiles of mapped outputs that a loop visits, and what an index permits.

A block visits the tiles `block`, `block + blocks`, and so on, of those that a loop walks. So no two
blocks visit the same tile, and every tile is visited. That holds for one set of tiles. A kernel may
have several loops if they walk the same tiles, or sets of tiles that are disjoint.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ...base.errors import Code
from ...ir.attrs import Predicate
from ...ir.core import Block, BoundsCheck, Op, Placement, Value
from ...ir.launch_expr import Expr, parts, show
from ...ir.ops.control import BLOCK_ID, TILE_INDEX
from ...ir.ops.memory import CHECK, LOAD_VIEW, STORE_VIEW
from ...ir.types import TensorType
from .access import counted, make_view, tile_count
from .builder import SemanticBuilder
from .launch_exprs import ask_at_launch, expression
from .values import Extent, MappedRef, Origin, OwnedIndex, Space, describe

REST = -1
"""The count that means all remaining tiles."""
WHOLE = Extent(0, None)


@dataclass(frozen=True, eq=False, slots=True)
class Indices:
    """The result of `z.iter_indices()` and its variants, which a `for` iterates over."""

    origin: Origin
    counts: tuple[Value, ...]
    starts: tuple[Value, ...]
    """None of them where all tiles are walked."""
    total: Value


def whole(em: SemanticBuilder, outputs: Sequence[MappedRef]) -> Indices:
    """Return the indices of all tiles of some mapped outputs."""
    first = outputs[0]
    counts = tuple(em.index(n) for n in tiles_of(em, first))
    groups = tuple(first.groups[k] for k in first.walked)
    space = Space(groups, (WHOLE,) * len(groups))
    return Indices(Origin(tuple(outputs), space), counts, (), _product(em, counts))


def tiles_of(em: SemanticBuilder, output: MappedRef) -> list[int | Value]:
    """Return the number of tiles of a mapped output along each axis that is visited."""
    view = make_view(em, output, output.tile)
    return [tile_count(em, view, k) for k in output.walked]


def _product(em: SemanticBuilder, counts: Sequence[Value]) -> Value:
    total = counts[0]
    for count in counts[1:]:
        total = em.emit("muli", total, count)
    return total


# --- a part of the tiles -----------------------------------------------------------------------


def within(em: SemanticBuilder, outputs: Sequence[MappedRef], spans: Any) -> Indices:
    """Return the tiles inside a span along each axis."""
    all_tiles = whole(em, outputs)
    output = outputs[0]
    if len(output.walked) != len(output.groups):
        em.fail(
            Code.CALL,
            f"`{output.name}` has owned axes, so a loop must visit all of its tiles",
            expected=f"{output.name}.iter_indices()",
            got="a part of the tiles",
        )
    pairs = _pairs(em, output, spans)
    placed = [
        _span(em, output.name, axis, pair, all_tiles.counts[axis])
        for axis, pair in enumerate(pairs)
    ]
    starts, counts = (tuple(values) for values in zip(*[s.values for s in placed], strict=True))
    extents = tuple(span.extent for span in placed)
    space = Space(tuple(output.groups), extents)
    return Indices(Origin(tuple(outputs), space), counts, starts, _product(em, counts))


def _pairs(em: SemanticBuilder, output: MappedRef, spans: Any) -> list[tuple[Any, Any]]:
    rank = len(output.groups)
    given = spans if isinstance(spans, tuple | list) else ()
    if len(given) != rank or not all(isinstance(s, tuple | list) and len(s) == 2 for s in given):
        em.fail(
            Code.CALL,
            f"iter_indices_within of `{output.name}` needs one (first, count) pair per axis",
            expected=f"{counted(rank, 'pair')} (first, count)",
            got=describe(spans),
        )
    return [(first, count) for first, count in given]


@dataclass(frozen=True, slots=True)
class _Placed:
    values: tuple[Value, Value]
    extent: Extent


def _span(
    em: SemanticBuilder, name: str, axis: int, pair: tuple[Any, Any], tiles: Value
) -> _Placed:
    """Return the start of a span and its number of tiles; reject one that leaves the grid."""
    first, count = pair
    for number, least in ((first, 0), (count, REST)):
        if isinstance(number, int) and number < least:
            em.fail(
                Code.INDEX,
                f"the span along axis {axis} is out of bounds",
                expected="a first tile of 0 or more, and a count of 0 or more, or -1 for the rest",
                got=describe(pair),
            )
        _require_uniform(em, axis, number)
    start = em.index(first, f"the first tile along axis {axis}")
    # The comparisons are folded to a constant, become a launch check, or are asserted in the
    # kernel: whichever can decide them first.
    begins = _no_more(em, em.index(0), start)
    if _is_rest(count):
        extent = Extent(_known(em, first), None)
        if extent == WHOLE:
            return _Placed((start, tiles), extent)
        inside = em.emit("andi", begins, _no_more(em, start, tiles))
        given = em.emit("subi", tiles, start)
    else:
        extent = Extent(_known(em, first), _known(em, count))
        given, ends = _counted(em, axis, start, count, tiles)
        inside = em.emit("andi", begins, ends)
    _require_inside(em, name, axis, inside)
    # An assertion does not end the block at once. Until then a span out of bounds has no tiles, so
    # that no access of the loop leaves the tensor.
    return _Placed((start, em.emit("select", inside, given, em.index(0))), extent)


def _is_rest(count: Any) -> bool:
    return isinstance(count, int) and count == REST


def _counted(
    em: SemanticBuilder, axis: int, start: Value, count: Any, tiles: Value
) -> tuple[Value, Value]:
    """Return the number of tiles of a span, and whether it ends in bounds; -1 means the rest."""
    given = em.index(count, f"the count along axis {axis}")
    least, least_count, counted = em.index(0), given, given
    # Only a count that may be -1 at run time needs the select: without it the count stays an
    # expression that the prover can follow.
    if _may_be_rest(em, count):
        least, least_count = em.index(REST), em.emit("maxi", given, em.index(0))
        is_rest = em.emit("cmpi", given, least, predicate=Predicate.EQ)
        counted = em.emit("select", is_rest, em.emit("subi", tiles, start), given)
    some = _no_more(em, least, given)
    # start <= tiles - count, not start + count <= tiles: that sum might wrap.
    room = _no_more(em, start, em.emit("subi", tiles, least_count))
    return counted, em.emit("andi", some, room)


def _may_be_rest(em: SemanticBuilder, count: Any) -> bool:
    """Return whether a count may be negative: scalars and data may; constants and extents not."""
    if not isinstance(count, Value):
        return False
    found = expression(em, count)
    return found is None or not _is_sum(found)


def _is_sum(expr: Expr) -> bool:
    """Return whether an expression combines extents by operations that are never negative."""
    if expr[0] == "const":
        return bool(expr[1] >= 0)
    return expr[0] not in ("scalar", "sub") and all(map(_is_sum, parts(expr)))


def _no_more(em: SemanticBuilder, a: Value, b: Value) -> Value:
    return em.emit("cmpi", a, b, predicate=Predicate.LE)


def _require_inside(em: SemanticBuilder, name: str, axis: int, inside: Value) -> None:
    """Check that a span lies inside the tiles, at launch or in the kernel, and note where."""
    message = f"the span along axis {axis} must be in bounds"
    asked = ask_at_launch(em, inside, message)
    if asked is None:
        em.op("assert", inside, message=message, tensor=name, axis=axis)
        placement, why = Placement.IN_PLACE, "the bounds of the span are known only in the kernel"
    elif asked:
        placement, why = Placement.AT_LAUNCH, " and ".join(show(check.expr) for check in asked)
    else:
        placement, why = Placement.PROVED, "the compiler knows the span and the number of tiles"
    advice = "use constants, extents or scalars for the span" if asked is None else ""
    em.obligations.append(BoundsCheck(em.span, name, axis, placement, why, advice))


# --- numbers that are the same in all blocks ---------------------------------------------------


def _known(em: SemanticBuilder, number: Any) -> Hashable:
    """Return the identity of a number: itself, or its launch expression."""
    if not isinstance(number, Value):
        return int(number)
    found = expression(em, number)
    if found is not None and found[0] == "const":
        return int(found[1])
    return number if found is None else found


DIFFERING = (BLOCK_ID, TILE_INDEX)
"""Ops that give each block something else."""


def _require_uniform(em: SemanticBuilder, axis: int, number: Any) -> None:
    """Reject a number that may differ between blocks, or between the iterations of a loop."""
    # A backward slice over the ops that compute the number. What a region passes on is rejected
    # with its op: branches and loops of blocks may differ.
    pending, seen = [number], set[Value]()
    while pending:
        value = pending.pop()
        if not isinstance(value, Value) or value in seen or value in em.scalars:
            continue
        seen.add(value)
        op = em.defining.get(value)
        if op is None and isinstance(value.type, TensorType):  # a parameter
            continue
        if op is None or not _is_uniform(op):
            em.fail(
                Code.MINTED,
                f"the span along axis {axis} may differ between blocks, or between iterations of"
                " a loop, which could then visit the same tile",
                expected="constants, extents, scalars, and values loaded from inputs by these",
                got=describe(number),
                hint="visit all tiles with iter_indices(), and skip some with `if`",
            )
        pending += op.operands


def _is_uniform(op: Op) -> bool:
    if op.is_a(*DIFFERING) or op.regions:
        return False
    if op.is_a(LOAD_VIEW):
        # All blocks load the same value from an input, which no block writes.
        tensor = op.one("view").view.tensor
        return tensor.param is not None and not tensor.mutable
    return op.defn.pure or op.is_a(CHECK)


# --- loops -------------------------------------------------------------------------------------


def bounds_of(em: SemanticBuilder, indices: Indices) -> tuple[Value, Value, Value]:
    """Return the first tile number of a block, the end, and the step."""
    grid = em.signature.grid
    blocks = em.emit("num_blocks", axis=0) if grid is None else em.index(grid[0])
    return em.emit("block_id", axis=0), indices.total, blocks


def owned_index(em: SemanticBuilder, indices: Indices, number: Value) -> OwnedIndex:
    """Return the index of a tile by its number."""
    space = indices.origin.space
    assert space is not None, "a loop walks tiles"
    made = em.op("tile_index", number, indices.counts, indices.starts, groups=space.groups)
    em.owned.update(dict.fromkeys(made.results, space))
    output = indices.origin.outputs[0]
    is_whole = len(output.walked) == len(output.groups)
    return OwnedIndex.made(made.results, indices.origin, whole=is_whole)


# --- loops that could meet ---------------------------------------------------------------------


def reject_overlapping_loops(em: SemanticBuilder, body: Block) -> None:
    """Reject a kernel whose loops could visit one tile from two blocks."""
    used: dict[str, dict[Space, Op]] = {}
    for op, space in _accesses(em, body):
        name = op.one("view").view.tensor.param
        assert name is not None, "a mapped output is a parameter"
        used.setdefault(name, {}).setdefault(space, op)
    # Loops over one and the same space give a tile to the same block: their keys are equal here. Of
    # two spaces, each numbers its tiles on its own, so only disjoint ones are safe.
    for name, spaces in used.items():
        for (one, first), (other, second) in combinations(spaces.items(), 2):
            if not _are_apart(one, other):
                em.fail(
                    Code.MINTED,
                    f"two loops visit tiles of `{name}` in different ways, so that two blocks"
                    " could be at the same tile",
                    span=second.span,
                    expected="loops over the same tiles, or over tiles that provably differ",
                    got=f"another loop at {first.span.place}" if first.span else "another loop",
                    hint="assign iter_indices_within(...) to a variable and use it in both",
                )


def _accesses(em: SemanticBuilder, body: Block) -> Iterator[tuple[Op, Space]]:
    for op in body.walk():
        if op.is_a(LOAD_VIEW, STORE_VIEW) and op.one("view").view.tensor.mutable:
            spaces = [em.owned[v] for v in op.all("index") if v in em.owned]
            yield from ((op, space) for space in spaces[:1])


def _are_apart(one: Space, other: Space) -> bool:
    """Return whether two sets of tiles provably have none in common."""
    pairs = zip(one.extents, other.extents, strict=True)
    return any(_ends_before(a, b) or _ends_before(b, a) for a, b in pairs)


def _ends_before(a: Extent, b: Extent) -> bool:
    if isinstance(a.start, int) and isinstance(a.count, int) and isinstance(b.start, int):
        return a.start + a.count <= b.start
    # Values that are not constants are compared by identity: `0 .. n` ends where `n ..` starts.
    return a.start == 0 and a.count is not None and a.count == b.start
