"""Tensor: an array on a device, owned, borrowed and viewed by run-time rules."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, SupportsIndex, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from .._core import Access, partition, partition_mut, set_tensor_classes
from .._core import new_tensor as native_tensor
from ..base.dtypes import DType
from ..base.errors import BorrowError, ShapeError
from ..base.shapes import Shape, size
from ..devices.protocol import Device
from ..op.ambient import as_device
from ..op.core import DeviceOp
from ..op.misuse_hints import WithoutOperators
from ..op.nesting import refuse_reading
from ..op.place import here, place_of
from .borrow import LOCK, Ticket, Use
from .elements import only_number, refuse_several
from .exporting import Wish, check_wish, device_of
from .host_write import HostWrite
from .indexing import Key
from .interop import Interop, export_to_write
from .misuse_hints import ArrayMisuseHints
from .ownership import Moved, Ours, Title
from .partition import Partition, Unpartitioned, cut
from .pointer import DevicePointer
from .putting import read_now
from .region import Region
from .shape import ShapeLike, one_shape
from .show import facts, html_of, summary_of, table, text_of
from .transfer import CopyInto, Duplicate, ToHost
from .views import Range, axis_of, permuted, reinterpreted, reshaped, selected, sliced, swapped

E = TypeVar("E", bound=DType)
F = TypeVar("F", bound=DType)

PARTITION_HINT = (
    "rebind it (z = p.unpartition()), or write in place with z.partition_mut(shape)."
    " If you ran a notebook cell again, run the cell that makes z first"
)


class Tensor(Interop, WithoutOperators, ArrayMisuseHints, Generic[E]):
    """An array of elements of one type. Made by `tw.zeros`, `tw.from_numpy` and their like.

    Kernels read it as it is, and write it through `partition` or `partition_mut`. Shape, dtype,
    device and repr answer in every state, also after the tensor was moved.
    """

    __slots__ = ()
    LISTED = (
        "T borrow_mut copy_from device device_id device_pointer dtype dup is_contiguous item "
        "nbytes ndim num_bytes partition partition_mut permute reinterpret reshape shape size "
        "slice strides summary to to_host_vec to_numpy transpose try_partition view"
    )

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self.region.shape

    @property
    def strides(self) -> Shape:
        """How many elements apart neighbours along each axis are."""
        return self.region.strides

    @property
    def dtype(self) -> type[E]:
        """The element type, such as `tw.f32`."""
        return cast("type[E]", self.region.dtype)

    @property
    def device(self) -> Device:
        """Where the tensor lives."""
        return self.region.storage.device

    @property
    def device_id(self) -> int | None:
        """The number of the GPU the tensor lives on; None: it lives on the host."""
        return self.region.storage.device.ordinal

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.region.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return size(self.region.shape)

    @property
    def num_bytes(self) -> int:
        """The number of bytes all elements take."""
        return self.size * self.region.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """How many bytes the elements take; `num_bytes` is another name."""
        return self.num_bytes

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other in row-major order."""
        return self.region.layout.is_contiguous

    def device_pointer(self) -> DevicePointer[E]:
        """Return the raw address, for unsafe kernels."""
        self.check_usable()
        return DevicePointer(self.dtype, self.region)

    def partition(self, tile: ShapeLike) -> Partition[E]:
        """Move this tensor into a partition into tiles; `unpartition()` gives it back.

        An extent `tw.FULL` of the tile is the whole axis, rounded up to a power of two.
        """
        found: Partition[E] | None = partition(self, tile, PARTITION_HINT, 1)
        if found is not None:
            return found
        tiling = cut(self.region.layout, tile)
        title, ticket = self.take_over(f"partition({tiling.tile})", PARTITION_HINT)
        tensor: Tensor[E] = Tensor(self.region, title)
        return Partition(tensor, tiling, ticket, owned=True)

    def try_partition(self, tile: ShapeLike) -> Partition[E]:
        """Do as `partition`, named like the method of an `Arc`, which may have other owners."""
        return self.partition(tile)

    def partition_mut(self, tile: ShapeLike) -> Partition[E]:
        """Borrow this tensor for writing, cut into tiles: kernels write in place.

        An extent `tw.FULL` of the tile is the whole axis, rounded up to a power of two.
        """
        found: Partition[E] | None = partition_mut(self, tile, 1)
        if found is not None:
            return found
        tiling = cut(self.region.layout, tile)
        return Partition(self, tiling, self.borrow_exclusive("borrowed for writing"))

    def borrow_mut(self) -> BorrowMut[E]:
        """Borrow this tensor for writing."""
        return BorrowMut(self, self.borrow_exclusive("borrowed for writing"))

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy as a NumPy array, now."""
        self.borrow_shared("read by to_numpy()", "to_numpy()")
        self.check_readable("to_numpy()")
        return read_now(self.region)

    def item(self) -> E:
        """Return the only element as a Python number, now."""
        refuse_several(self.shape)
        return cast("E", only_number(self.to_numpy()))

    def copy_item(self) -> DeviceOp[E]:
        """Return an op that gives the only element as a Python number; `op.item` does this."""
        refuse_several(self.shape)
        return cast("DeviceOp[E]", self.copy_to_host().derived(only_number, "item"))

    def copy_to_host(self) -> DeviceOp[npt.NDArray[Any]]:
        """Return an op that copies to a NumPy array of this shape; `op.to_numpy` does this."""
        return ToHost("to_numpy", self)

    def to_host_vec(self) -> DeviceOp[npt.NDArray[Any]]:
        """Return an op that copies all elements, in row-major order, to a NumPy array of rank 1."""
        return ToHost("to_host_vec", self, flat=True)

    def dup(self) -> DeviceOp[Tensor[E]]:
        """Return an op that copies the tensor into a new one, which is contiguous."""
        return Duplicate("dup", self, self.device, new_tensor)

    def to(self, device: Device | str) -> DeviceOp[Tensor[E]]:
        """Return an op that copies the tensor into a new one on a device, even on the same one."""
        return Duplicate("to", self, as_device(device), new_tensor)

    def copy_from(self, source: Any) -> DeviceOp[Tensor[E]]:
        """Return an op that overwrites this tensor with a tensor or host data, and gives it."""
        return CopyInto("copy_from", self, source, self)

    def reshape(self, *shape: ShapeLike) -> Tensor[E]:
        """Return a view with another shape; the tensor must be contiguous.

        `t.reshape((2, -1))` and `t.reshape(2, -1)` are the same.
        """
        return self._view_as(reshaped(self.region, one_shape(shape)), "borrowed by reshape()")

    def view(self, *shape: ShapeLike) -> Tensor[E]:
        """Return the same as `reshape`."""
        return self._view_as(reshaped(self.region, one_shape(shape)), "borrowed by view()")

    def slice(self, *ranges: Range) -> Tensor[E]:
        """Return a view of a rectangular part, one range per axis:

        `t.slice(range(1, 3), range(2, 6))`.
        """
        return self._view_as(sliced(self.region, ranges), "borrowed by slice()")

    def permute(self, *order: SupportsIndex) -> Tensor[E]:
        """Return a view with the axes in another order."""
        return self._view_as(permuted(self.region, order), "borrowed by permute()")

    def transpose(self, axis0: SupportsIndex = -2, axis1: SupportsIndex = -1) -> Tensor[E]:
        """Return a view with two axes exchanged, by default the last two."""
        return self._view_as(swapped(self.region, axis0, axis1), "borrowed by transpose()")

    @property
    def T(self) -> Tensor[E]:  # noqa: N802 - the name it has everywhere
        """A view with the axes in reverse order."""
        order = tuple(reversed(range(self.ndim)))
        return self._view_as(permuted(self.region, order), "borrowed by .T")

    @overload
    def reinterpret(self, dtype: type[F], shape: ShapeLike | None = None) -> Tensor[F]: ...
    @overload
    def reinterpret(self, dtype: npt.DTypeLike, shape: ShapeLike | None = None) -> Tensor[Any]: ...
    def reinterpret(self, dtype: Any, shape: ShapeLike | None = None) -> Tensor[Any]:
        """Return a view of the same bytes as elements of another type, contiguous and aligned for
        it.
        """
        region = reinterpreted(self.region, dtype, shape)
        return self._view_as(region, "borrowed by reinterpret()")

    def into_shape(self, *shape: ShapeLike) -> Tensor[E]:
        """Move this tensor into one with another shape; `op.reshape` does this."""
        return self._into(reshaped(self.region, one_shape(shape)), "into_shape")

    def into_type(self, dtype: Any, shape: ShapeLike | None = None) -> Tensor[Any]:
        """Move this tensor into one with another type; `op.reinterpret` does this."""
        return self._into(reinterpreted(self.region, dtype, shape), "into_type")

    def in_form(self, region: Region) -> Tensor[Any]:
        """Return the same tensor in another form, which its owners share; for an `Arc`."""
        return Tensor(region, self._title)

    def unwrap_arc(self) -> Tensor[E]:
        """Return this tensor, for code that also takes an `Arc`."""
        self.check_usable()
        return self

    def _into(self, region: Region, what: str) -> Tensor[Any]:
        hint = f"use the tensor that {what}(...) returned"
        title, _ = self.take_over(f"{what}({region.shape})", hint)
        return Tensor(region, title)

    def __getitem__(self, key: Key) -> Tensor[E]:
        """Return a view of a part: ints, slices, `...` and None, as in NumPy."""
        return self._view_as(selected(self.region, key), "borrowed by a view")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    @property
    def summary(self) -> str:
        """What it is, in one line without its values: shape, dtype, device and state."""
        return summary_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        return text_of(self)

    def _view_as(self, region: Region, what: str) -> Tensor[E]:
        return Tensor(region, None, self.borrow_shared(what, "a view", region))

    if not TYPE_CHECKING:
        # Misuse hints: for type checkers these uses are plain errors.
        def _no_arithmetic(self) -> TypeError:
            return TypeError(
                "tensors have no arithmetic on the host: write a kernel (@tw.entry),"
                " or compute with t.to_numpy()"
            )

        def __bool__(self) -> NoReturn:
            raise TypeError("a tensor has no truth value; compute with t.to_numpy()")


class BorrowMut(Access, Ours, Generic[E]):
    """An exclusive borrow of a tensor or of a part of it, ended by the next use of that.

    Parts come out of it as in Rust's `split_at_mut`: disjoint ones are borrowed side by side, and
    each ends when the borrow it came out of is used for what the two have in common.
    """

    __slots__ = ()
    LISTED = "shape dtype device partition split_at reshape copy_from numpy"

    tensor: Tensor[E]

    def __init__(self, tensor: Tensor[E], ticket: Ticket) -> None:
        super().__init__(tensor, None, ticket)

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self.tensor.shape

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        return self.tensor.dtype

    @property
    def device(self) -> Device:
        """Where the tensor lives."""
        return self.tensor.device

    def partition(self, tile: ShapeLike) -> Partition[E]:
        """Cut the borrowed tensor into tiles: kernels write in place."""
        tensor, tiling = self.tensor, cut(self.tensor.region.layout, tile)
        ticket = self._reborrow()
        if tensor.ticket is not None:  # a part: as the partition's own, it can be read through it
            tensor = Tensor[E](tensor.region, None, ticket, tensor)
        return Partition(tensor, tiling, ticket)

    def __getitem__(self, key: Key) -> BorrowMut[E]:
        """Borrow a part: ints, slices, `...` and None, as in NumPy."""
        return self._part(selected(self.tensor.region, key))

    def split_at(
        self, index: SupportsIndex, axis: SupportsIndex = 0
    ) -> tuple[BorrowMut[E], BorrowMut[E]]:
        """Return two parts: what is before `index` along an axis, and the rest."""
        at, number = operator.index(index), axis_of(axis, len(self.shape))
        extent = self.shape[number]
        if not 0 <= at <= extent:
            raise ShapeError(
                f"{at} does not split axis {number}",
                expected=f"an index from 0 to {extent}",
                got=str(at),
            )
        before = (slice(None),) * number
        return self[(*before, slice(at))], self[(*before, slice(at, None))]

    def reshape(self, *shape: ShapeLike) -> BorrowMut[E]:
        """Return the same memory, borrowed out of this, in another shape."""
        return self._part(reshaped(self.tensor.region, one_shape(shape)))

    @property
    def borrowed(self) -> Tensor[E]:
        """What is borrowed, for ops that write it."""
        return self.tensor

    def lend(self, what: str) -> tuple[Tensor[E], Ticket]:
        """Lend the borrowed tensor to an op that writes it."""
        return self.tensor, self._reborrow(what=what)

    def copy_from(self, source: Any) -> DeviceOp[BorrowMut[E]]:
        """Return an op that overwrites the borrowed tensor with a tensor or host data."""
        return CopyInto("copy_from", self, source, self)

    def numpy(self) -> HostWrite:
        """Return the memory as a NumPy array to write: `with t.borrow_mut().numpy() as a:`."""
        refuse_reading("borrow_mut().numpy()", self.tensor)
        return HostWrite(self.tensor.region, self._reborrow(), self.tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's identifier of the device."""
        return device_of(self.tensor.region)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Export the memory for writing; nothing here can use it until the other library is done.

        A copy would not be what is borrowed, so none is made.
        """
        wish = Wish(stream, max_version, dl_device, copy)
        check_wish(self.tensor.region, wish)
        refuse_reading("__dlpack__()", self.tensor)
        if copy:
            raise BufferError("an exclusive borrow is exported without a copy; export the tensor")
        return export_to_write(self.tensor.region, wish, self._reborrow(), self.tensor)

    def _part(self, region: Region) -> BorrowMut[E]:
        # A part without bytes meets nothing, though it may be all of an empty tensor.
        ticket = self._reborrow(region if region.start == region.end else region.part)
        return BorrowMut(Tensor(region, None, ticket, self.tensor), ticket)

    def _reborrow(self, part: Region | None = None, what: str = "borrowed for writing") -> Ticket:
        with LOCK:
            self.check_usable()
            return self.ticket.reborrow(Use(what, here(2)), part)

    def check_usable(self) -> None:
        """Raise if the borrow has ended, or its tensor was moved."""
        self.tensor.check_usable()
        if (ender := self.ticket.ended_by()) is not None:
            raise BorrowError(
                f"this exclusive borrow of {self.tensor.summary} has ended",
                places=(
                    ("here", place_of(here())),
                    ("taken", place_of(self.ticket.use.location)),
                    (f"ended by (it was {ender})", place_of(ender.location)),
                ),
                hint="borrow the tensor again",
            )

    def _repr_html_(self) -> str:
        state = "usable" if self.ticket.ended_by() is None else "ended"
        return table("BorrowMut", [*facts(self.tensor), ("borrow", state)])

    def __repr__(self) -> str:
        ended = "" if self.ticket.ended_by() is None else ", ended"
        return f"BorrowMut({self.tensor.summary}{ended})"


def new_tensor(region: Region) -> Tensor[Any]:
    """Return a tensor that owns its memory."""
    tensor: Tensor[Any] = native_tensor(region)
    return tensor


set_tensor_classes(
    {
        "Tensor": Tensor,
        "Partition": Partition,
        "Title": Title,
        "Moved": Moved,
        "Unpartitioned": Unpartitioned,
    }
)


def move(tensor: Tensor[E]) -> Tensor[E]:
    """Move a tensor to a new variable; using the old one then raises with the reason."""
    title, _ = tensor.take_over("tw.move()", "use the tensor that tw.move(...) returned")
    return Tensor(tensor.region, title)


def memcpy(target: Tensor[Any] | BorrowMut[Any], source: Any) -> DeviceOp[None]:
    """Return an op that overwrites a tensor with another of the same shape and type, or host data.

    It allocates nothing, so a graph can hold it.
    """
    return CopyInto("memcpy", target, source, None)
