"""A tensor cut into disjoint tiles, one per block: the form in which kernels write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from .._core import Access, unpartition
from ..base.dtypes import DType
from ..base.errors import BorrowError, ShapeError
from ..base.shapes import FULL, Shape, next_power_of_2
from ..base.showing import tiles_drawing
from ..op.place import Location, here, place_of
from .borrow import Use
from .layout import Layout, Mapping, Tiling, refuse_shared_indices, tiling_of
from .ownership import Ours
from .shape import MAX_EXTENT, ShapeLike, as_shape
from .show import facts, table

if TYPE_CHECKING:
    from ..devices.protocol import Device
    from ..op.context import ExecutionContext
    from .tensor import Tensor

E = TypeVar("E", bound=DType)

MOST_TILINGS = 64
"""Ways to cut one layout that the core finds by the shape of tiles."""


class Unpartitioned(NamedTuple):
    """Where a partition was turned back into its tensor."""

    location: Location


class Partition(Access, Ours, Generic[E]):
    """Exclusive access to a tensor, tile by tile. Made by `t.partition(...)`, which takes the
    tensor over, or `t.partition_mut(...)`, which borrows it."""

    __slots__ = ()
    LISTED = "tile grid shape dtype device unpartition map prefix"

    tensor: Tensor[E]
    tiling: Tiling
    gone: Unpartitioned | None

    @property
    def tile(self) -> Shape:
        """The shape of one tile."""
        return self.tiling.tile

    @property
    def grid(self) -> Shape:
        """How many tiles there are along each axis."""
        return self.tiling.grid

    @property
    def shape(self) -> Shape:
        """The shape of the whole tensor."""
        return self.tensor.shape

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        return self.tensor.dtype

    @property
    def device(self) -> Device:
        """Where the tensor lives."""
        return self.tensor.device

    def check_usable(self) -> None:
        """Raise if the partition was turned back, or its exclusive borrow has ended."""
        if self.gone is not None:
            raise BorrowError(
                "this partition was consumed by unpartition()",
                places=(("here", place_of(here())), ("moved", place_of(self.gone.location))),
                hint="partition the tensor again",
            )
        self.tensor.check_usable()
        ender = self.ticket.ended
        if ender is not None:
            raise BorrowError(
                f"this partition cannot be used any more: its exclusive borrow of"
                f" {self.tensor.summary} has ended",
                places=(
                    ("here", place_of(here())),
                    ("taken", place_of(self.ticket.use.location)),
                    (f"ended by (it was {ender})", place_of(ender.location)),
                ),
                hint="partition the tensor again",
            )

    def settle(
        self, *, failed: bool, within: ExecutionContext | None = None, spends: bool = True
    ) -> None:
        """Settle a launch that was given this partition, and has run, was refused or failed.

        After a failure, a taken tensor belongs to whichever is used next: the partition, or the
        variable it was taken from.
        """
        if not failed or (self.is_owned and self.gone is None):
            self.tensor.settle(failed=failed, within=within, spends=spends)

    def unpartition(self) -> Tensor[E]:
        """Return the tensor. A partition that took the tensor over is used up by this."""
        tensor: Tensor[E] | None = unpartition(self, 1)
        if tensor is not None:
            return tensor
        self.check_usable()
        if self.is_owned:
            location, region = here(), self.tensor.region
            self.gone = Unpartitioned(location)
            region.storage.state.exclude(Use("unpartitioned", location), region.part)
        return self.tensor

    def written(self) -> Tensor[E]:
        """Return the tensor behind a launch that has written it.

        Another thread may borrow it from then on, which ends the borrow of this partition: so that
        is no error any more.
        """
        return self.unpartition() if self.is_owned else self.tensor

    def map(self, map_shape: ShapeLike, num_tile_blocks: int | None = None) -> MappedPartition[E]:
        """Let each block visit many tiles, for kernels with a `tl.MappedPartitionMut`.

        Blocks visit tiles in groups of `map_shape`, one after the other; `tw.OWNED` marks an axis
        of which every block has all tiles.
        """
        self.check_usable()
        mapping = mapping_of(self.tiling, map_shape, num_tile_blocks)
        tiling = tiling_of(self.tiling.layout, self.tiling.tile, mapping)
        return MappedPartition(self.tensor, tiling, self.ticket, owned=self.is_owned)

    def prefix(self) -> Partition[E]:
        """Allow a launch to have fewer blocks than there are tiles.

        `kernel(...).grid(...)` sets the number, and the blocks have the first tiles along each
        axis; the others are not written.
        """
        self.check_usable()
        tiling = tiling_of(self.tiling.layout, self.tiling.tile, None, True)
        return Partition(self.tensor, tiling, self.ticket, owned=self.is_owned)

    @property
    def state(self) -> str:
        """One of "", "ended" or "consumed by unpartition()"; never raises."""
        if self.gone is not None:
            return "consumed by unpartition()"
        return "" if self.ticket.ended_by() is None else "ended"

    def _repr_html_(self) -> str:
        rows = [("tile", self.tile), ("grid", self.grid), ("partition", self.state or "usable")]
        return table(
            type(self).__name__, [*facts(self.tensor), *rows], tiles_drawing(self.shape, self.tile)
        )

    def __repr__(self) -> str:
        state = f", {self.state}" if self.state else ""
        return (
            f"Partition(shape={self.shape}, dtype={self.dtype.name}, tile={self.tile},"
            f" grid={self.grid}{state})"
        )


class MappedPartition(Partition[E]):
    """A partition whose tiles are shared by a fixed number of blocks, each of which visits many.

    Made by `partition.map(...)`, for kernels with a `tl.MappedPartitionMut`.
    """

    __slots__ = ()
    LISTED = "mapping"

    @property
    def mapping(self) -> Mapping:
        """How blocks share the tiles."""
        assert self.tiling.mapping is not None, "made with one"
        return self.tiling.mapping

    def map(self, map_shape: ShapeLike, num_tile_blocks: int | None = None) -> MappedPartition[E]:
        """Share the tiles in another way."""
        return super().map(map_shape, num_tile_blocks)

    def prefix(self) -> Partition[E]:
        """Raise: the blocks of a mapped partition visit all tiles."""
        raise ShapeError(
            "a mapped partition has no prefix",
            expected="a plain partition: t.partition_mut(tile).prefix()",
            got=repr(self),
            hint="a kernel visits a part of the tiles with iter_indices_within",
        )

    def __repr__(self) -> str:
        blocks = self.mapping.num_tile_blocks
        many = "as many blocks as run at once" if blocks is None else f"num_tile_blocks={blocks}"
        return f"Mapped{super().__repr__()[:-1]}, map_shape={self.mapping.groups}, {many})"


def mapping_of(tiling: Tiling, map_shape: ShapeLike, num_tile_blocks: int | None) -> Mapping:
    """Return how blocks share the tiles of a partition, if they can."""
    groups = as_shape(map_shape, "the map shape")
    if tiling.partial:
        raise ShapeError(
            "a prefix partition cannot be mapped",
            expected="a plain partition: t.partition_mut(tile).map(...)",
            got="partition.prefix().map(...)",
            hint="a kernel visits a part of the tiles with iter_indices_within",
        )
    if len(groups) != len(tiling.grid):
        raise ShapeError(
            "a map shape has one extent per axis of the tensor",
            expected=f"{len(tiling.grid)} extents, for the tiles {tiling.grid}",
            got=f"{len(groups)} extents, {groups}",
        )
    if not any(groups):
        raise ShapeError(
            "a mapped partition needs an axis that is not owned",
            expected="a group of 1 or more along one axis at least",
            got=f"{groups}: every axis is owned",
            hint="a plain partition assigns one tile to each block: t.partition_mut(tile)",
        )
    if num_tile_blocks is not None and num_tile_blocks < 1:
        raise ShapeError(
            "a mapped partition needs at least one block",
            expected="1 or more, or None for as many as the device runs at once",
            got=str(num_tile_blocks),
        )
    return Mapping(groups, num_tile_blocks)


def _extents(count: int) -> str:
    return f"{count} extent{'s' * (count != 1)}"


def cut(layout: Layout, tile: ShapeLike) -> Tiling:
    """Return a layout cut into tiles of this shape, if kernels may write it; `FULL` is a whole
    axis.
    """
    dims = given = as_shape(tile, "the tile shape", least=-MAX_EXTENT)
    shape = layout.shape
    if len(dims) != len(shape):
        raise ShapeError(
            "the tile shape of a partition has one extent per axis of the tensor",
            expected=f"{_extents(len(shape))}, for the shape {shape}",
            got=f"{_extents(len(dims))}, {dims}",
        )
    refuse_shared_indices(layout)
    if FULL in dims:
        pairs = zip(dims, shape, strict=True)
        dims = tuple([next_power_of_2(n) if t == FULL else t for t, n in pairs])
    tiling = tiling_of(layout, as_shape(dims, "the tile shape", least=1))
    if len(layout.tilings) < MOST_TILINGS:
        layout.tilings[tile if type(tile) is int else given] = tiling
    return tiling
