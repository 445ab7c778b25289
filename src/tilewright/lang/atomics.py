"""Atomic read-modify-write, in unsafe code only. Each element is atomic on its own, in no order.

and, or, xor, max, min take 32- and 64-bit integers, add those and f16, bf16, f32, f64, exchange
and compare-and-swap any 32- or 64-bit number. The default order is "acq_rel", the default scope
the device.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ..base.dtypes import bool_
from .enums import AtomicMode, Ordering
from .marker import declared
from .pointer import PointerTile, ScopeLike
from .tensor import IndexLike, PartitionMut
from .tile import E, Number, Tile

AtomicOrdering: TypeAlias = Ordering | Literal["relaxed", "acquire", "release", "acq_rel"]
ModeLike: TypeAlias = AtomicMode | Literal["add", "and", "or", "xor", "max", "min", "xchg"]
Mask: TypeAlias = "Tile[bool_] | bool | None"


@declared
def atomic_rmw(
    pointers: PointerTile[E],
    value: Number,
    mode: ModeLike,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Combine `value` into memory where `mask`; return the old values (0 elsewhere)."""
    ...


@declared
def atomic_rmw_tko(
    pointers: PointerTile[E],
    value: Number,
    mode: ModeLike,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Combine into memory; the same as `atomic_rmw`: the compiler inserts tokens."""
    ...


@declared
def atomic_cas(
    pointers: PointerTile[E],
    compare: Number,
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Store `value` where memory equals `compare` bit for bit; return the old values."""
    ...


@declared
def atomic_cas_tko(
    pointers: PointerTile[E],
    compare: Number,
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Compare and swap; the same as `atomic_cas`: the compiler inserts tokens."""
    ...


@declared
def atomic_add(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Add to memory; return the old values."""
    ...


@declared
def atomic_max(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Store the maximum in memory; return the old values."""
    ...


@declared
def atomic_min(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Store the minimum in memory; return the old values."""
    ...


@declared
def atomic_and(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Clear bits in memory; return the old values."""
    ...


@declared
def atomic_or(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Set bits in memory; return the old values."""
    ...


@declared
def atomic_xor(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Flip bits in memory; return the old values."""
    ...


@declared
def atomic_xchg(
    pointers: PointerTile[E],
    value: Number,
    mask: Mask = None,
    *,
    ordering: AtomicOrdering = "acq_rel",
    scope: ScopeLike = "device",
) -> Tile[E]:
    """Replace memory; return the old values."""
    ...


@declared
def atomic_red_view(
    view: PartitionMut[Any],
    index: IndexLike,
    tile: Tile[Any],
    mode: ModeLike = "add",
    *,
    scope: ScopeLike = "device",
) -> None:
    """Combine a tile into memory through a view, in relaxed order; every mode except "xchg"."""
    ...


@declared
def atomic_red_view_tko(
    view: PartitionMut[Any],
    index: IndexLike,
    tile: Tile[Any],
    mode: ModeLike = "add",
    *,
    scope: ScopeLike = "device",
) -> None:
    """Combine a tile into memory; the same as `atomic_red_view`."""
    ...
