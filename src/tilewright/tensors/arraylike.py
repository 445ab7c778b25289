"""The arrays of other libraries, as type checkers know them: by what they export."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np


class SupportsDLPack(Protocol):
    """An array of another library, such as a torch tensor."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """Export the array."""
        ...


class SupportsArrayInterface(Protocol):
    """An array of the host that says where its memory is."""

    @property
    def __array_interface__(self) -> Any:
        """Its memory, by NumPy's protocol."""
        ...


class SupportsCudaArrayInterface(Protocol):
    """An array of a GPU that says where its memory is, such as one of Numba."""

    @property
    def __cuda_array_interface__(self) -> Any:
        """Its memory, by Numba's protocol."""
        ...


ArrayLike: TypeAlias = (
    np.ndarray[Any, Any] | SupportsDLPack | SupportsArrayInterface | SupportsCudaArrayInterface
)
"""What has memory that a tensor can share."""
