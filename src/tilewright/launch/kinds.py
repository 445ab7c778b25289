"""Type guards for the arguments of a kernel, in a form type checkers follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from ..tensors.arc import Arc
from ..tensors.partition import Partition
from ..tensors.pointer import DevicePointer
from ..tensors.tensor import BorrowMut, Tensor


def is_tensor(x: object) -> TypeGuard[Tensor[Any]]:
    """Return whether x is one of our tensors."""
    return isinstance(x, Tensor)


def is_arc(x: object) -> TypeGuard[Arc[Any]]:
    """Return whether x is a shared tensor."""
    return isinstance(x, Arc)


def is_partition(x: object) -> TypeGuard[Partition[Any]]:
    """Return whether x is a partition."""
    return isinstance(x, Partition)


def is_borrow(x: object) -> TypeGuard[BorrowMut[Any]]:
    """Return whether x is an exclusive borrow."""
    return isinstance(x, BorrowMut)


def is_pointer(x: object) -> TypeGuard[DevicePointer[Any]]:
    """Return whether x is a raw pointer."""
    return isinstance(x, DevicePointer)


def kind_of(x: object) -> type:
    """Return the class of x."""
    return type(x)


def is_shape(x: object) -> TypeGuard[Sequence[int]]:
    """Return whether x can be a shape."""
    return isinstance(x, tuple | list)
