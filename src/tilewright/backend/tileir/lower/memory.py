"""Tensors, views, accesses of tiles through views or by element addresses, and tokens.

Elements outside of the tensor, or of this block's frame, are masked off. No index can wrap around
into the tensor: coordinates are 64-bit, or 32-bit where any that wraps is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ....analysis.ranges import Interval
from ....base.cuda_abi import POINTER_ALIGNMENT
from ....base.dtypes import i32, int_range
from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ....ir.signature import OutputSpec, TensorSpec
from ....ir.types import ViewType
from ..accesses import TileAccess, latency_asked, tensor_view, tiles_per_frame
from ..bytecode.enums import V13_3, ComparisonCode, MemoryOrdering, RoundingCode, Signedness
from ..bytecode.program import DivBy, Hints, Val
from ..bytecode.types import (
    I32,
    I64,
    INDEX,
    TOKEN,
    PartitionView,
    ScalarType,
    StridedView,
    TileValueType,
    tile_of,
)
from . import pointers as pointer_ops
from . import reports
from .emitter import Rule, TensorMemory, TileEmitter, tile

# --- tiles of a view element by element --------------------------------------------------------

MOST = int_range(i32)[1]


def elements(em: TileEmitter, op: Op) -> tuple[Val, Val | None]:
    """Return the addresses of a tile's elements, and a mask of those that may be touched."""
    value = op.one("view")
    view, memory = value.view, em.memory[value]
    guard = op.maybe("guard")
    mask = None if guard is None else em.spread(em.get(guard), view.tile)
    if _is_near(em, op, view):
        return _near(em, op, view, memory, mask)
    offsets: Val | None = None
    for k, index in enumerate(op.all("index")):
        coords, inside = _along(em, view, memory, k, em.get(index))
        stride = memory.strides[view.dim_map[k]]
        offsets = _plus(em, offsets, _laid_out(em, _scaled(em, coords, stride), view, k))
        mask = both(em, mask, _laid_out(em, inside, view, k))
    base = em.spread(memory.base, view.tile)
    pointers = base if offsets is None else em.one("offset", base.kind, base, offsets)
    return pointers, mask


def _along(
    em: TileEmitter, view: ViewType, memory: TensorMemory, k: int, index: Val
) -> tuple[Val, Val]:
    """Return the coordinates along one axis of the tile, and which of them are inside."""
    axis, row = view.dim_map[k], TileValueType(I64, (view.tile[k],))
    if k == view.sparse:
        coords = em.widened(index)
    else:
        step = 1 if view.sparse is not None else (view.step or view.tile)[k]
        start = _scaled(em, em.widened(index), step)
        coords = em.same("addi", em.spread(start, row.shape), em.one("iota", row))
    inside = None
    if view.frame is not None:
        length = view.frame[axis]
        inside = _within(em, coords, em.number(length, row))
        first = _scaled(em, em.widened(em.block[axis]), length)
        coords = em.same("addi", coords, em.spread(first, row.shape))
    extent = memory.extents[axis]
    limit = em.number(extent, row) if isinstance(extent, int) else _row_of(em, extent, row)
    return coords, both(em, inside, _within(em, coords, limit))


def _row_of(em: TileEmitter, value: Val, row: TileValueType) -> Val:
    return em.spread(em.widened(value), row.shape)


def _within(em: TileEmitter, coords: Val, limit: Val) -> Val:
    below = em.compare(ComparisonCode.LESS_THAN, coords, limit)
    return em.same(
        "andi",
        below,
        em.compare(ComparisonCode.GREATER_THAN_OR_EQUAL, coords, em.number(0, tile(coords))),
    )


def _scaled(em: TileEmitter, value: Val, by: Val | int, width: ScalarType = I64) -> Val:
    if isinstance(by, int):
        return value if by == 1 else em.same("muli", value, em.number(by, tile(value)))
    return em.same("muli", value, em.spread(em.widened(by, width), tile(value).shape))


