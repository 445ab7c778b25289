"""Functions that load and store tiles, mapped outputs, and atomics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Literal, Self, TypeAlias

from ..base.dtypes import bool_
from .enums import AtomicMode, Ordering
from .marker import declared, only_in_kernels
from .pointer import PointerTile, ScopeLike
from .tensor import AnyTensor, AnyTensorMut, Dims, Index, IndexLike, Padding, PartitionMut, Tiled
from .tile import E, E_co, Number, Tile

# -------------------------------------------------------------------------------------------------
# Functions that load and store tiles; most loads and stores are methods.


@declared
def load_tile_like(
    src: AnyTensor[E] | AnyTensorMut[E], dst: AnyTensorMut[Any], *, padding: Padding = ...
) -> Tile[E]:
    """Load the tile of `src` at the position of this block's tile in the output `dst`.

    Both have the same extents, which is checked at launch; an edge tile has zeros beyond them. With
    `padding` written out their ranks alone are the same: elements outside of a shorter `src` are
    `padding`, and that `src` has a tile wherever `dst` has one is checked at launch.
    """
    ...


@declared
def load_tile_mut(out: AnyTensorMut[E], *, padding: Padding = 0) -> Tile[E]:
    """Load this block's tile of an output; the same as `out.load()`."""
    ...


@declared
def store_tile(out: AnyTensorMut[Any], tile: Number) -> None:
    """Store this block's tile of an output; the same as `out.store(tile)`."""
    ...


@declared
def num_tiles(partition: Tiled[Any], axis: int = 0) -> int:
    """Return the number of tiles of a partition along an axis."""
    ...


@declared
def get_tensor_shape(tensor: AnyTensor[Any] | AnyTensorMut[Any]) -> tuple[int, ...]:
    """Return the extents of a tensor, also of an output, whose `shape` is that of its tile."""
    ...


@declared
def get_index_space_shape(partition: Tiled[Any]) -> tuple[int, ...]:
    """Return the number of tiles along each axis of a partition; the same as `p.grid`."""
    ...


# -------------------------------------------------------------------------------------------------
# Mapped outputs: a block visits many tiles of them and stores at owned indices.

Span: TypeAlias = tuple[Index, Index]
"""Tiles along an axis: the first, and how many; -1 is all that are left."""


class PartitionIndex(tuple[int, ...]):
    """An index of a mapped output that belongs to this block: one tile number per axis.

    Only `iter_indices` and related methods yield one, so no two blocks have the same. It is a
    tuple, and its coordinates may be used freely; but a tile is stored at the index itself.
    """

    __slots__ = ()

    def __new__(cls, *_numbers: object) -> Self:
        """Reject: only the loops of a kernel make indices."""
        raise TypeError(only_in_kernels("tl.PartitionIndex"))

    def at(self, *numbers: Index) -> PartitionIndex:
        """Return the index with tile numbers for the owned axes, in their order."""
        ...


class AnyMappedPartitionMut(Tiled[E_co], Generic[E_co]):
    """A mapped output of any rank: what a helper function takes, whatever its dims."""

    def iter_indices(self) -> Iterable[PartitionIndex]:
        """Visit the tiles of this block, in the order of `map`; for use in `for`.

        The blocks of a launch visit every tile, each of them in one block.
        """
        ...

    def iter_indices_with(self, *others: AnyMappedPartitionMut[Any]) -> Iterable[PartitionIndex]:
        """Visit tiles that have the same index in several mapped outputs.

        They have the same map shape; that they have the same number of tiles is checked at launch.
        """
        ...

    def iter_indices_within(self, spans: Sequence[Span]) -> Iterable[PartitionIndex]:
        """Visit a part of the tiles: `(first, count)` along each axis, a count of -1 for the rest.

        The numbers must be the same in all blocks, and inside the grid of tiles.
        """
        ...

    def iter_indices_within_with(
        self, spans: Sequence[Span], *others: AnyMappedPartitionMut[Any]
    ) -> Iterable[PartitionIndex]:
        """Visit a part of the tiles that have the same index in several mapped outputs."""
        ...

    def load(self, index: PartitionIndex, *, padding: Padding = 0) -> Tile[E_co]:
        """Load the tile at an index of this block."""
        ...

    def store(
        self,
        tile: Number,
        index: PartitionIndex,
        *,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Store a tile at an index of this block; elements outside the tensor are dropped."""
        ...

    def index(self, *numbers: Index) -> PartitionIndex:
        """Return an index of any tile, which another block may also have; unchecked. Unsafe."""
        ...


class MappedPartitionMut(AnyMappedPartitionMut[E_co], Generic[E_co, *Dims]):
    """An output of which every block visits many tiles: `tl.MappedPartitionMut[f32, BM, BN]`.

    On the host it is given as `t.partition_mut(tile).map(map_shape, num_tile_blocks)`.
    """


# -------------------------------------------------------------------------------------------------
# Atomic read-modify-write, in unsafe code only. Each element is atomic on its own, in no order.
#
# and, or, xor, max, min take 32- and 64-bit integers, add those and f16, bf16, f32, f64, exchange
# and compare-and-swap any 32- or 64-bit number. The default order is "acq_rel", the default scope
# the device.

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
