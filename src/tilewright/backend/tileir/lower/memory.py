"""Tensors, views, and accesses of tiles: through views of Tile IR where `accesses` says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....base.dtypes import i32, int_range
from ....base.shapes import ceil_div
from ....ir.core import Op, Value
from ....ir.types import ViewType
from ..accesses import Access
from ..encoding.enums import Comparison, MemoryOrdering, Rounding, Signedness
from ..encoding.versions import V13_3
from ..program.core import Hints, Val
from ..program.types import I32, I64, INDEX, TOKEN, PartitionView, StridedView, tile_of  # fmt: skip
from ..views import tensor_view, tiles_per_frame
from . import atomics, debug
from .access import elements, near_elements
from .emitter import Emitter, Memory, Rule, tile

MOST = int_range(i32)[1]


# --- tensors -------------------------------------------------------------------------------------


def _extent(em: Emitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (_as_index(em, em.memory[op.one("tensor")].extents[axis]),)


def _as_index(em: Emitter, value: Val | int) -> Val:
    """An extent as a 32-bit index; one that does not fit wraps, as everywhere."""
    if isinstance(value, int):
        low, high = int_range(i32)
        return em.index((value - low) % (high - low + 1) + low)
    return value if tile(value).elem == I32 else em.one("trunci", INDEX, value)


def _make_tensor(em: Emitter, op: Op) -> Sequence[Val]:
    rank = len(op.attrs["shape"])
    given = iter(op.all("dims"))
    dims = [next(given) if n is None else n for n in (*op.attrs["shape"], *op.attrs["strides"])]
    values = [n if isinstance(n, int) else em.widened(em.get(n), signed=True) for n in dims]
    memory = Memory(em.get(op.one("base")), tuple(values[:rank]), tuple(values[rank:]), I64)
    em.memory[op.result] = memory
    if em.version >= V13_3 and op.result in em.viewed:
        whole_view(em, op.result)
    return ()


def whole_view(em: Emitter, tensor: Value) -> Val:
    """The Tile IR view of a whole tensor, made now unless it is there."""
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


def _make_view(em: Emitter, op: Op) -> Sequence[Val]:
    em.memory[op.result] = em.memory[op.one("tensor")]
    em.tensor_of[op.result] = op.one("tensor")
    if em.version >= V13_3:
        for kind in em.decisions.views_of(op.result):
            em.views[op.result, kind] = _view(em, op.result, kind)
    return ()


MAKERS: dict[type, str] = {PartitionView: "make_partition_view", StridedView: "make_strided_view"}


def _view(em: Emitter, value: Value, kind: PartitionView | StridedView) -> Val:
    """A view of Tile IR; assemblers before 13.3 want it made next to its use."""
    found = em.views.get((value, kind))
    if found is None:
        found = em.one(MAKERS[type(kind)], kind, whole_view(em, em.tensor_of[value]))
    return found


def _num_tiles(em: Emitter, op: Op) -> Sequence[Val]:
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
        rounding=Rounding.POSITIVE_INF,
    )
    return (_as_index(em, count),)


# --- accesses ------------------------------------------------------------------------------------


def place_of(em: Emitter, op: Op) -> list[Val]:
    """The index of a tile among those of the whole tensor.

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


def _in_frame(em: Emitter, view: ViewType, k: int, given: Value, index: Val) -> Val:
    count = tiles_per_frame(view, k)
    block = em.block[view.dim_map[k]]
    first = block if count == 1 else em.same("muli", block, em.index(count))
    return first if em.constant_of(given) == 0 else em.same("addi", first, index)


def hints_of(em: Emitter, access: Access) -> Hints | None:
    """The hints on one access."""
    found: dict[str, int | bool] = {}
    if access.allow_tma is not None:
        found["allow_tma"] = access.allow_tma
    if access.latency is not None:
        found["latency"] = access.latency
    return {em.target.arch: found} if found else None


