"""Basic indexing of strided memory: ints, slices, `...` and None give the part they select."""

from __future__ import annotations

from numbers import Integral
from types import EllipsisType
from typing import SupportsIndex, TypeAlias

from ..base.errors import ShapeError
from ..base.messages import number_text
from ..base.shapes import Shape

Index: TypeAlias = "SupportsIndex | slice | EllipsisType | None"
KINDS: tuple[type, ...] = (slice, Integral, EllipsisType, type(None))
Key: TypeAlias = "Index | tuple[Index, ...]"


def select(shape: Shape, strides: Shape, key: Key) -> tuple[Shape, Shape, int]:
    """Return the selected part's shape and strides, and how many elements it starts further on."""
    if type(key) is slice and shape:  # most are that, and each launch may make one
        count, stride, offset = _sliced(key, shape[0], strides[0])
        return (count, *shape[1:]), (stride, *strides[1:]), offset
    dims: list[tuple[int, int]] = []
    offset, axis = 0, 0
    for index in _spelled_out(shape, key):
        if index is None:
            dims.append((1, 0))
            continue
        extent, stride = shape[axis], strides[axis]
        if isinstance(index, slice):
            count, step, start = _sliced(index, extent, stride)
            offset += start
            dims.append((count, step))
        else:
            offset += _position(index, extent, axis) * stride
        axis += 1
    return tuple(n for n, _ in dims), tuple(s for _, s in dims), offset


def _sliced(index: slice, extent: int, stride: int) -> tuple[int, int, int]:
    """Return the extent and the stride of a sliced axis, and how many elements it starts further
    on.
    """
    start, stop, step = index.indices(extent)
    count = len(range(start, stop, step))
    return count, stride * step, start * stride if count else 0


def _spelled_out(shape: Shape, key: Key) -> list[SupportsIndex | slice | None]:
    """Return one index per axis (and None for new ones): expand `...` and missing indices."""
    given = list(key) if isinstance(key, tuple) else [key]
    for index in given:
        if isinstance(index, bool) or not isinstance(index, KINDS):
            raise TypeError(
                f"a tensor is indexed by ints, slices, `...` and None, not {type(index).__name__}"
            )
    named = sum(index is not None and index is not Ellipsis for index in given)
    if named > len(shape):
        raise ShapeError(
            f"{named} indices for a tensor of {len(shape)} axes", expected=f"at most {len(shape)}"
        )
    if given.count(Ellipsis) > 1:
        raise ShapeError("more than one `...` in an index")
    if Ellipsis not in given:
        given.append(Ellipsis)
    at = given.index(Ellipsis)
    rest: list[SupportsIndex | slice | None] = [slice(None)] * (len(shape) - named)
    spelled = [*given[:at], *rest, *given[at + 1 :]]
    return [index for index in spelled if not isinstance(index, EllipsisType)]


def _position(index: SupportsIndex, extent: int, axis: int) -> int:
    position = index.__index__()
    if not -extent <= position < extent:
        raise IndexError(
            f"index {number_text(position)} is out of range for axis {axis} with extent {extent}"
        )
    return position + extent if position < 0 else position
