"""The types of what may be given to a kernel, for the annotations of launchers and of users."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from ..array.arc import Arc
from ..array.partition import Partition
from ..array.pointer import DevicePointer
from ..array.tensor import BorrowMut, Tensor


class SupportsDLPack(Protocol):
    """An array of another library, such as a torch tensor."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """Export the array."""
        ...


KernelArg: TypeAlias = (
    Tensor[Any]
    | Partition[Any]
    | BorrowMut[Any]
    | Arc[Any]
    | DevicePointer[Any]
    | np.ndarray[Any, Any]
    | np.generic
    | SupportsDLPack
    | float
    | int
)
"""A kernel's positional argument. An op that gives one is accepted as well."""