def _load(em: Emitter, op: Op) -> Sequence[Val]:
    access = em.decisions.accesses[op]
    if access.view is None:
        return _load_elements(em, op, elements(em, op), hints_of(em, access))
    index = place_of(em, op)
    if access.masked:
        return _load_elements(em, op, near_elements(em, op, index), hints_of(em, access))
    # An assembler takes two loads of one tile for one load, unless the second waits for the first.
    tile_read = (op.one("view"), *op.all("index"))
    before = em.token_of(op) or em.last_read(tile_read)
    whole = em.whole if access.whole_first else False
    if whole is None:
        loaded = _load_either(em, op, access.view, index, before)
    else:
        loaded = _load_tile(em, op, access.view, index, before, inside=whole)
    em.note_read(tile_read, loaded[1])
    return loaded


def _load_elements(
    em: Emitter, op: Op, where: tuple[Val, Val | None], hints: Hints | None
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
    em: Emitter,
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
    em: Emitter,
    op: Op,
    kind: PartitionView | StridedView,
    index: Sequence[Val],
    token: Val | None,
) -> tuple[Val, ...]:
    """A load that asks once whether the tile lies inside, and pads it only if it does not."""
    ways = (
        lambda: _load_tile(em, op, kind, index, token, inside=True),
        lambda: _load_tile(em, op, kind, index, token, inside=False),
    )
    return em.either(is_whole(em, em.memory[op.one("view")], kind, index), ways)


def is_whole(
    em: Emitter, memory: Memory, kind: PartitionView | StridedView, index: Sequence[Val]
) -> Val:
    """Whether a tile lies inside: its index is less than the number of whole tiles, on every axis.

    Compared as unsigned, so that a negative index is not.
    """
    extents = memory.extents
    answer: Val | None = None
    for k, number in enumerate(index):
        extent, step = extents[kind.dim_map[k]], kind.tile[k]
        if isinstance(extent, int):
            below = em.compare(
                Comparison.LESS_THAN, number, em.index(min(extent // step, MOST)), signed=False
            )
        else:
            same = em.widened(number) if tile(extent).elem == I64 else number
            size = em.number(step, tile(extent))
            whole = em.one(
                "divi",
                extent.kind,
                extent,
                size,
                signedness=Signedness.SIGNED,
                rounding=Rounding.ZERO,
            )
            below = em.compare(Comparison.LESS_THAN, same, whole, signed=False)
        answer = below if answer is None else em.same("andi", answer, below)
    assert answer is not None, "a view has an axis"
    return answer


def _store(em: Emitter, op: Op) -> Sequence[Val]:
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
    inside = access.whole_first and em.whole is True

    def store() -> Sequence[Val]:
        return em.op(
            "store_view_tko", [TOKEN], value, view, index, token,
            memory_ordering_semantics=MemoryOrdering.WEAK, optimization_hints=hints,
            inbounds=(1,) * len(index) if inside else None,
        )  # fmt: skip

    return store() if guard is None else em.only_if(em.get(guard), token, store)


def _atomic_red(em: Emitter, op: Op) -> Sequence[Val]:
    pointers, mask = elements(em, op)
    value = em.get(op.one("value"))
    _, token = atomics.combine(
        em, op, pointers, value, mask, em.token_of(op), op.one("value").tile.dtype
    )
    return (token,)


def _without_token(rule: Rule, results: int) -> Rule:
    def plain(em: Emitter, op: Op) -> Sequence[Val]:
        return rule(em, op)[:results]

    return plain


RULES: dict[str, Rule] = {
    "extent": _extent, "make_tensor": _make_tensor, "make_view": _make_view,
    "num_tiles": _num_tiles,
    "load_view": _without_token(_load, 1), "store_view": _without_token(_store, 0),
    "atomic_red_view": _without_token(_atomic_red, 0),
    **debug.CHECK,
}  # fmt: skip
ORDERED: dict[str, Rule] = {
    "load_view_tko": _load, "store_view_tko": _store, "atomic_red_view_tko": _atomic_red,
}  # fmt: skip
