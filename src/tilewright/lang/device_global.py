"""Device memory that outlives launches: created and read on the host, used by unsafe kernels.

hits = tl.Global(i32)

@tw.entry(unsafe=True)
def count(x: tl.Tensor[f32]) -> None:
    hits.atomic_add(1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ..base.dtypes import AnyDType
from ..base.host import Host
from ..base.shapes import Shape
from .memory import AtomicOrdering
from .pointer import LoadOrdering, ScopeLike, StoreOrdering
from .tile import E, Number, ShapeLike, Tile

if TYPE_CHECKING:
    from ..devices.protocol import Device

    Where: TypeAlias = Device | str | None


class GlobalMemory(Protocol):
    """The interface of a global to the host, which owns one copy of the memory on each device."""

    def __init__(self, dtype: Any, initial: npt.ArrayLike, shape: ShapeLike | None) -> None: ...

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        ...

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        ...

    def read(self, device: Where) -> np.ndarray[Any, Any]:
        """Return a copy of the values on a device."""
        ...

    def write(self, values: npt.ArrayLike, device: Where) -> None:
        """Replace the values on a device."""
        ...

    def reset(self, device: Where) -> None:
        """Restore the initial values on a device."""
        ...


class Global(Generic[E]):
    """A value, or an array of them, that each device keeps between launches.

    `tl.Global(i32)` is one number, 0 at first; `tl.Global(i32, 7)` starts at 7,
    `tl.Global(f32, shape=(16,))` is an array of zeros, `tl.Global(f32, array)` starts as a copy of
    the array. Kernels reach it by its name, in unsafe code only: whose writes are seen when is up
    to them. Methods of the host run at once, on the default device if none is named.
    """

    def __init__(
        self, dtype: type[E], initial: npt.ArrayLike = 0, shape: ShapeLike | None = None
    ) -> None:
        self._memory: GlobalMemory = Host.memory(dtype, initial, shape)

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        return cast("type[E]", self._memory.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis; () for one value."""
        return self._memory.shape

    # --- in kernels ----------------------------------------------------------------------------

    def load(self, *, ordering: LoadOrdering = "weak", scope: ScopeLike = "device") -> Tile[E]:
        """Read the whole global: a scalar, or a tile of its shape."""
        _refuse("load", "g.to_numpy()")

    def store(
        self, value: Number, *, ordering: StoreOrdering = "weak", scope: ScopeLike = "device"
    ) -> None:
        """Write the whole global; the value broadcasts to its shape."""
        _refuse("store", "g.copy_from(value)")

    def atomic_add(
        self, value: Number, *, ordering: AtomicOrdering = "acq_rel", scope: ScopeLike = "device"
    ) -> Tile[E]:
        """Add to each element; return the old values."""
        _refuse("atomic_add", "g.copy_from(g.to_numpy() + value)")

    # --- on the host ---------------------------------------------------------------------------

    def to_numpy(self, *, device: Where = None) -> np.ndarray[Any, Any]:
        """Return a copy of the value on a device, immediately."""
        return self._memory.read(device)

    def copy_from(self, values: npt.ArrayLike, *, device: Where = None) -> None:
        """Replace the value on a device, immediately; a number fills the whole array."""
        self._memory.write(values, device)

    def reset(self, *, device: Where = None) -> None:
        """Restore the initial value on a device, immediately."""
        self._memory.reset(device)

    @property
    def memory(self) -> GlobalMemory:
        """The memory behind it, for launchers."""
        return self._memory

    def __bool__(self) -> NoReturn:
        raise TypeError("a global has no truth value; read it: g.load(), on the host g.to_numpy()")

    def __repr__(self) -> str:
        return f"Global({self._memory.dtype.name}, shape={self.shape})"


def _refuse(method: str, instead: str) -> NoReturn:
    raise TypeError(
        f"Global.{method} can only be used inside a kernel\n  hint: on the host use {instead}"
    )
