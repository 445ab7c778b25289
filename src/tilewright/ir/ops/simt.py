"""SIMT kernels: threads, slices, shared memory, warps, inline PTX."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i32, u32
from ..attrs import WARP_SIZE, AtomicMode, ShuffleMode, ThreadCoordinate, VoteMode
from ..opdef import Attrs, Effect, Trait, combines, declare, need, none, number, scalar, tensor
from ..types import DYNAMIC, I1, I32, PtrType, SharedType, TensorType, TileType, Type
from .memory import ATOMIC, BOTH, CHECK

THREAD = Trait.OF_THREAD

# -------------------------------------------------------------------------------------------------
# Position of a thread of a SIMT kernel. Axes are x, y and z, as in launch configurations.


def _index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (I32,)


def _index_2d(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    return (I32,)


def _thread_place(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    axes = 1 if attrs["what"] in (ThreadCoordinate.LANE, ThreadCoordinate.WARP) else 3
    need(attrs["axis"] in range(axes), "no axis {}", attrs["axis"])
    return (I32,)


INDEX_1D = declare(
    "index_1d",
    "simt",
    "",
    _index,
    "This thread's number along x; the largest i32, which is beyond every slice, where the"
    " launch has threads along y or z.",
    traits=THREAD | Trait.REMATERIALIZABLE,
)
INDEX_2D = declare(
    "index_2d",
    "simt",
    "width",
    _index_2d,
    "row * width + column, of the thread's place along y and x; the largest i32 where the"
    " column is not below width, the launch has threads along z, or it would not fit.",
    traits=THREAD | Trait.REMATERIALIZABLE,
)
PLACE = declare(
    "place",
    "simt",
    "",
    _thread_place,
    "A plain number along `axis`: of the thread in its block, of the block, or a size; or"
    " of the lane in its warp, or of the warp.",
    attrs={"what": ThreadCoordinate.THREAD, "axis": 0},
    traits=THREAD | Trait.REMATERIALIZABLE,
)

THREADS_OPS = (INDEX_1D, INDEX_2D, PLACE)


# -------------------------------------------------------------------------------------------------
# Slices: the elements of a contiguous tensor in a row, read and written one at a time.


def _slice(t: Type) -> TensorType:
    result = tensor(t)
    need(result.rank == 1 and result.strides == (1,), "{} is not a slice", t)
    return result


def _slice_length(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _slice(types[0])
    return (I32,)


def _check(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    scalar(types[1], i32)
    return (I1,)


def _element_place(types: Sequence[Type]) -> None:
    """Check that the operands are an index and at most one guard."""
    scalar(types[0], i32)
    for t in types[1:]:
        scalar(t, bool_)


def _load_element(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _element_place(types[1:])
    return (TileType(_slice(types[0]).dtype),)


def _store_element(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    target = _slice(types[1])
    need(target.mutable, "{} is read only", target)
    need(types[0] == TileType(target.dtype), "{} does not fit {}", types[0], target)
    _element_place(types[2:])
    return ()


def _pointer(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    target = _slice(types[0])
    need(target.mutable, "{} is read only", target)
    scalar(types[1], i32)
    return (TileType(PtrType(target.dtype)),)


LENGTH = declare(
    "length",
    "simt",
    "slice",
    _slice_length,
    "How many elements a slice has.",
    traits=THREAD | Trait.REMATERIALIZABLE,
)
CHECK_INDEX = declare(
    "check_index",
    "simt",
    "index length",
    _check,
    "Whether 0 <= index < length; if not, the launch's error record says so.",
    attrs={"slice": "", "hoisted": False},
    effects=Effect.CHECK,
    traits=THREAD,
)
LOAD_SLICE = declare(
    "load_slice",
    "simt",
    "slice index guard?",
    _load_element,
    "The element at index, which is inside; zero if not guard.",
    effects=Effect.READ,
    traits=THREAD,
)
STORE_SLICE = declare(
    "store_slice",
    "simt",
    "value slice index guard?",
    _store_element,
    "Writes the element at index, which is inside; nothing if not guard.",
    effects=Effect.WRITE,
    traits=THREAD,
)
SLICE_POINTER = declare(
    "slice_pointer",
    "simt",
    "slice index",
    _pointer,
    "The address of the element at index; no element is there where it is outside.",
    traits=THREAD,
)

SLICES_OPS = (LENGTH, CHECK_INDEX, LOAD_SLICE, STORE_SLICE, SLICE_POINTER)


# -------------------------------------------------------------------------------------------------
# Shared memory of a block, and its barrier.
#
# Indices are row-major, one for each axis. The kernel promises that they are in bounds, and that
# two threads access one element only with a barrier between them.


def _memory(t: Type) -> SharedType:
    need(isinstance(t, SharedType), f"expected shared memory, got {t}")
    assert isinstance(t, SharedType)
    return t


def _shared(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    shape = attrs["shape"]
    need(bool(shape) and all(n > 0 for n in shape), "no shared memory of shape {}", shape)
    need(attrs["number"] >= 0, "no array has the number {}", attrs["number"])
    return (SharedType(attrs["dtype"], shape, attrs["number"]),)


def _dynamic(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    return (SharedType(attrs["dtype"], (None,), DYNAMIC),)


def _shared_length(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(_memory(types[0]).number == DYNAMIC, "the length of {} is known", types[0])
    return (I32,)


def _element(memory: Type, values: Sequence[Type], indices: Sequence[Type]) -> TileType:
    """Return the type of an element; rejects values of another, and indices that do not fit."""
    kind = _memory(memory)
    element = TileType(kind.dtype)
    need(len(indices) == kind.rank, "{} indices of {}", len(indices), kind)
    for t in indices:
        scalar(t, i32)
    for t in values:
        need(t == element, "{} does not fit {}", t, kind)
    return element


def _load_shared(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (_element(types[0], (), types[1:]),)


def _store_shared(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _element(types[1], types[:1], types[2:])
    return ()


def _rmw(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    element = _element(types[0], types[1:2], types[2:])
    combines(attrs["mode"], element.dtype)
    return (element,)


def _cas(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (_element(types[0], types[1:3], types[3:]),)


SHARED = declare(
    "shared",
    "simt",
    "",
    _shared,
    "An array in the shared memory of the block, at first uninitialized.",
    attrs={"number": 0, "dtype": None, "shape": ()},
    traits=THREAD | Trait.REMATERIALIZABLE,
)
DYNAMIC_SHARED = declare(
    "dynamic_shared",
    "simt",
    "offset",
    _dynamic,
    "The dynamic shared memory of the launch, from a byte offset on.",
    attrs={"dtype": None},
    traits=THREAD | Trait.REMATERIALIZABLE,
)
SHARED_LENGTH = declare(
    "shared_length",
    "simt",
    "memory",
    _shared_length,
    "The number of elements of the dynamic shared memory from its offset on.",
    traits=THREAD | Trait.REMATERIALIZABLE,
)
LOAD_SHARED = declare(
    "load_shared",
    "simt",
    "memory index*",
    _load_shared,
    "The element at an index, which is inside.",
    effects=Effect.READ,
    traits=THREAD,
)
STORE_SHARED = declare(
    "store_shared",
    "simt",
    "value memory index*",
    _store_shared,
    "Writes the element at an index, which is inside.",
    effects=Effect.WRITE,
    traits=THREAD,
)
ATOMIC_SHARED = declare(
    "atomic_shared",
    "simt",
    "memory value index*",
    _rmw,
    "Combines `value` into the element at an index; the result is the old value.",
    attrs={"mode": AtomicMode.ADD} | ATOMIC,
    effects=BOTH,
    traits=THREAD | Trait.ATOMIC,
)
CAS_SHARED = declare(
    "cas_shared",
    "simt",
    "memory compare value index*",
    _cas,
    "Stores `value` if the element equals `compare` bit for bit; the result is the old value.",
    attrs=ATOMIC,
    effects=BOTH,
    traits=THREAD | Trait.ATOMIC,
)
SYNC_THREADS = declare(
    "sync_threads",
    "simt",
    "",
    none,
    "A barrier of the block; earlier accesses to memory are visible after it.",
    effects=BOTH | Effect.SYNC,
    traits=THREAD,
)

SHARED_OPS = (
    SHARED,
    DYNAMIC_SHARED,
    SHARED_LENGTH,
    LOAD_SHARED,
    STORE_SHARED,
    ATOMIC_SHARED,
    CAS_SHARED,
    SYNC_THREADS,
)


# -------------------------------------------------------------------------------------------------
# Warp ops: shuffles, votes and matches of 32 adjacent threads of a block, x fastest.
#
# The lanes that reach the op together participate: all lanes of the warp that have not returned, or
# those of `mask`. The value of a lane that does not participate is unspecified.

LANES = TileType(u32)


def _mask(types: Sequence[Type]) -> None:
    for t in types:
        scalar(t, u32)


def _value(t: Type) -> TileType:
    kind = number(t)
    need(kind.rank == 0, "expected a scalar, got {}", t)
    return kind


def _sync(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _mask(types)
    return ()


def _shuffle(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[1], i32)
    _mask(types[2:])
    width = attrs["width"]
    need(width in (1, 2, 4, 8, 16, WARP_SIZE), "no segments of {} lanes", width)
    return (_value(types[0]),)


def _vote(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], bool_)
    _mask(types[1:])
    return (I1,)


def _ballot(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _vote(types, attrs)
    return (LANES,)


def _match(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _value(types[0])
    _mask(types[1:])
    return (LANES,)


SYNC_WARP = declare(
    "sync_warp",
    "simt",
    "mask?",
    _sync,
    "A barrier of the lanes; earlier accesses to memory are visible after it.",
    effects=BOTH | Effect.SYNC,
    traits=THREAD,
)
SHUFFLE = declare(
    "shuffle",
    "simt",
    "value lane mask?",
    _shuffle,
    "The value of another lane among `width` neighbours: lane number `lane` (idx), as many"
    " below or above (its own where none is), or the own number with bits flipped (xor).",
    attrs={"mode": ShuffleMode.IDX, "width": WARP_SIZE},
    effects=Effect.SYNC,
    traits=THREAD | Trait.WARP,
)
VOTE = declare(
    "vote",
    "simt",
    "cond mask?",
    _vote,
    "Whether it holds for all lanes, or for any.",
    attrs={"mode": VoteMode.ALL},
    effects=Effect.SYNC,
    traits=THREAD | Trait.WARP,
)
BALLOT = declare(
    "ballot",
    "simt",
    "cond mask?",
    _ballot,
    "A bit for each lane for which it holds.",
    effects=Effect.SYNC,
    traits=THREAD | Trait.WARP,
)
MATCH = declare(
    "match",
    "simt",
    "value mask?",
    _match,
    "A bit for each lane whose value has the same bits.",
    effects=Effect.SYNC,
    traits=THREAD | Trait.WARP,
)

WARPS_OPS = (SYNC_WARP, SHUFFLE, VOTE, BALLOT, MATCH)


# -------------------------------------------------------------------------------------------------
# Inline PTX.


def _inline(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    for t in types:
        need(number(t).rank == 0, "expected a scalar, got {}", t)
    return tuple(TileType(dtype) for dtype in attrs["dtypes"])


INLINE_PTX = declare(
    "inline_ptx",
    "simt",
    "value*",
    _inline,
    "Runs PTX text, in which $0, $1, ... are first the results, then the operands.",
    attrs={"text": "", "dtypes": ()},
    effects=BOTH,
    traits=THREAD,
)

ASSEMBLY_OPS = (INLINE_PTX,)


OPS = (*THREADS_OPS, *SLICES_OPS, *SHARED_OPS, *WARPS_OPS, *ASSEMBLY_OPS)
"""All ops of the family."""

CHECKS = (CHECK, CHECK_INDEX)
"""Ops that compare an index with what it must be below: of a tile, of an element of a slice."""
