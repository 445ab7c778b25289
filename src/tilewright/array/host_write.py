"""Writing a tensor from the host: its memory as a NumPy array, for the length of a `with` block."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..base.errors import BorrowError
from ..op.place import here, place_of
from .borrow import LOCK, Ticket, Use
from .lease import HOST_WRITE, Lease
from .order import wait_on_host
from .region import Region


class HostWrite:
    """`with t.borrow_mut().numpy() as a:` writes `t` in place, without a copy.

    Nothing else can use the tensor meanwhile. After the block the array is empty, so the name
    that is left of it sees nothing; parts of it must not be kept.
    """

    __slots__ = ("_array", "_base", "_known", "_lent", "_region", "_ticket")

    def __init__(self, region: Region, ticket: Ticket) -> None:
        self._region = region
        self._ticket = ticket
        self._array: np.ndarray[Any, Any] | None = None

    def __enter__(self) -> np.ndarray[Any, Any]:
        region = self._region
        if not region.storage.device.host_visible:
            raise TypeError(
                f"the host cannot write the memory of {region.storage.device.name} directly;"
                " use t.copy_from(array)"
            )
        self._lent = Lease(HOST_WRITE, here(), self._is_unused)
        region.storage.state.lease(self._lent)
        try:
            wait_on_host([region], writes=True)
        except BaseException:
            self._lent.is_over = _over
            raise
        array = self._array = region.array().view()
        self._base = array.base
        self._known = sys.getrefcount(self._base)
        return array

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        array = self._array
        assert array is not None
        region = self._region
        # An array cannot be taken back from the variable that holds it, but it can be emptied.
        nothing: Any = (1, (0,), array.dtype, False, b"")
        array.__setstate__(nothing)
        self._array = None
        parts = self._base is not None and sys.getrefcount(self._base) >= self._known
        with LOCK:
            region.mark_written()
            use = Use("written by the host through NumPy", self._lent.spot)
            standing = self._ticket if self._ticket.ended_by() is None else None
            region.storage.state.exclude_locked(use, region.part, standing)
        if parts:
            self._lent.is_over = self._is_unused
            if error is None:
                self._refuse_parts()
        else:
            self._lent.is_over = _over

    def _is_unused(self) -> bool:
        """Whether no part of the array is left, after the block."""
        return self._array is None and sys.getrefcount(self._base) < self._known

    def _refuse_parts(self) -> None:
        raise BorrowError(
            "a part of the array is kept after the `with` block in which it could be written",
            places=(("here", place_of(here())), ("lent", place_of(self._lent.spot))),
            hint="copy what you want to keep: part.copy()",
        )


def _over() -> bool:
    return True
