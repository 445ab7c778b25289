"""Tensors, views, accesses of tiles through views or by element addresses, and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....base.dtypes import i32, int_range
from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ....ir.types import ViewType
from ..accesses import TileAccess, latency_asked, tensor_view, tiles_per_frame
from ..bytecode.enums import V13_3, ComparisonCode, MemoryOrdering, RoundingCode, Signedness
from ..bytecode.program import Hints, Val
from ..bytecode.types import I32, I64, INDEX, TOKEN, PartitionView, StridedView, tile_of
from . import pointers as pointer_ops
from . import reports
from .addresses import MOST, apart, both, elements, near_elements
from .emitter import Rule, TensorMemory, TileEmitter, tile

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
    if access.masked and not (inside and access.whole_as_tile):
        where = near_elements(em, op, index, inside=inside)
        if access.apart:
            where = apart(em, op, where)
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
    one, so that each instruction of a warp touches four times the cache lines that it could.
    """
    pointers, mask = elements(em, op)
    value = em.get(op.one("value"))
    if mask is not None and tile(value).size > 1:
        single, _ = apart(em, op, (pointers, mask))
        pointers, value, mask = (_in_a_row(em, v) for v in (single, value, mask))
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
