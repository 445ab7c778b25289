"""Arc: one tensor shared by several handles, which can be written again when one is left."""

from __future__ import annotations

import weakref
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from ..base.dtypes import DType
from ..base.errors import BorrowError
from ..base.shapes import Shape
from ..driver.protocol import Device
from ..op.core import DeviceOp
from ..op.place import Spot, here, place_of
from .partition import Partition, cut
from .shape import ShapeLike
from .tensor import Tensor

E = TypeVar("E", bound=DType)


class UsedUp(NamedTuple):
    """Where an Arc gave its tensor back."""

    spot: Spot


class _Core(Generic[E]):
    """What all handles of one Arc share: the tensor, and where each handle was made."""

    def __init__(self, tensor: Tensor[E]) -> None:
        self.tensor = tensor
        self.handles: list[tuple[weakref.ref[Arc[E]], Spot]] = []

    def owners(self, but: Arc[E] | None = None) -> list[Spot]:
        """Where the live handles were made. Gives no handles: a traceback would keep them."""
        return [spot for ref, spot in self.handles if ref() not in (None, but)]


class Arc(Generic[E]):
    """A shared owner of a tensor. `tw.Arc(t)` takes `t` over, `clone()` adds an owner.

    Passing an Arc to an op does not use it up.
    """

    __slots__ = ("__weakref__", "_core", "_used")

    def __init__(self, tensor: Tensor[E]) -> None:
        title, _ = tensor.take_over("tw.Arc()", "use the Arc; its .value is the tensor")
        content = Tensor[E](tensor.region, title)
        content.mark_shared()
        self._join(_Core(content))

    def _join(self, core: _Core[E]) -> None:
        self._core = core
        self._used: UsedUp | None = None
        core.handles.append((weakref.ref(self), here()))

    def clone(self) -> Arc[E]:
        """Another owner of the same tensor."""
        self._check()
        other = cast("Arc[E]", Arc.__new__(Arc))
        other._join(self._core)
        return other

    @property
    def value(self) -> Tensor[E]:
        """The tensor, for reading."""
        self._check()
        return self._core.tensor

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self._core.tensor.shape

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        return self._core.tensor.dtype

    @property
    def device(self) -> Device:
        """Where the tensor lives."""
        return self._core.tensor.device

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A copy as a NumPy array, now."""
        return self.value.to_numpy()

    def copy_to_host(self) -> DeviceOp[np.ndarray[Any, Any]]:
        """An op that copies to a NumPy array; `op.to_numpy` does this."""
        return self.value.copy_to_host()

    def to_host_vec(self) -> DeviceOp[np.ndarray[Any, Any]]:
        """An op that copies all elements, in row-major order, to a NumPy array of one axis."""
        return self.value.to_host_vec()

    def dup(self) -> DeviceOp[Tensor[E]]:
        """An op that copies the tensor into a new one."""
        return self.value.dup()

    def unwrap_arc(self) -> Tensor[E]:
        """The tensor itself, if this is its only owner; uses the Arc up."""
        self._check()
        self._refuse_others("unwrap_arc()")
        self._used = UsedUp(here())
        self._core.tensor.mark_shared(shared=False)
        return self._core.tensor

    def try_partition(self, tile: ShapeLike) -> Partition[E]:
        """Partition the tensor, if this is its only owner; uses the Arc up."""
        self._check()
        self._refuse_others("try_partition()")
        tiling = cut(self._core.tensor.region.layout, tile)
        return self.unwrap_arc().partition(tiling.tile)

    def __repr__(self) -> str:
        return f"Arc({self._core.tensor!r}, {len(self._core.owners())} owners)"

    def _check(self) -> None:
        if self._used is not None:
            raise BorrowError(
                "this Arc was used up",
                places=(("here", place_of(here())), ("used", place_of(self._used.spot))),
                hint="use what it gave",
            )

    def _refuse_others(self, what: str) -> None:
        others = self._core.owners(but=self)
        if others:
            raise BorrowError(
                f"{what} needs the only owner of {self._core.tensor!r}; it is shared by"
                f" {len(others) + 1}",
                places=tuple(("owner", place_of(spot)) for spot in others),
                hint="drop the other owners (a notebook's Out[...] or a traceback may hold one)",
            )
