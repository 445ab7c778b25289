"""Arc: one tensor shared by several handles, which can be written again when one is left."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from ..base.dtypes import DType
from ..base.errors import BorrowError
from ..base.shapes import Shape
from ..driver.protocol import Device
from ..op.core import DeviceOp
from ..op.place import Spot, here, place_of
from .borrow import LOCK
from .ownership import Ours
from .partition import Partition, cut
from .region import TensorRecord
from .shape import ShapeLike
from .show import facts, table
from .tensor import PARTITION_HINT, Tensor

E = TypeVar("E", bound=DType)
F = TypeVar("F", bound=DType)


class Core(Generic[E]):
    """What all handles of one Arc share: the tensor, and where each handle was made."""

    __slots__ = ("__weakref__", "handles", "tensor")

    def __init__(self, tensor: Tensor[E]) -> None:
        self.tensor = tensor
        self.handles: list[tuple[weakref.ref[Arc[E]], Spot]] = []

    def owners(self, but: Arc[E] | None = None) -> list[Spot]:
        """Where the live handles were made. Gives no handles: a traceback would keep them."""
        with LOCK:
            self.handles = [(ref, spot) for ref, spot in self.handles if ref() is not None]
            return [spot for ref, spot in self.handles if ref() is not but]

    def count(self) -> int:
        """How many handles live."""
        return len(self.owners())


def _counting(core: Core[Any]) -> Callable[[], int]:
    # Weakly: the core has the tensor, and a circle would keep both until the collector comes.
    ref = weakref.ref(core)

    def count() -> int:
        found = ref()
        return 0 if found is None else found.count()

    return count


class Arc(Ours, Generic[E]):
    """A shared owner of a tensor. `tw.Arc(t)` takes `t` over, `clone()` adds an owner.

    Passing an Arc to an op does not use it up, and assigning it is not a clone. What takes the
    tensor out of it gives it back if it is refused, fails or is dropped before it started.
    """

    __slots__ = ("__weakref__", "_core")

    def __init__(self, tensor: Tensor[E]) -> None:
        title, _ = tensor.take_over("tw.Arc()", "use the Arc; its .value is the tensor")
        core = Core(Tensor[E](tensor.region, title))
        core.tensor.mark_shared(_counting(core))
        self._join(core)

    def _join(self, core: Core[E]) -> None:
        self._core = core
        with LOCK:
            core.handles.append((weakref.ref(self), here()))

    def clone(self) -> Arc[E]:
        """Another owner of the same tensor."""
        self._core.tensor.check_usable()
        other = cast("Arc[E]", Arc.__new__(Arc))
        other._join(self._core)
        return other

    @property
    def value(self) -> Tensor[E]:
        """The tensor, for reading."""
        self._core.tensor.check_usable()
        return self._core.tensor

    @property
    def content(self) -> Tensor[E]:
        """The tensor as it is, usable or not, for launchers."""
        return self._core.tensor

    @property
    def plain(self) -> TensorRecord | None:
        """As a tensor's, for launchers."""
        return self._core.tensor.plain

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

    def reshape(self, shape: ShapeLike) -> Tensor[E]:
        """A view of the tensor with another shape."""
        return self.value.reshape(shape)

    @overload
    def reinterpret(self, dtype: type[F], shape: ShapeLike | None = None) -> Tensor[F]: ...
    @overload
    def reinterpret(self, dtype: npt.DTypeLike, shape: ShapeLike | None = None) -> Tensor[Any]: ...
    def reinterpret(self, dtype: Any, shape: ShapeLike | None = None) -> Tensor[Any]:
        """A view of the tensor's bytes as elements of another type."""
        return self.value.reinterpret(dtype, shape)

    def unwrap_arc(self) -> Tensor[E]:
        """The tensor itself, if this is its only owner; uses the Arc up."""
        with LOCK:
            self._refuse_others("unwrap_arc()")
            hint = "use the tensor that unwrap_arc() gave"
            title, _ = self._core.tensor.hand_over("unwrap_arc()", hint)
        return Tensor(self._core.tensor.region, title)

    def try_partition(self, tile: ShapeLike) -> Partition[E]:
        """Partition the tensor, if this is its only owner; uses the Arc up."""
        region = self._core.tensor.region
        tiling = cut(region.layout, tile)
        with LOCK:
            self._refuse_others("try_partition()")
            what = f"try_partition({tiling.tile})"
            title, ticket = self._core.tensor.hand_over(what, PARTITION_HINT)
        return Partition(Tensor(region, title), tiling, ticket, owned=True)

    def _refuse_others(self, what: str) -> None:
        content = self._core.tensor
        content.check_usable()
        others = self._core.owners(but=self)
        if others:
            raise BorrowError(
                f"{what} needs the only owner of {content!r}; it is shared by {len(others) + 1}",
                places=(
                    ("here", place_of(here())),
                    *(("owner", place_of(spot)) for spot in others),
                ),
                hint="drop the other owners (a notebook's Out[...] or a traceback may hold one)",
            )
        content.refuse_kept(what)

    def _repr_html_(self) -> str:
        owners = [("owner", place_of(spot)) for spot in self._core.owners()]
        return table("Arc", [*facts(self._core.tensor), *owners])

    def __repr__(self) -> str:
        count = self._core.count()
        return f"Arc({self._core.tensor!r}, {count} {'owner' if count == 1 else 'owners'})"
