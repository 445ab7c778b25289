"""Memory: tensors, views and tiles of them, raw pointers, atomics, tokens."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i32, i64
from ..attrs import AtomicMode, Ordering, Scope
from ..opdef import (
    Attrs,
    Effect,
    OpDef,
    Operand,
    Trait,
    combines,
    declare,
    need,
    number,
    pointer,
    scalar,
    tensor,
    tile,
    view,
)
from ..types import I1, I32, TOKEN, PtrType, TensorType, TileType, Type, ViewType

# -------------------------------------------------------------------------------------------------
# Tensors, views of them, and tile accesses with their checks.


def _extent(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(0 <= attrs["axis"] < tensor(types[0]).rank, "{} has no axis {}", types[0], attrs["axis"])
    return (I32,)


def _make_tensor(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    base = pointer(types[0])
    shape, strides = attrs["shape"], attrs["strides"]
    need(len(shape) == len(strides), "one stride per extent")
    dynamic = sum(n is None for n in (*shape, *strides))
    need(len(types) - 1 == dynamic, "{} dynamic extents and strides needed", dynamic)
    for t in types:
        need(tile(t).rank == 0, "expected a scalar, got {}", t)
    for t in types[1:]:
        need(number(t).dtype.is_int, "expected an integer, got {}", t)
    return (TensorType(base.to, shape, strides, attrs["mutable"]),)


def _make_view(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    source, names = tensor(types[0]), ("tile", "dim_map", "padding", "step", "frame", "sparse")
    result = ViewType(source, **{name: attrs[name] for name in names})
    need(result.rank == source.rank, "{} has not the rank of {}", result, source)
    need(sorted(result.dim_map) == list(range(result.rank)), "{}: no permutation", result.dim_map)
    for part in (result.step, result.frame):
        need(part is None or len(part) == result.rank, "{} is not of rank {}", part, result.rank)
    need(result.sparse in (None, *range(result.rank)), "{} has no axis {}", result, result.sparse)
    return (result,)


def _num_tiles(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(0 <= attrs["axis"] < view(types[0]).rank, "{} has no axis {}", types[0], attrs["axis"])
    return (I32,)


def _check(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    scalar(types[1], i32)
    return (I1,)


def _indices(v: ViewType, types: Sequence[Type]) -> None:
    """Check that the operands are indices and at most one guard."""
    need(len(types) in (v.rank, v.rank + 1), "{} takes {} indices", v, v.rank)
    for k, t in enumerate(types[: v.rank]):
        rows = TileType(i32, (v.tile[k],)) if k == v.sparse else I32
        need(t == rows, "index {} of {}: expected {}, got {}", k, v, rows, t)
    for t in types[v.rank :]:
        scalar(t, bool_)


def _load(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    v = view(types[0])
    _indices(v, types[1:])
    return (v.loaded,)


def _store(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    value, v = tile(types[0]), view(types[1])
    need(v.tensor.mutable, "{} is read only", v)
    need(value == v.loaded, "expected {}, got {}", v.loaded, value)
    _indices(v, types[2:])
    return ()


def _red(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    combines(attrs["mode"], number(types[0]).dtype)
    return _store(types, attrs)


ACCESS = {"latency": None, "allow_tma": None}

EXTENT = declare(
    "extent", "tile", "tensor", _extent, "The tensor's size along `axis`.", attrs={"axis": 0}
)
MAKE_TENSOR = declare(
    "make_tensor",
    "tile",
    "base dims*",
    _make_tensor,
    "A tensor at a raw pointer; dims are the extents, then the strides, that are None in"
    " `shape` and `strides`.",
    attrs={"shape": (), "strides": (), "mutable": False},
)
MAKE_VIEW = declare(
    "make_view",
    "tile",
    "tensor",
    _make_view,
    "The tensor cut into tiles (see ViewType).",
    attrs={"tile": (), "dim_map": (), "padding": 0, "step": None, "frame": None, "sparse": None},
)
NUM_TILES = declare(
    "num_tiles",
    "tile",
    "view",
    _num_tiles,
    "How many tiles the view has along tile axis `axis`: ceil(extent / step), or of the"
    " frame where it has one.",
    attrs={"axis": 0},
)
CHECK = declare(
    "check",
    "tile",
    "index extent",
    _check,
    "Whether 0 <= index < extent; if not, the launch's error record says so. One for"
    " all iterations of a loop is `hoisted`. The index counts tiles, or `elements`.",
    attrs={"tensor": "", "axis": 0, "hoisted": False, "elements": False},
    effects=Effect.CHECK,
)
LOAD_VIEW = declare(
    "load_view",
    "tile",
    "view index* guard?",
    _load,
    "The tile at index; the view's padding outside the tensor, everywhere if not guard.",
    attrs=ACCESS,
    effects=Effect.READ,
)
STORE_VIEW = declare(
    "store_view",
    "tile",
    "value view index* guard?",
    _store,
    "Writes the part inside the tensor; nothing if not guard.",
    attrs=ACCESS,
    effects=Effect.WRITE,
)
ATOMIC_RED_VIEW = declare(
    "atomic_red_view",
    "tile",
    "value view index* guard?",
    _red,
    "Combines atomically into the part inside the tensor.",
    attrs={"mode": AtomicMode.ADD, "ordering": Ordering.RELAXED, "scope": Scope.DEVICE},
    effects=Effect.READ | Effect.WRITE,
    traits=Trait.ATOMIC,
)

MEMORY_OPS = (
    EXTENT,
    MAKE_TENSOR,
    MAKE_VIEW,
    NUM_TILES,
    CHECK,
    LOAD_VIEW,
    STORE_VIEW,
    ATOMIC_RED_VIEW,
)


# -------------------------------------------------------------------------------------------------
# Raw pointers: gather, scatter and address arithmetic, in unsafe entries only.

MEMORY = {"ordering": Ordering.WEAK, "scope": Scope.DEVICE, "latency": None}


def fits(pointers: Type, value: Type) -> TileType:
    """Reject a value of another type than the pointers' target; return its type."""
    expected = tile(pointers).with_elem(pointer(pointers).to)
    need(value == expected, "expected {}, got {}", expected, value)
    return expected