def _laid_out(em: TileEmitter, row: Val, view: ViewType, k: int) -> Val:
    """Return a row of values along one axis of the tile, repeated along the others."""
    ones = tuple(n if i == k else 1 for i, n in enumerate(view.tile))
    kind = tile(row)
    shaped = row if kind.shape == ones else em.one("reshape", kind.shaped(ones), row)
    return shaped if ones == view.tile else em.one("broadcast", kind.shaped(view.tile), shaped)


def _plus(em: TileEmitter, a: Val | None, b: Val) -> Val:
    return b if a is None else em.same("addi", a, b)


def both(em: TileEmitter, a: Val | None, b: Val) -> Val:
    """Return whether two conditions hold; the second one if there is no first."""
    return b if a is None else em.same("andi", a, b)


# --- tiles at any place in a tensor whose offsets have 31 bits -----------------------------------
#
# What is the same for all elements is added to the base address, in 64 bits and once for the tile;
# per element there are 32-bit numbers, and tiles that differ by their place alone share them.


def _is_near(em: TileEmitter, op: Op, view: ViewType) -> bool:
    """Return whether each index is a coordinate of 32 bits, and offsets have as many."""
    name: str | None = view.tensor.param
    specs = [s for s in em.func.signature.params if s.name == name]
    if not specs or view.frame is not None or not view.tile:
        return False
    if not isinstance(specs[0], TensorSpec | OutputSpec) or not specs[0].facts.near:
        return False
    steps = [1] * len(view.tile) if view.sparse is not None else view.step or view.tile
    return all(
        tile(em.get(index)).elem == I32 and (step == 1 or k == view.sparse)
        for k, (index, step) in enumerate(zip(op.all("index"), steps, strict=True))
    )


def _near(
    em: TileEmitter, op: Op, view: ViewType, memory: TensorMemory, mask: Val | None
) -> tuple[Val, Val | None]:
    base, offsets = memory.base, None
    for k, index in enumerate(op.all("index")):
        axis, row = view.dim_map[k], TileValueType(I32, (view.tile[k],))
        stride, place = memory.strides[axis], em.get(index)
        if k == view.sparse:
            is_apart, coords = False, place
        else:
            is_apart = _may_be_apart(em.ranges.of(index), view.tile[k], stride)
            # One that exceeds 31 bits wraps, so that it is negative.
            coords = em.same("addi", em.spread(place, row.shape), em.one("iota", row))
        inside = _is_below(em, coords, memory.extents[axis])
        mask = both(em, mask, _laid_out(em, inside, view, k))
        if is_apart:
            start = _scaled(em, em.widened(place), stride)
            base = em.one("offset", base.kind, base, start)
            coords = em.one("iota", row)
        if not is_apart or view.tile[k] > 1:
            steps = _scaled(em, coords, stride, I32)
            offsets = _plus(em, offsets, _laid_out(em, steps, view, k))
    pointers = em.spread(base, view.tile)
    if offsets is not None:
        pointers = em.one("offset", pointers.kind, pointers, offsets)
    return pointers, mask


def _may_be_apart(place: Interval, length: int, stride: Val | int) -> bool:
    """Return whether offsets from the first element of a tile have 31 bits, of those inside.

    Those of a tile that begins before the tensor may be larger than any in the tensor.
    """
    is_short = isinstance(stride, int) and abs(stride) * length <= MOST
    return place.low >= 0 or length == 1 or is_short


def _is_below(em: TileEmitter, coords: Val, extent: Val | int) -> Val:
    """Return a mask of the coordinates inside a tensor: as unsigned numbers, none is negative."""
    kind = tile(coords)
    if isinstance(extent, int):
        limit = em.number(min(extent, MOST), kind)
    else:
        limit = em.spread(_narrowed(em, extent), kind.shape)
    return em.compare(ComparisonCode.LESS_THAN, coords, limit, signed=False)


