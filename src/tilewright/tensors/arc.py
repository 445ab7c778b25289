"""Arc: one tensor shared by several handles, which can be written again when one is left."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from ..base.dtypes import DType
from ..base.errors import BorrowError
from ..base.shapes import Shape
from ..devices.protocol import Device
from ..op.core import DeviceOp
from ..op.place import Location, here, place_of
from .borrow import LOCK, Ticket
from .indexing import Key
from .ownership import Ours, Title
from .partition import Partition, cut
from .pointer import DevicePointer
from .region import Region
from .shape import ShapeLike, one_shape
from .show import html_of
from .tensor import PARTITION_HINT, Tensor
from .views import Range, reinterpreted, reshaped

E = TypeVar("E", bound=DType)
F = TypeVar("F", bound=DType)


class Owners:
    """Who owns a tensor in common: all handles, and the forms in which they have it."""

    __slots__ = ("__weakref__", "_contents", "_handles")

    def __init__(self) -> None:
        self._handles: list[tuple[weakref.ref[Arc[Any]], Location]] = []
        self._contents: list[weakref.ref[Tensor[Any]]] = []

    def join(self, handle: Arc[Any]) -> None:
        """Note one more handle, made where the program stands."""
        with LOCK:
            self._handles.append((weakref.ref(handle), here()))

    def add_content(self, tensor: Tensor[Any]) -> None:
        """Note that handles have the tensor in this form."""
        with LOCK:
            alive = [ref for ref in self._contents if ref() is not None]
            self._contents = [*alive, weakref.ref(tensor)]

    def others(self, tensor: Tensor[Any]) -> list[Tensor[Any]]:
        """Return the other live forms of the tensor."""
        found = [ref() for ref in self._contents]
        return [each for each in found if each is not None and each is not tensor]

    def locations(self, but: Arc[Any] | None = None) -> list[Location]:
        """Return where the live handles were made, not the handles: a traceback would keep them."""
        with LOCK:
            self._handles = [
                (ref, location) for ref, location in self._handles if ref() is not None
            ]
            return [location for ref, location in self._handles if ref() is not but]


class Core(Generic[E]):
    """A shared tensor in one form, and who owns it in this form or another."""

    __slots__ = ("owners", "tensor")

    def __init__(self, tensor: Tensor[E], owners: Owners) -> None:
        self.tensor = tensor
        self.owners = owners
        # Weakly: who owns it has the tensor, and a circle would keep both for long.
        tensor.mark_shared(_counting(weakref.ref(owners)))
        owners.add_content(tensor)


def _counting(ref: weakref.ref[Owners]) -> Callable[[], int]:
    def count() -> int:
        found = ref()
        return 0 if found is None else len(found.locations())

    return count


class Arc(Ours, Generic[E]):
    """A shared owner of a tensor. `tw.Arc(t)` takes `t` over, `clone()` adds an owner.

    Passing an Arc to an op does not use it up, and assigning it is not a clone. What takes the
    tensor out of it gives it back if it is refused, fails or is dropped before it started.
    """

    __slots__ = ("__weakref__", "_core")
    LISTED = (
        "T clone device device_id device_pointer dtype dup is_contiguous item nbytes ndim "
        "num_bytes partition permute reinterpret reshape shape size slice strides to to_host_vec "
        "to_numpy transpose try_partition unwrap_arc value view"
    )

    def __init__(self, tensor: Tensor[E]) -> None:
        given: Any = tensor
        if not isinstance(given, Tensor):
            raise TypeError(f"`tw.Arc` takes over a tensor, got {type(given).__name__}")
        title, _ = tensor.take_over("tw.Arc()", "use the Arc; its .value is the tensor")
        self._core = Core(Tensor[E](tensor.region, title), Owners())
        self._core.owners.join(self)

    @staticmethod
    def _of(core: Core[F]) -> Arc[F]:
        """Return one more owner."""
        made = cast("Arc[F]", Arc.__new__(Arc))
        made._core = core
        core.owners.join(made)
        return made

    def clone(self) -> Arc[E]:
        """Return another owner of the same tensor."""
        self._core.tensor.check_usable()
        return Arc._of(self._core)

    def _in_form(self, region: Region) -> Arc[Any]:
        """Return another owner, with the tensor in another form."""
        with LOCK:
            tensor: Tensor[Any] = self.value.in_form(region)
            return Arc._of(Core(tensor, self._core.owners))

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
    def plain(self) -> Region | None:
        """As a tensor's, for launchers."""
        return cast("Region | None", self._core.tensor.plain)

    # What its tensor is, and can do

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self._core.tensor.shape

    @property
    def strides(self) -> Shape:
        """How many elements apart neighbours along each axis are."""
        return self._core.tensor.strides

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        return self._core.tensor.dtype

    @property
    def device(self) -> Device:
        """Where the tensor lives."""
        return self._core.tensor.device

    @property
    def device_id(self) -> int | None:
        """The number of the GPU the tensor lives on; None: it lives on the host."""
        return self._core.tensor.device_id

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._core.tensor.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._core.tensor.size

    @property
    def num_bytes(self) -> int:
        """The number of bytes all elements take."""
        return self._core.tensor.num_bytes

    @property
    def nbytes(self) -> int:
        """How many bytes the elements take; `num_bytes` is another name."""
        return self._core.tensor.num_bytes

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other in row-major order."""
        return self._core.tensor.is_contiguous

    def __len__(self) -> int:
        return len(self._core.tensor)

    def device_pointer(self) -> DevicePointer[E]:
        """Return the raw address, for unsafe kernels."""
        return self.value.device_pointer()

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy as a NumPy array, now."""
        return self.value.to_numpy()

    def copy_to_host(self) -> DeviceOp[np.ndarray[Any, Any]]:
        """Return an op that copies to a NumPy array; `op.to_numpy` does this."""
        return self.value.copy_to_host()

    def to_host_vec(self) -> DeviceOp[np.ndarray[Any, Any]]:
        """Return an op that copies all elements, in row-major order, to a NumPy array of rank 1."""
        return self.value.to_host_vec()

    def item(self) -> E:
        """Return the only element as a Python number, now."""
        return self.value.item()

    def copy_item(self) -> DeviceOp[E]:
        """Return an op that gives the only element as a Python number; `op.item` does this."""
        return self.value.copy_item()

    def dup(self) -> DeviceOp[Tensor[E]]:
        """Return an op that copies the tensor into a new one."""
        return self.value.dup()

    def to(self, device: Device | str) -> DeviceOp[Tensor[E]]:
        """Return an op that copies the tensor into a new one on a device."""
        return self.value.to(device)

    def reshape(self, *shape: ShapeLike) -> Arc[E]:
        """Return another owner, with the tensor in another shape; it must be contiguous."""
        return self._in_form(reshaped(self.value.region, one_shape(shape)))

    @overload
    def reinterpret(self, dtype: type[F], shape: ShapeLike | None = None) -> Arc[F]: ...
    @overload
    def reinterpret(self, dtype: npt.DTypeLike, shape: ShapeLike | None = None) -> Arc[Any]: ...
    def reinterpret(self, dtype: Any, shape: ShapeLike | None = None) -> Arc[Any]:
        """Return another owner, with the tensor's bytes as elements of another type."""
        return self._in_form(reinterpreted(self.value.region, dtype, shape))

    def into_shape(self, *shape: ShapeLike) -> Arc[E]:
        """Do as `reshape`; `op.reshape` does this."""
        return self.reshape(*shape)

    def into_type(self, dtype: Any, shape: ShapeLike | None = None) -> Arc[Any]:
        """Do as `reinterpret`; `op.reinterpret` does this."""
        return self.reinterpret(dtype, shape)

    def view(self, *shape: ShapeLike) -> Tensor[E]:
        """Return a view of the tensor with another shape; `reshape` returns an owner instead."""
        return self.value.view(*shape)

    def slice(self, *ranges: Range) -> Tensor[E]:
        """Return a view of a rectangular part, one range per axis."""
        return self.value.slice(*ranges)

    def permute(self, *order: SupportsIndex) -> Tensor[E]:
        """Return a view with the axes in another order."""
        return self.value.permute(*order)

    def transpose(self, axis0: SupportsIndex = -2, axis1: SupportsIndex = -1) -> Tensor[E]:
        """Return a view with two axes exchanged, by default the last two."""
        return self.value.transpose(axis0, axis1)

    @property
    def T(self) -> Tensor[E]:  # noqa: N802 - the name it has everywhere
        """A view with the axes in reverse order."""
        return self.value.T

    def __getitem__(self, key: Key) -> Tensor[E]:
        """Return a view of a part: ints, slices, `...` and None, as in NumPy."""
        return self.value[key]

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's identifier of the device."""
        return self._core.tensor.__dlpack_device__()

    def __dlpack__(self, **wishes: Any) -> object:
        """Export the tensor for reading, as it does itself."""
        return self.value.__dlpack__(**wishes)

    if not TYPE_CHECKING:
        # For type checkers, arithmetic of NumPy arrays with an Arc is a plain error.
        __array_ufunc__ = None

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
            return self.value.__array__(dtype, copy)

    # Taking the tensor out

    def unwrap_arc(self) -> Tensor[E]:
        """Return the tensor itself, if this is its only owner; uses the Arc up."""
        with LOCK:
            self._refuse_others("unwrap_arc()")
            hint = "use the tensor that unwrap_arc() returned"
            title, _ = self._hand_over("unwrap_arc()", hint)
        return Tensor(self._core.tensor.region, title)

    def partition(self, tile: ShapeLike) -> Partition[E]:
        """Return the same as `try_partition`."""
        return self.try_partition(tile)

    def try_partition(self, tile: ShapeLike) -> Partition[E]:
        """Partition the tensor, if this is its only owner; uses the Arc up."""
        region = self._core.tensor.region
        tiling = cut(region.layout, tile)
        with LOCK:
            self._refuse_others("try_partition()")
            what = f"try_partition({tiling.tile})"
            title, ticket = self._hand_over(what, PARTITION_HINT)
        tensor: Tensor[E] = Tensor(region, title)
        return Partition(tensor, tiling, ticket, owned=True)

    def _hand_over(self, what: str, hint: str) -> tuple[Title, Ticket]:
        """Take the tensor out, in all its forms. Call it with the lock held."""
        content = self._core.tensor
        return content.hand_over(what, hint, self._core.owners.others(content))

    def _refuse_others(self, what: str) -> None:
        content = self._core.tensor
        content.check_usable()
        others = self._core.owners.locations(but=self)
        if others:
            raise BorrowError(
                f"{what} needs the only owner of {content.summary};"
                f" it is shared by {len(others) + 1}",
                places=(
                    ("here", place_of(here())),
                    *(("owner", place_of(location)) for location in others),
                ),
                hint="drop the other owners (a notebook's Out[...] or a traceback may hold one)",
            )
        content.refuse_kept(what)

    def _repr_html_(self) -> str:
        owners = [("owner", place_of(location)) for location in self._core.owners.locations()]
        return html_of(self._core.tensor, "Arc", owners)

    def __repr__(self) -> str:
        count = self._core.tensor.owners()
        return f"Arc({self._core.tensor.summary}, {count} {'owner' if count == 1 else 'owners'})"
