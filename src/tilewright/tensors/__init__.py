"""Tensors: memory on a device with its shape and type, and who may use it when."""

from .arc import Arc
from .create import asarray, empty, empty_like, from_numpy, meta, zeros, zeros_like
from .partition import MappedPartition, Partition
from .pointer import DevicePointer
from .tensor import BorrowMut, Tensor, memcpy, move

__all__ = [
    "Arc",
    "BorrowMut",
    "DevicePointer",
    "MappedPartition",
    "Partition",
    "Tensor",
    "asarray",
    "empty",
    "empty_like",
    "from_numpy",
    "memcpy",
    "meta",
    "move",
    "zeros",
    "zeros_like",
]
