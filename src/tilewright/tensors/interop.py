"""How tensors look to other libraries: NumPy's protocols, DLPack, pickle."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._core import include_import
from ..base.messages import summary
from ..base.shield import shielded
from ..op.ambient import unsafe_allowed
from ..op.place import here
from .borrow import LOCK, Ticket, refuse_ended
from .exporting import Wish, check_wish, device_of, export
from .gpu_imports import gathered, let_wait
from .lease import EXPORT, EXPORT_MUT, VIEW, Act, Holder, Kind, Lease, refuse_leased
from .order import wait_on_host
from .ownership import Handle
from .putting import copy_now
from .region import Region, bytes_of, region_of_array

IsOver: TypeAlias = Callable[[], bool]
"""Returns whether the last user of memory is gone."""


class Interop(Handle):
    """A handle that NumPy and other libraries can read, and that leases what they see."""

    __slots__ = ()

    def read_on_host(self, reader: str) -> None:
        """Borrow for reading now, and wait for what writes the memory."""
        self.borrow_shared(f"read by {reader}", reader)
        self.check_readable(reader)
        wait_on_host([self.region])

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's identifier of the device."""
        return device_of(self.region)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Export the memory for reading; it is leased until the other library is done.

        What others rely on is exported as a copy, since libraries write what is marked read only;
        inside `tw.unsafe()` it is not.
        """
        wish = Wish(stream, max_version, dl_device, copy)
        check_wish(self.region, wish)
        relied_on = self._relied_on()
        if copy or (copy is None and relied_on):
            return self._exported_copy(wish)
        if relied_on:
            raise BufferError(
                f"{summary(self)} must be copied to be exported: {relied_on}."
                " Leave out copy=False, or export inside `with tw.unsafe():`"
            )
        return _leased_export(self.region, wish, self._lend_export, readonly=True)

    def _relied_on(self) -> str:
        """Describe why no other library may write this memory; "" if it may."""
        if unsafe_allowed():
            return ""
        if self.owners() > 1:
            return f"it has {self.owners()} owners"
        if self.region.storage.readonly:
            return "it aliases an array that must not be written"
        return "a graph writes it" if self.region.storage.writers_to_come() else ""

    def _exported_copy(self, wish: Wish) -> object:
        self.read_on_host("__dlpack__()")
        if not self.region.storage.device.host_visible:
            copied = copy_now(self.region)
            return export(copied, None, wish, readonly=False, copied=True)[0]
        array = self.region.array().copy(order="C")
        region = region_of_array(array, self.region.storage.device, self.region.dtype)
        capsule, _ = export(region, array, wish, readonly=False, copied=True)
        return capsule

    def _lend_export(self, is_over: IsOver) -> None:
        self._lend(EXPORT, "__dlpack__()", is_over)

    def _lend(self, kind: Kind, reader: str, is_over: IsOver) -> None:
        """Borrow for reading and lease at once, so that no write can come between."""
        region, location = self.region, here()
        with LOCK:
            self.borrow_shared(f"read by {reader}", reader)
            self.check_readable(reader)
            region.storage.state.lease(Lease(kind, location, is_over, region.footprint()))
            include_import(region.storage)

    def _leased_array(self, reader: str, interface: dict[str, object]) -> np.ndarray[Any, Any]:
        """Return memory as a read-only array, leased until its last view is gone."""
        device = self.region.storage.device
        if not device.host_visible:
            raise TypeError(
                f"{reader} cannot see the memory of {device.name}; t.to_numpy() gives a copy"
            )
        held = [Holder(interface, self.region.storage)]
        known = weakref.ref(held[0])
        try:
            self._lend(VIEW, reader, lambda: known() is None)
            wait_on_host([self.region])
            # NumPy keeps a reference for good where asking for the interface raises.
            return shielded(lambda: np.asarray(held.pop()))
        finally:
            held.clear()  # what a traceback would keep

    def _as_array(self) -> np.ndarray[Any, Any]:
        region = self.region
        if 0 in region.shape:
            self.read_on_host("np.asarray()")
            return np.empty(region.shape, region.dtype.np)
        interface = region.interface(readonly=True)
        return self._leased_array("np.asarray()", interface).view(region.dtype.np)

    if not TYPE_CHECKING:

        def __jax_array__(self) -> Any:
            """Return the array for `jnp.asarray(t)`: the tensor's memory, by DLPack."""
            return sys.modules["jax"].numpy.from_dlpack(self)

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            region = self.region
            if region.storage.device.host_visible or region.dtype.np.isbuiltin != 1:
                raise AttributeError("this is no memory that CUDA's array interface has a name for")
            self.borrow_shared("read by __cuda_array_interface__", "__cuda_array_interface__")
            self.check_readable("__cuda_array_interface__")
            return {
                "version": 3,
                "typestr": region.dtype.np.str,
                "shape": region.shape,
                "strides": tuple(s * region.dtype.itemsize for s in region.strides),
                "data": (region.address if 0 not in region.shape else 0, True),
                "stream": gathered(region).handle,
            }

        @property
        def __array_interface__(self) -> dict[str, Any]:
            region = self.region
            if region.dtype.np.isbuiltin != 1 or 0 in region.shape:
                raise AttributeError("NumPy's array interface has no name for this memory")
            return {
                "version": 3,
                "typestr": region.dtype.np.str,
                "shape": region.shape,
                "strides": tuple(s * region.dtype.itemsize for s in region.strides),
                "data": memoryview(self._leased_array("np.asarray()", bytes_of(region))),
                "offset": region.address - region.start,
            }

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
            view = self._as_array()
            if dtype is None or np.dtype(dtype) == view.dtype:
                return view.copy(order="C") if copy else view
            if copy is False:
                raise ValueError(f"{view.dtype} cannot be seen as {np.dtype(dtype)} without a copy")
            return view.astype(dtype)


def export_to_write(region: Region, wish: Wish, ticket: Ticket, thing: object) -> object:
    """Return a capsule through which another library may write; it excludes all use here."""

    def lend(is_over: IsOver) -> None:
        state, location = region.storage.state, here()
        with LOCK:
            refuse_ended(ticket, "__dlpack__", thing)
            refuse_leased(state, Act.WRITE, "__dlpack__()", thing, region)
            state.lease(Lease(EXPORT_MUT, location, is_over, region.footprint()))
            include_import(region.storage)

    return _leased_export(region, wish, lend, readonly=False)


def _leased_export(
    region: Region, wish: Wish, lend: Callable[[IsOver], None], *, readonly: bool
) -> object:
    """Return a capsule over memory that is leased while it or a view of it exists."""
    capsule, exported = export(region, None, wish, readonly=readonly)
    try:
        lend(exported.is_over)
        if region.storage.device.host_visible:
            wait_on_host([region], writes=not readonly)
        else:
            let_wait(region, wish.stream, writes=not readonly)
        region.mark_written()
    except BaseException:
        del capsule  # which a traceback would keep
        raise
    return capsule
