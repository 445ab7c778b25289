"""Transfers as ops: into existing memory, into new memory, and to the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ..base.dtypes import AnyDType, as_dtype
from ..base.errors import BorrowError, ShapeError
from ..base.shapes import size
from ..devices.protocol import Device
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp, is_op
from ..op.nesting import refuse_reading
from ..op.place import here, place_of
from ..op.running import ELSEWHERE, Steps
from . import storage
from .elements import LENGTHY, as_elements, has_type, host_array, is_long
from .layout import refuse_shared_indices, row_major
from .op_borrows import Lender, OpBorrow, borrow_to_read, borrow_to_write, written_region
from .order import check_pending, pending_over
from .ownership import Handle
from .putting import put_copy, put_download, put_upload
from .region import Region

T_co = TypeVar("T_co", covariant=True)


class Copying:
    """Mixin of copies: what they are called, and who makes them."""

    _name: str
    _home: Device
    spent: bool

    @property
    def name(self) -> str:
        """The method or function that made it: `memcpy`, `copy_from`, `dup`, `to_numpy` ..."""
        return self._name

    @property
    def home(self) -> Device | None:
        """The device that copies: the one whose memory the host cannot reach, if one is such."""
        return self._home


class Reading(Copying):
    """Mixin of copies that read one tensor, and are the first to touch what they write."""

    _reading: OpBorrow

    def check_standing(self) -> None:
        """Raise if the borrow has ended."""
        self._reading.check_standing()

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return what it reads, if that is borrowed."""
        return self._reading.borrows(given)

    def give_back(self) -> None:
        """Return the source to its origin."""
        if not self.spent:
            self._reading.give_back()


