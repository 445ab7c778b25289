"""Tensors, views of them, and tile accesses with their checks."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i32
from ..attrs import AtomicMode, Ordering, Scope
from ..opdef import Effect, declare
from ..types import I1, I32, TensorType, TileType, Type, ViewType
from .rules import Attrs, combines, need, number, pointer, scalar, tensor, tile, view


def _extent(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(0 <= attrs["axis"] < tensor(types[0]).rank, f"{types[0]} has no axis {attrs['axis']}")
    return (I32,)


def _make_tensor(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    base = pointer(types[0])
    shape, strides = attrs["shape"], attrs["strides"]
    need(len(shape) == len(strides), "one stride per extent")
    dynamic = sum(n is None for n in (*shape, *strides))
    need(len(types) - 1 == dynamic, f"{dynamic} dynamic extents and strides needed")
    for t in types:
        need(tile(t).rank == 0, f"expected a scalar, got {t}")
    for t in types[1:]:
        need(number(t).dtype.is_int, f"expected an integer, got {t}")
    return (TensorType(base.to, shape, strides, attrs["mutable"]),)


def _make_view(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    source, names = tensor(types[0]), ("tile", "dim_map", "padding", "step", "frame", "sparse")
    result = ViewType(source, **{name: attrs[name] for name in names})
    need(result.rank == source.rank, f"{result} has not the rank of {source}")
    need(sorted(result.dim_map) == list(range(result.rank)), f"{result.dim_map}: no permutation")
    for part in (result.step, result.frame):
        need(part is None or len(part) == result.rank, f"{part} is not of rank {result.rank}")
    need(result.sparse in (None, *range(result.rank)), f"{result} has no axis {result.sparse}")
    return (result,)


def _num_tiles(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(0 <= attrs["axis"] < view(types[0]).rank, f"{types[0]} has no axis {attrs['axis']}")
    return (I32,)


def _check(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    scalar(types[1], i32)
    return (I1,)


def _indices(v: ViewType, types: Sequence[Type]) -> None:
    """Indices, then perhaps a guard."""
    need(len(types) in (v.rank, v.rank + 1), f"{v} takes {v.rank} indices")
    for k, t in enumerate(types[: v.rank]):
        rows = TileType(i32, (v.tile[k],)) if k == v.sparse else I32
        need(t == rows, f"index {k} of {v}: expected {rows}, got {t}")
    for t in types[v.rank :]:
        scalar(t, bool_)


def _load(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    v = view(types[0])
    _indices(v, types[1:])
    return (v.loaded,)


def _store(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    value, v = tile(types[0]), view(types[1])
    need(v.tensor.mutable, f"{v} is read only")
    need(value == v.loaded, f"expected {v.loaded}, got {value}")
    _indices(v, types[2:])
    return ()


def _red(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    combines(attrs["mode"], number(types[0]).dtype)
    return _store(types, attrs)


ACCESS = {"latency": None, "allow_tma": None}

OPS = (
    declare("extent", "tile", "tensor", _extent, "The tensor's size along `axis`.",
            attrs={"axis": 0}),
    declare("make_tensor", "tile", "base dims*", _make_tensor,
            "A tensor at a raw pointer; dims are the extents, then the strides, that are None in"
            " `shape` and `strides`.", attrs={"shape": (), "strides": (), "mutable": False}),
    declare("make_view", "tile", "tensor", _make_view, "The tensor cut into tiles (see ViewType).",
            attrs={"tile": (), "dim_map": (), "padding": 0, "step": None, "frame": None,
                   "sparse": None}),
    declare("num_tiles", "tile", "view", _num_tiles,
            "How many tiles the view has along tile axis `axis`: ceil(extent / step), or of the"
            " frame where it has one.", attrs={"axis": 0}),
    declare("check", "tile", "index extent", _check,
            "Whether 0 <= index < extent; if not, the launch's error record says so. One for"
            " all iterations of a loop is `hoisted`. The index counts tiles, or `elements`.",
            attrs={"tensor": "", "axis": 0, "hoisted": False, "elements": False},
            effects=Effect.CHECK),
    declare("load_view", "tile", "view index* guard?", _load,
            "The tile at index; the view's padding outside the tensor, everywhere if not guard.",
            attrs=ACCESS, effects=Effect.READ),
    declare("store_view", "tile", "value view index* guard?", _store,
            "Writes the part inside the tensor; nothing if not guard.",
            attrs=ACCESS, effects=Effect.WRITE),
    declare("atomic_red_view", "tile", "value view index* guard?", _red,
            "Combines atomically into the part inside the tensor.",
            attrs={"mode": AtomicMode.ADD, "ordering": Ordering.RELAXED, "scope": Scope.DEVICE},
            effects=Effect.READ | Effect.WRITE),
)  # fmt: skip
