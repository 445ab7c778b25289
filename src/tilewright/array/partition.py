"""A tensor cut into disjoint tiles, one per block: the form in which kernels write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from ..base.dtypes import DType
from ..base.errors import BorrowError, ShapeError
from ..base.shapes import Shape
from ..op.place import Spot, here, place_of
from .borrow import Ticket, Use
from .layout import Layout, Tiling, tiling_of
from .ownership import Ours
from .shape import ShapeLike, as_shape
from .show import facts, table

if TYPE_CHECKING:
    from ..driver.protocol import Device
    from .tensor import Tensor

E = TypeVar("E", bound=DType)


class Unpartitioned(NamedTuple):
    """Where a partition was turned back into its tensor."""

    spot: Spot


class Partition(Ours, Generic[E]):
    """Exclusive access to a tensor, tile by tile. Made by `t.partition(...)`, which takes the
    tensor over, or `t.partition_mut(...)`, which borrows it."""

    __slots__ = ("__weakref__", "_gone", "_owned", "tensor", "ticket", "tiling")

    def __init__(
        self, tensor: Tensor[E], tiling: Tiling, ticket: Ticket, *, owned: bool = False
    ) -> None:
        self.tensor = tensor
        """The tensor behind it, for launchers; programs use `unpartition()`."""
        self.ticket = ticket
        """The exclusive borrow behind it, for launchers."""
        self._owned = owned
        self._gone: Unpartitioned | None = None
        self.tiling = tiling
        """How it is cut, for launchers."""

    @property
    def is_owned(self) -> bool:
        """Whether it took its tensor over; else it borrows."""
        return self._owned

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
        if self._gone is not None:
            raise BorrowError(
                "this partition was consumed by unpartition()",
                places=(("here", place_of(here())), ("moved", place_of(self._gone.spot))),
                hint="partition the tensor again",
            )
        self.tensor.check_usable()
        ender = self.ticket.ended
        if ender is not None:
            raise BorrowError(
                f"this partition cannot be used any more: its exclusive borrow of"
                f" {self.tensor!r} has ended",
                places=(
                    ("here", place_of(here())),
                    ("taken", place_of(self.ticket.use.spot)),
                    (f"ended by (it was {ender})", place_of(ender.spot)),
                ),
                hint="partition the tensor again",
            )

    def settle(self, *, failed: bool) -> None:
        """A launch that was given this partition has run, or was refused or failed.

        A failed one leaves a taken tensor to whichever is used next: the partition, or the
        variable it was taken from.
        """
        if not failed or (self._owned and self._gone is None):
            self.tensor.settle(failed=failed)

    def unpartition(self) -> Tensor[E]:
        """The tensor again. A partition that took the tensor over is used up by this."""
        self.check_usable()
        if self._owned:
            spot, region = here(), self.tensor.region
            self._gone = Unpartitioned(spot)
            region.storage.state.exclude(Use("unpartitioned", spot), region.part)
        return self.tensor

    @property
    def state(self) -> str:
        """In words: "", "ended" or "consumed by unpartition()"; never raises."""
        if self._gone is not None:
            return "consumed by unpartition()"
        return "" if self.ticket.ended_by() is None else "ended"

    def _repr_html_(self) -> str:
        rows = [("tile", self.tile), ("grid", self.grid), ("partition", self.state or "usable")]
        return table("Partition", [*facts(self.tensor), *rows])

    def __repr__(self) -> str:
        state = f", {self.state}" if self.state else ""
        return (
            f"Partition(shape={self.shape}, dtype={self.dtype.name}, tile={self.tile},"
            f" grid={self.grid}{state})"
        )


def cut(layout: Layout, tile: ShapeLike) -> Tiling:
    """A layout cut into tiles of this shape, if kernels may write it."""
    dims = as_shape(tile, "the tile shape", least=1)
    shape = layout.shape
    if len(dims) != len(shape):
        raise ShapeError(
            "the tile shape of a partition has one extent per axis of the tensor",
            expected=f"{len(shape)} extents, for the shape {shape}",
            got=f"{len(dims)} extents, {dims}",
        )
    if not layout.is_injective:
        raise ShapeError(
            "a tensor whose indices share memory cannot be written",
            got=f"shape {shape}, strides {layout.strides}",
        )
    return tiling_of(layout, dims)
