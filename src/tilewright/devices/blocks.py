"""Copies and fills blocks of host memory, through NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import DriverError
from .protocol import Block

_SAME_SIZE = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"}
"""Elements are moved as unsigned ints of their size."""


class _Interface:
    def __init__(self, block: Block) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": _SAME_SIZE[block.itemsize],
            "shape": block.shape,
            "strides": block.strides,
            "data": (block.address, False),
        }


def array_of(block: Block) -> np.ndarray[Any, Any]:
    """Return the memory of a block as an array; the caller keeps the memory alive."""
    if 0 in block.shape:
        return np.empty(block.shape, _SAME_SIZE[block.itemsize])
    return np.asarray(_Interface(block))


def copy_on_host(target: Block, source: Block) -> None:
    """Copy now; where the two overlap, as if through a copy of the source."""
    np.copyto(array_of(target), array_of(source))


def fill_on_host(target: Block, element: bytes) -> None:
    """Write one element everywhere, now."""
    check_element(target, element)
    array_of(target)[...] = np.frombuffer(element, _SAME_SIZE[target.itemsize])[0]


def check_element(target: Block, element: bytes) -> None:
    """Refuse an element of another size than the block's."""
    if len(element) != target.itemsize:
        raise DriverError(
            "a block cannot be filled",
            expected=f"an element of {target.itemsize} bytes",
            got=f"{len(element)} bytes",
        )
