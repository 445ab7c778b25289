"""Memory that the threads of a block share, and the barrier at which they all meet.

Indices are row major, one for each axis. That they lie inside, and that no two threads meet at an
element without a barrier between them, is the kernel's own promise.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import i32
from ..attrs import AtomicMode
from ..opdef import Effect, declare
from ..types import DYNAMIC, I32, SharedType, TileType, Type
from .atomics import ATOMIC, BOTH
from .rules import Attrs, combines, need, none, scalar


def _memory(t: Type) -> SharedType:
    need(isinstance(t, SharedType), f"expected shared memory, got {t}")
    assert isinstance(t, SharedType)
    return t


def _shared(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    shape = attrs["shape"]
    need(bool(shape) and all(n > 0 for n in shape), f"no shared memory of shape {shape}")
    need(attrs["number"] >= 0, f"no array has the number {attrs['number']}")
    return (SharedType(attrs["dtype"], shape, attrs["number"]),)


def _dynamic(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], i32)
    return (SharedType(attrs["dtype"], (None,), DYNAMIC),)


def _length(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(_memory(types[0]).number == DYNAMIC, f"the length of {types[0]} is known")
    return (I32,)


def _element(memory: Type, values: Sequence[Type], indices: Sequence[Type]) -> TileType:
    """The type of an element; refuses values of another, and indices that do not fit."""
    kind = _memory(memory)
    element = TileType(kind.dtype)
    need(len(indices) == kind.rank, f"{len(indices)} indices of {kind}")
    for t in indices:
        scalar(t, i32)
    for t in values:
        need(t == element, f"{t} does not fit {kind}")
    return element


def _load(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (_element(types[0], (), types[1:]),)


def _store(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _element(types[1], types[:1], types[2:])
    return ()


def _rmw(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    element = _element(types[0], types[1:2], types[2:])
    combines(attrs["mode"], element.dtype)
    return (element,)


def _cas(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (_element(types[0], types[1:3], types[3:]),)


OPS = (
    declare("shared", "simt", "", _shared,
            "An array of the block's own memory; nothing is in it before it is written.",
            attrs={"number": 0, "dtype": None, "shape": ()}),
    declare("dynamic_shared", "simt", "offset", _dynamic,
            "The memory that the launch asked for, from so many bytes on.", attrs={"dtype": None}),
    declare("shared_length", "simt", "memory", _length,
            "How many elements the memory that the launch asked for has from its offset on."),
    declare("load_shared", "simt", "memory index*", _load, "The element at an index, which is"
            " inside.", effects=Effect.READ),
    declare("store_shared", "simt", "value memory index*", _store,
            "Writes the element at an index, which is inside.", effects=Effect.WRITE),
    declare("atomic_shared", "simt", "memory value index*", _rmw,
            "Combines `value` into the element at an index; gives the old value.",
            attrs={"mode": AtomicMode.ADD} | ATOMIC, effects=BOTH),
    declare("cas_shared", "simt", "memory compare value index*", _cas,
            "Stores `value` if the element equals `compare` bit for bit; gives the old value.",
            attrs=ATOMIC, effects=BOTH),
    declare("sync_threads", "simt", "", none,
            "All threads of the block get here; what they did to memory before is seen after.",
            effects=BOTH | Effect.SYNC),
)  # fmt: skip