class CopyInto(Copying, Composite[T_co], Generic[T_co]):
    """Writes a tensor's elements over with those of another tensor, or of a host array.

    It allocates nothing, so it can be part of a graph. A host array has been read when the call
    that starts the op returns; a graph reads it each time it is launched.
    """

    holds = ("_known", "_result", "_source", "_target", "_writing")

    def __init__(self, name: str, target: Handle | Lender, source: Any, result: T_co) -> None:
        self._name, self._result = name, result
        self._target = written_region(target, name)
        refuse_shared_indices(self._target.layout)
        self._source: DeviceOp[Any] | None = None
        self._known: OpBorrow | np.ndarray[Any, Any] | None = None
        if is_op(source):
            source.claim(name)
            self._source, self.made_of = source, (source,)
        else:
            self._known = self._given(source)
            self.lengthy = not isinstance(self._known, OpBorrow) and is_long(self._known)
        self._writing = borrow_to_write(target, name)
        self._home = self._copying_device()
        self.effect = True

    def _copying_device(self) -> Device:
        device, known = self._target.storage.device, self._known
        return _copier(device, known.region) if isinstance(known, OpBorrow) else device

    def check_standing(self) -> None:
        """Raise if a borrow has ended."""
        self._writing.check_standing()
        if isinstance(self._known, OpBorrow):
            self._known.check_standing()

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return what it writes or reads that is borrowed."""
        known = self._known
        reads = known.borrows(given) if isinstance(known, OpBorrow) else None
        return self._writing.borrows(given) or reads

    def give_back(self) -> None:
        """Return the arguments to their origin."""
        for lent in (self._writing, self._known):
            if isinstance(lent, OpBorrow):
                lent.give_back()

    def detach(self) -> None:
        """Copy the array now, as it will be read later."""
        known = self._known  # another thread may run it meanwhile
        if not (known is None or isinstance(known, OpBorrow)):
            self._known = known.copy()

    def _given(self, source: Any) -> OpBorrow | np.ndarray[Any, Any]:
        """Return the source, after checking that it fits."""
        target = self._target
        handle = getattr(source, "value", source)  # of an Arc, its tensor
        if not isinstance(handle, Handle):
            array = host_array(source, target.dtype, self._name)
            same = target.dtype.np == array.dtype or not has_type(source)
            dtype = target.dtype if same else as_dtype(array.dtype)
            _refuse_misfit(self._name, target, array.shape, dtype)
            return array
        _refuse_misfit(self._name, target, handle.region.shape, handle.region.dtype)
        _refuse_overlap(self._name, target, handle.region)
        return borrow_to_read(handle, self._name)

    def steps(self, ctx: ExecutionContext) -> Steps[T_co]:
        """Return the source if it is an op, then the copy."""
        if self._source is not None:
            self._known = self._given((yield self._source))
            if ctx.on_loop and not isinstance(self._known, OpBorrow) and is_long(self._known):
                yield ELSEWHERE
        assert self._known is not None
        ctx.borrowed(self._result)
        self._copy(ctx, self._known)
        return self._result

    def _copy(self, ctx: ExecutionContext, source: OpBorrow | np.ndarray[Any, Any]) -> None:
        writing = self._writing
        writing.entrust(ctx)
        if isinstance(source, OpBorrow):
            source.check(ctx)
        writing.check(ctx)
        target = writing.region
        if isinstance(source, OpBorrow):
            put_copy(ctx, self, target, source.region)
            source.settle(ctx)
        else:
            held = as_elements(source, target.dtype)
            # A device that the host cannot see has read it when this returns; others may not have.
            later = ctx.device.host_visible and not ctx.is_capturing
            put_upload(ctx, self, target, held.copy(order="C") if later else held)
        writing.settle(ctx)


class Duplicate(Reading, DeviceOp[T_co], Generic[T_co]):
    """Copies a tensor into new memory, row-major, on its own device or another."""

    holds = ("_reading", "_wrap")

    def __init__(
        self, name: str, source: Handle, device: Device, wrap: Callable[[Region], T_co]
    ) -> None:
        self._name, self._device, self._wrap = name, device, wrap
        self._reading = borrow_to_read(source, name)
        self._home = _copier(device, self._reading.region)

    def execute(self, ctx: ExecutionContext) -> T_co:
        """Allocate, and enqueue the copy."""
        self._reading.check(ctx)
        source = self._reading.region
        layout = row_major(source.dtype, source.shape)
        nbytes = size(layout.shape) * layout.dtype.itemsize
        ctx.creating(self.name)  # a graph scope refuses it
        memory = storage.allocate(self._device, nbytes, zeroed=False)
        target = Region(memory, layout, memory.address)
        put_copy(ctx, self, target, source)
        if not ctx.is_capturing:
            target.mark_written()
        self._reading.settle(ctx)
        return self._wrap(target)


class ToHost(Reading, Composite[npt.NDArray[Any]]):
    """Copies a tensor into a new NumPy array. What follows runs when the data has arrived."""

    host_data = True
    holds = ("_reading",)

    def __init__(self, name: str, source: Handle, *, flat: bool = False) -> None:
        self._name, self._flat = name, flat
        self._reading = borrow_to_read(source, name)
        region = self._reading.region
        self._home = region.storage.device
        nbytes = size(region.shape) * region.dtype.itemsize
        self.lengthy = nbytes > LENGTHY and not self._home.host_visible

    def steps(self, ctx: ExecutionContext) -> Steps[npt.NDArray[Any]]:
        """Enqueue the copy; the array is complete when the device has passed it."""
        if not ctx.is_capturing:
            refuse_reading(f"`{self.name}`", self._reading.handle)
        self._reading.check(ctx)
        source = self._reading.region
        target = np.empty(source.shape, source.dtype.np)
        before = pending_over([source])
        arrived = put_download(ctx, self, target, source)
        yield arrived
        arrived.stream.sweep()  # some devices leave the last step to the host
        for pending in before:
            pending.wait()
        check_pending(before, [source])  # what wrote the data may have failed
        self._reading.settle(ctx)
        return target.reshape(-1) if self._flat else target


def _copier(target: Device, source: Region) -> Device:
    """Return the device that copies, where what follows the copy runs too, if it can: the target's.

    But only a GPU sees its memory, and only that of the source gathers what has gaps.
    """
    device = source.storage.device
    if device.host_visible:
        return target
    return device if target.host_visible or not source.layout.is_contiguous else target


def _refuse_misfit(name: str, target: Region, shape: tuple[int, ...], dtype: AnyDType) -> None:
    if dtype is not target.dtype:
        raise ShapeError(
            f"`{name}` does not convert",
            expected=f"elements of {target.dtype.name}, as the tensor that is written",
            got=dtype.name,
            hint="convert it first",
        )
    if shape != target.shape:
        raise ShapeError(
            f"`{name}` copies between equal shapes",
            expected=str(target.shape),
            got=str(shape),
            hint="reshape the source: x.reshape(...)"
            if size(shape) == size(target.shape) else None,
        )  # fmt: skip


def _refuse_overlap(name: str, target: Region, source: Region) -> None:
    if target.meets(source):
        raise BorrowError(
            f"`{name}` would write and read one tensor",
            places=(("here", place_of(here())),),
            hint="copy the source first: x.dup().sync()",
        )