def mask(pointers: Type, t: Type) -> None:
    """Reject a mask that does not fit."""
    need(t == tile(pointers).with_elem(bool_), "mask {} does not fit {}", t, pointers)


def _offset(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    pointer(types[0])
    by = number(types[1])
    need(by.dtype.is_int and by.shape == tile(types[0]).shape, "offset {} of {}", by, types[0])
    return (types[0],)


def _load_pointer(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    result = tile(types[0]).with_elem(pointer(types[0]).to)
    for t in types[1:]:
        need(t in (result, result.with_elem(bool_)), "{} does not fit {}", t, types[0])
    return (result,)


def _store_pointer(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    fits(types[0], types[1])
    for t in types[2:]:
        mask(types[0], t)
    return ()


def _to_int(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    pointer(types[0])
    return (tile(types[0]).with_elem(i64),)


def _to_ptr(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(number(types[0]).dtype is i64, "expected i64, got {}", types[0])
    return (tile(types[0]).with_elem(PtrType(attrs["to"])),)


def _recast(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    pointer(types[0])
    return (tile(types[0]).with_elem(PtrType(attrs["to"])),)


OFFSET = declare(
    "offset",
    "core",
    "pointer by",
    _offset,
    "Moves each pointer by `by` elements.",
    traits=Trait.ELEMENTWISE | Trait.OF_THREAD,
)
LOAD_PTR = declare(
    "load_ptr",
    "core",
    "source mask? padding?",
    _load_pointer,
    "Reads where mask; elsewhere padding, or zero.",
    attrs=MEMORY,
    effects=Effect.READ,
    traits=Trait.OF_THREAD,
)
STORE_PTR = declare(
    "store_ptr",
    "core",
    "target value mask?",
    _store_pointer,
    "Writes where mask.",
    attrs=MEMORY,
    effects=Effect.WRITE,
    traits=Trait.OF_THREAD,
)
PTR_TO_INT = declare(
    "ptr_to_int",
    "core",
    "arg",
    _to_int,
    "Addresses as i64.",
    traits=Trait.ELEMENTWISE | Trait.OF_THREAD,
)
INT_TO_PTR = declare(
    "int_to_ptr",
    "core",
    "arg",
    _to_ptr,
    "i64 addresses as pointers.",
    attrs={"to": None},
    traits=Trait.ELEMENTWISE | Trait.OF_THREAD,
)
PTR_TO_PTR = declare(
    "ptr_to_ptr",
    "core",
    "arg",
    _recast,
    "Pointers to another element type.",
    attrs={"to": None},
    traits=Trait.ELEMENTWISE | Trait.OF_THREAD,
)

POINTER_OPS = (OFFSET, LOAD_PTR, STORE_PTR, PTR_TO_INT, INT_TO_PTR, PTR_TO_PTR)


# -------------------------------------------------------------------------------------------------
# Atomic read-modify-write through pointers; each element on its own, in no order.

ATOMIC = {"ordering": Ordering.ACQ_REL, "scope": Scope.DEVICE}


def _rmw(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    result = fits(types[0], types[1])
    combines(attrs["mode"], result.dtype)
    for t in types[2:]:
        mask(types[0], t)
    return (result,)


def _cas(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    result = fits(types[0], types[1])
    fits(types[0], types[2])
    for t in types[3:]:
        mask(types[0], t)
    return (result,)


BOTH = Effect.READ | Effect.WRITE

ATOMIC_RMW = declare(
    "atomic_rmw",
    "core",
    "target value mask?",
    _rmw,
    "Combines `value` into memory where mask; the results are the old values (zero elsewhere).",
    attrs={"mode": AtomicMode.ADD} | ATOMIC,
    effects=BOTH,
    traits=Trait.ATOMIC | Trait.OF_THREAD,
)
ATOMIC_CAS = declare(
    "atomic_cas",
    "core",
    "target compare value mask?",
    _cas,
    "Stores `value` where memory equals `compare` bit for bit; the results are the old values"
    " (`compare` where not mask).",
    attrs=ATOMIC,
    effects=BOTH,
    traits=Trait.ATOMIC | Trait.OF_THREAD,
)

ATOMICS_OPS = (ATOMIC_RMW, ATOMIC_CAS)


# -------------------------------------------------------------------------------------------------
# Memory tokens, as in Tile IR and LLVM's token type: explicit order between memory ops.
#
# Only `insert_tokens` makes these ops.


def _tokens(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(all(t == TOKEN for t in types), "expected tokens")
    return (TOKEN,)


def ordered(defn: OpDef) -> OpDef:
    """Return the variant of a memory op that takes a token last and returns one last."""

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        plain = tuple(t for t in types if t != TOKEN)
        need(len(types) - len(plain) <= 1, "at most one token")
        return (*defn.rule(plain, attrs), TOKEN)

    return OpDef(
        f"{defn.name}_tko", defn.dialect, (*defn.operands, Operand("token", "?")), defn.attrs,
        rule, f"{defn.doc} After `token`.", defn.effects,
        traits=defn.traits & ~Trait.OF_THREAD,
    )  # fmt: skip


PLAIN = tuple(
    op
    for op in (*MEMORY_OPS, *POINTER_OPS, *ATOMICS_OPS)
    if op.effects & (Effect.READ | Effect.WRITE)
)

MAKE_TOKEN = declare("make_token", "tile", "", _tokens, "A token of no earlier access.")
JOIN_TOKENS = declare(
    "join_tokens", "tile", "tokens*", _tokens, "A token that waits for all of these."
)

TOKEN_OPS = (
    MAKE_TOKEN,
    JOIN_TOKENS,
    *(ordered(op) for op in PLAIN),
)


OPS = (*MEMORY_OPS, *POINTER_OPS, *ATOMICS_OPS, *TOKEN_OPS)
"""All ops of the family."""