def _narrowed(em: TileEmitter, extent: Val) -> Val:
    if tile(extent).elem == I32:
        return extent
    most = em.number(MOST, tile(extent))
    least = em.same("mini", extent, most, signedness=Signedness.SIGNED)
    return em.one("trunci", TileValueType(I32), least)


# --- a tile whose index is not negative ----------------------------------------------------------


def near_elements(
    em: TileEmitter, op: Op, place: Sequence[Val], *, inside: bool
) -> tuple[Val, Val | None]:
    """Return the addresses of a tile at a non-negative offset in a tensor that is not too large.

    How many elements along an axis are inside is found by 64-bit numbers, once for all of them.
    Those that are have 31-bit offsets; the others may have any, for they are masked off. `inside`
    promises that all of them are.
    """
    value = op.one("view")
    view, memory = value.view, em.memory[value]
    offsets: Val | None = None
    mask: Val | None = None
    for k, index in enumerate(place):
        axis, row = view.dim_map[k], TileValueType(I32, (view.tile[k],))
        start = _scaled(em, index, view.tile[k])
        coords = em.same("addi", em.spread(start, row.shape), em.one("iota", row))
        steps = _scaled(em, coords, memory.strides[axis], I32)
        offsets = _plus(em, offsets, _laid_out(em, steps, view, k))
        if not inside:
            below = _before_end(em, view, memory, axis, index, view.tile[k])
            mask = both(em, mask, _laid_out(em, below, view, k))
    assert offsets is not None, "a view has an axis"
    base = em.spread(memory.base, view.tile)
    return em.one("offset", base.kind, base, offsets), mask


def _before_end(
    em: TileEmitter, view: ViewType, memory: TensorMemory, axis: int, index: Val, length: int
) -> Val:
    """Return a mask of the elements of this tile that are in bounds along one axis."""
    start = _scaled(em, em.widened(index), length)
    extent = memory.extents[axis]
    end = em.number(extent, tile(start)) if isinstance(extent, int) else em.widened(extent)
    room = em.same("subi", end, start)
    room = em.same("mini", room, em.number(length, tile(room)), signedness=Signedness.SIGNED)
    room = em.same("maxi", room, em.number(0, tile(room)), signedness=Signedness.SIGNED)
    row = TileValueType(I32, (length,))
    short = em.one("trunci", TileValueType(I32), room)
    unit = math.gcd(_extent_unit(em, view, axis), length)
    if unit > 1:
        # So that one test covers a vector.
        short = em.same("assume", short, predicate=DivBy(unit))
    return em.compare(ComparisonCode.LESS_THAN, em.one("iota", row), em.spread(short, row.shape))


