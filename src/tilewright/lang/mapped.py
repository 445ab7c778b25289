"""Mapped outputs: a block visits many tiles of them and stores at owned indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Self, TypeAlias

from .marker import only_in_kernels
from .tensor import Dims, Index, Padding, Tiled
from .tile import E_co, Number, Tile

Span: TypeAlias = tuple[Index, Index]
"""Tiles along an axis: the first, and how many; -1 is all that are left."""


class PartitionIndex(tuple[int, ...]):
    """An index of a mapped output that belongs to this block: one tile number per axis.

    Only `iter_indices` and related methods yield one, so no two blocks have the same. It is a
    tuple, and its coordinates may be used freely; but a tile is stored at the index itself.
    """

    __slots__ = ()

    def __new__(cls, *_numbers: object) -> Self:
        """Indices are made by loops of a kernel alone."""
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