def _extent_unit(em: TileEmitter, view: ViewType, axis: int) -> int:
    """Return a power of two that the extent of a tensor is known to be a multiple of."""
    fixed = view.tensor.shape[axis]
    if fixed is not None:
        return fixed & -fixed
    specs = [s for s in em.func.signature.params if s.name == view.tensor.param]
    if not specs or not isinstance(specs[0], TensorSpec | OutputSpec):
        return 1
    known, size = specs[0].facts.extents, view.tensor.dtype.itemsize
    most = em.target.codegen_hints.max_divisibility or POINTER_ALIGNMENT
    return min(known[axis], max(most // size, 1)) if axis < len(known) else 1


# -------------------------------------------------------------------------------------------------
# Tensors, views, and accesses of tiles: through views of Tile IR if `accesses` decides so.

# --- tensors -------------------------------------------------------------------------------------


def _extent(em: TileEmitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (_as_index(em, em.memory[op.one("tensor")].extents[axis]),)


def _as_index(em: TileEmitter, value: Val | int) -> Val:
    """Return an extent as a 32-bit index; one that does not fit wraps, as everywhere."""
    if isinstance(value, int):
        low, high = int_range(i32)
        return em.index((value - low) % (high - low + 1) + low)
    return value if tile(value).elem == I32 else em.one("trunci", INDEX, value)


def _make_tensor(em: TileEmitter, op: Op) -> Sequence[Val]:
    rank = len(op.attrs["shape"])
    given = iter(op.all("dims"))
    dims = [next(given) if n is None else n for n in (*op.attrs["shape"], *op.attrs["strides"])]
    values = [n if isinstance(n, int) else em.widened(em.get(n), signed=True) for n in dims]
    memory = TensorMemory(em.get(op.one("base")), tuple(values[:rank]), tuple(values[rank:]), I64)
    em.memory[op.result] = memory
    if em.version >= V13_3 and op.result in em.viewed:
        whole_view(em, op.result)
    return ()


def whole_view(em: TileEmitter, tensor: Value) -> Val:
    """Return the Tile IR view of a whole tensor, emitted on first use."""
    kind = tensor_view(tensor.tensor)
    assert kind is not None, f"{tensor.type} has no view"
    found = em.views.get((tensor, kind))
    if found is None:
        memory = em.memory[tensor]
        shape = [n for n in memory.extents if isinstance(n, Val)]
        strides = [n for n in memory.strides if isinstance(n, Val)]
        found = em.one("make_tensor_view", kind, memory.base, shape, strides)
        if em.version >= V13_3:
            em.views[tensor, kind] = found
    return found


def _make_view(em: TileEmitter, op: Op) -> Sequence[Val]:
    em.memory[op.result] = em.memory[op.one("tensor")]
    em.tensor_of[op.result] = op.one("tensor")
    if em.version >= V13_3:
        for kind in em.decisions.views_of(op.result):
            em.views[op.result, kind] = _view(em, op.result, kind)
    return ()


MAKERS: dict[type, str] = {PartitionView: "make_partition_view", StridedView: "make_strided_view"}


def _view(em: TileEmitter, value: Value, kind: PartitionView | StridedView) -> Val:
    """Emit a view; assemblers before 13.3 require it next to its use."""
    found = em.views.get((value, kind))
    if found is None:
        found = em.one(MAKERS[type(kind)], kind, whole_view(em, em.tensor_of[value]))
    return found


def _num_tiles(em: TileEmitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    value = op.one("view")
    view = value.view
    step = (view.step or view.tile)[axis]
    extents = view.frame or em.memory[value].extents
    extent = extents[view.dim_map[axis]]
    if isinstance(extent, int):
        return (em.index(ceil_div(extent, step)),)
    if step == 1:
        return (_as_index(em, extent),)
    kind = tile(extent)
    count = em.one(
        "divi",
        kind,
        extent,
        em.number(step, kind),
        signedness=Signedness.SIGNED,
        rounding=RoundingCode.POSITIVE_INF,
    )
    return (_as_index(em, count),)


# --- accesses ------------------------------------------------------------------------------------


def place_of(em: TileEmitter, op: Op) -> list[Val]:
    """Return the index of a tile among those of the whole tensor.

    Where a check has failed it is that of the first tile: the launch raises, and nothing outside
    is touched.
    """
    view = op.one("view").view
    guard = op.maybe("guard")
    found = [em.get(index) for index in op.all("index")]
    if guard is not None:
        first, ok = em.index(0), em.get(guard)
        found = [em.one("select", INDEX, ok, index, first) for index in found]
    if view.frame is None:
        return found
    return [_in_frame(em, view, k, op.all("index")[k], index) for k, index in enumerate(found)]


def _in_frame(em: TileEmitter, view: ViewType, k: int, given: Value, index: Val) -> Val:
    count = tiles_per_frame(view, k)
    block = em.block[view.dim_map[k]]
    first = block if count == 1 else em.same("muli", block, em.index(count))
    return first if em.constant_of(given) == 0 else em.same("addi", first, index)


def hints_of(em: TileEmitter, access: TileAccess) -> Hints | None:
    """Return the hints on one access."""
    found: dict[str, int | bool] = {}
    if access.allow_tma is not None:
        found["allow_tma"] = access.allow_tma
    if access.latency is not None:
        found["latency"] = access.latency
    return {em.target.arch: found} if found else None


def _load(em: TileEmitter, op: Op) -> Sequence[Val]:
    access = em.decisions.accesses[op]
    if access.view is None:
        return _load_elements(em, op, elements(em, op), hints_of(em, access))
    index = place_of(em, op)
    inside = em.whole is True and access.versioned
    if access.masked and (access.streamed or not inside):
        where = near_elements(em, op, index, inside=inside)
        loaded = _load_elements(em, op, where, hints_of(em, access))
        load = em.makers[loaded[0]]
        em.vectors[load] = access.vector
        if access.streamed and latency_asked(em.target.codegen_hints, op) is None:
            em.streamed.add(load)
        return loaded
    # An assembler takes two loads of one tile for one load, unless the second waits for the first.
    tile_read = (op.one("view"), *op.all("index"))
    before = em.token_of(op) or em.last_read(tile_read)
    whole = em.whole if access.versioned else None
    if access.whole_first and whole is None:
        loaded = _load_either(em, op, access.view, index, before)
    else:
        loaded = _load_tile(em, op, access.view, index, before, inside=bool(whole))
    em.note_read(tile_read, loaded[1])
    return loaded


def _load_elements(
    em: TileEmitter, op: Op, where: tuple[Val, Val | None], hints: Hints | None
) -> Sequence[Val]:
    kind = tile_of(op.results[0].type)
    pointers, mask = where
    padding = None
    if mask is not None:
        value = op.one("view").view.padding
        padding = em.number(0 if value is None else value, kind)
    return em.op(
        "load_ptr_tko", [kind, TOKEN], pointers, mask, padding, em.token_of(op),
        memory_ordering_semantics=MemoryOrdering.WEAK, optimization_hints=hints,
    )  # fmt: skip


def _load_tile(
    em: TileEmitter,
    op: Op,
    kind: PartitionView | StridedView,
    index: Sequence[Val],
    token: Val | None,
    *,
    inside: bool,
) -> tuple[Val, ...]:
    """Load a tile through a view; `inside` promises that all of it lies in the tensor."""
    value = op.one("view")
    if inside:
        bare = replace(kind, padding=None)
        view = em.one(MAKERS[type(bare)], bare, whole_view(em, em.tensor_of[value]))
    else:
        view = _view(em, value, kind)
    return em.op(
        "load_view_tko", [tile_of(op.results[0].type), TOKEN], view, index, token,
        memory_ordering_semantics=MemoryOrdering.WEAK,
        optimization_hints=hints_of(em, em.decisions.accesses[op]),
        inbounds=(1,) * len(index) if inside else None,
    )  # fmt: skip


def _load_either(
    em: TileEmitter,
    op: Op,
    kind: PartitionView | StridedView,
    index: Sequence[Val],
    token: Val | None,
) -> tuple[Val, ...]:
    """Emit a load with one bounds test for the tile; pad it only if it is not full."""
    ways = (
        lambda: _load_tile(em, op, kind, index, token, inside=True),
        lambda: _load_tile(em, op, kind, index, token, inside=False),
    )
    return em.either(_is_whole(em, em.memory[op.one("view")], kind, index), ways)


def is_below(em: TileEmitter, memory: TensorMemory, axis: int, length: int, index: Val) -> Val:
    """Return whether a tile is full along an axis: its index is below the number of full tiles.

    Compared as unsigned, so that a negative index is not.
    """
    extent = memory.extents[axis]
    if isinstance(extent, int):
        whole = em.number(min(extent // length, MOST), tile(index))
        return em.compare(ComparisonCode.LESS_THAN, index, whole, signed=False)
    if tile(extent).elem == I64:
        index = em.widened(index)
    size = em.number(length, tile(extent))
    whole = em.same("divi", extent, size, signedness=Signedness.SIGNED, rounding=RoundingCode.ZERO)
    whole = em.widened(whole, tile(index).scalar)
    return em.compare(ComparisonCode.LESS_THAN, index, whole, signed=False)


def _is_whole(
    em: TileEmitter, memory: TensorMemory, kind: PartitionView | StridedView, index: Sequence[Val]
) -> Val:
    """Return whether a tile is full along all axes."""
    answer: Val | None = None
    for axis, length, at in zip(kind.dim_map, kind.tile, index, strict=True):
        answer = both(em, answer, is_below(em, memory, axis, length, at))
    assert answer is not None, "a view has an axis"
    return answer


def _store(em: TileEmitter, op: Op) -> Sequence[Val]:
    access, token = em.decisions.accesses[op], em.token_of(op)
    value, hints = em.get(op.one("value")), hints_of(em, access)
    if access.view is None:
        pointers, mask = elements(em, op)
        return em.op(
            "store_ptr_tko", [TOKEN], pointers, value, mask, token,
            memory_ordering_semantics=MemoryOrdering.WEAK, optimization_hints=hints,
        )  # fmt: skip
    guard = op.maybe("guard")
    view = _view(em, op.one("view"), access.view)
    index = place_of(em, op)
    inside = access.versioned and em.whole is True

    def store() -> Sequence[Val]:
        return em.op(
            "store_view_tko", [TOKEN], value, view, index, token,
            memory_ordering_semantics=MemoryOrdering.WEAK, optimization_hints=hints,
            inbounds=(1,) * len(index) if inside else None,
        )  # fmt: skip

    return store() if guard is None else em.only_if(em.get(guard), token, store)


def _atomic_red(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Emit a reduction into memory in which adjacent threads have adjacent elements.

    tileiras 13.4 gives a thread as many adjacent elements as 16 bytes hold, and adds them one by
    one, so that each instruction of a warp touches four times the cache lines that it could. It
    takes selected addresses for unrelated, and one element of a row for each thread.
    """
    pointers, mask = elements(em, op)
    value = em.get(op.one("value"))
    if mask is not None and tile(value).size > 1:
        base = em.spread(em.memory[op.one("view")].base, tile(value).shape)
        apart = em.one("select", pointers.kind, mask, pointers, base)
        pointers, value, mask = (_in_a_row(em, v) for v in (apart, value, mask))
    _, token = pointer_ops.combine(
        em, op, pointers, value, mask, em.token_of(op), op.one("value").tile.dtype
    )
    return (token,)


def _in_a_row(em: TileEmitter, value: Val) -> Val:
    kind = tile(value)
    return em.one("reshape", kind.shaped((kind.size,)), value)


def _without_token(rule: Rule, results: int) -> Rule:
    def plain(em: TileEmitter, op: Op) -> Sequence[Val]:
        return rule(em, op)[:results]

    return plain


ORDERED: dict[str, Rule] = {
    "load_view_tko": _load, "store_view_tko": _store, "atomic_red_view_tko": _atomic_red,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Tokens; the accesses with tokens are lowered with their plain variants.


def _make_token(em: TileEmitter, op: Op) -> Sequence[Val]:
    return (em.one("make_token", TOKEN),)


def _join_tokens(em: TileEmitter, op: Op) -> Sequence[Val]:
    tokens = em.all(op)
    return tokens if len(tokens) == 1 else (em.one("join_tokens", TOKEN, tokens),)


TOKEN_RULES: dict[str, Rule] = {
    "make_token": _make_token, "join_tokens": _join_tokens,
    **ORDERED, **pointer_ops.POINTER_ORDERED, **pointer_ops.ATOMICS_ORDERED,
}  # fmt: skip

RULES: dict[str, Rule] = {
    "extent": _extent,
    "make_tensor": _make_tensor,
    "make_view": _make_view,
    "num_tiles": _num_tiles,
    "load_view": _without_token(_load, 1),
    "store_view": _without_token(_store, 0),
    "atomic_red_view": _without_token(_atomic_red, 0),
    **reports.CHECKS,
    **TOKEN_RULES,
}
