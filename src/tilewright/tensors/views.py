"""Other ways to see a region's memory: another shape, a part, other axes, another element type."""

from __future__ import annotations

import operator
from builtins import slice as slice_type
from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias

from ..base import dtypes as dt
from ..base.dtypes import AnyDType, as_dtype
from ..base.errors import ShapeError
from ..base.shapes import Shape, size
from .indexing import Key, select
from .layout import layout_of, row_major
from .region import Region
from .shape import ShapeLike, as_shape, fill_in

Range: TypeAlias = range | slice_type
"""A part of one axis: `range(1, 3)`, or `slice(1, None)`; its step is 1."""


def in_memory(dtype: Any) -> AnyDType:
    """Return the element type of that name, which must exist in memory."""
    found = as_dtype(dtype)
    if found is dt.f4e2m1fn:
        raise ShapeError(
            "f4e2m1fn has no unpacked memory format",
            expected="pairs of f4e2m1fn packed into bytes: dtype f4e2m1fnx2",
            got="f4e2m1fn",
        )
    return found


def reshaped(region: Region, shape: ShapeLike) -> Region:
    """Return the same elements in another shape."""
    dims = fill_in(shape, size(region.shape))
    refuse_gaps(region, "seen in another shape")
    return Region(region.storage, row_major(region.dtype, dims), region.address)


def selected(region: Region, key: Key) -> Region:
    """Return the part that an index selects."""
    shape, strides, offset = select(region.shape, region.strides, key)
    address = region.address + offset * region.dtype.itemsize
    return Region(region.storage, layout_of(region.dtype, shape, strides), address)


def sliced(region: Region, ranges: Sequence[Range]) -> Region:
    """Return a rectangular part: one range per axis, from the first; missing ones are whole.

    Unlike an index, a range that leaves its axis is an error.
    """
    shape = region.shape
    if len(ranges) > len(shape):
        raise ShapeError(
            "slice() got more ranges than the tensor has axes",
            expected=f"at most {len(shape)}, for the shape {shape}",
            got=str(len(ranges)),
        )
    return selected(region, tuple([_within(axis, shape, r) for axis, r in enumerate(ranges)]))


def _within(axis: int, shape: Shape, given: Any) -> slice_type:
    if type(given) in (list, tuple):
        raise TypeError("slice() takes a range per axis, each as a separate argument:"
                        " t.slice(range(1, 3), range(0, 2)), or t[1:3, :2]")  # fmt: skip
    if type(given) not in (range, slice_type):
        raise TypeError(
            f"slice() takes a range per axis, such as range(1, 3), got {type(given).__name__};"
            " use t[...] for single indices"
        )
    start: int = 0 if given.start is None else given.start
    stop: int = shape[axis] if given.stop is None else given.stop
    if given.step not in (None, 1) or not 0 <= start <= stop <= shape[axis]:
        raise ShapeError(
            f"slice() got a range that does not lie in axis {axis}",
            expected=f"0 <= start <= stop <= {shape[axis]}, step 1",
            got=str(given),
            hint="t[...] takes steps, and negative indices count from the end",
        )
    return slice_type(start, stop)


def permuted(region: Region, order: Sequence[SupportsIndex]) -> Region:
    """Return the same elements with the axes in another order."""
    rank = len(region.shape)
    axes = [axis_of(axis, rank) for axis in order]
    if sorted(axes) != list(range(rank)):
        raise ShapeError(
            "permute() needs a permutation of the axes",
            expected=f"each of 0 to {rank - 1} once" if rank else "no axes",
            got=str(tuple(order)),
        )
    shape = tuple([region.shape[axis] for axis in axes])
    strides = tuple([region.strides[axis] for axis in axes])
    return Region(region.storage, layout_of(region.dtype, shape, strides), region.address)


def swapped(region: Region, axis0: SupportsIndex, axis1: SupportsIndex) -> Region:
    """Return the same elements with two axes exchanged."""
    order = list(range(len(region.shape)))
    one, other = axis_of(axis0, len(order)), axis_of(axis1, len(order))
    order[one], order[other] = order[other], order[one]
    return permuted(region, order)


def axis_of(axis: SupportsIndex, rank: int) -> int:
    """Return an axis as a number from 0; raise a ShapeError if there is none."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise ShapeError(
            f"there is no axis {number}",
            expected=f"-{rank} <= axis < {rank}" if rank else "a tensor that has axes",
            got=str(number),
        )
    return number % rank


def reinterpreted(region: Region, dtype: Any, shape: ShapeLike | None) -> Region:
    """Return the same bytes as elements of another type; without a shape, the last axis changes."""
    found = in_memory(dtype)
    refuse_gaps(region, "seen as another element type")
    nbytes = size(region.shape) * region.dtype.itemsize
    dims = _fitting(region, found) if shape is None else as_shape(shape)
    if size(dims) * found.itemsize != nbytes:
        raise ShapeError(
            "the bytes of a tensor stay the same when its element type changes",
            expected=f"a shape of {nbytes} bytes",
            got=f"{dims} of {found.name}, which has {size(dims) * found.itemsize}",
        )
    if region.address % found.itemsize:
        raise ShapeError(
            f"this tensor does not start where elements of {found.name} may",
            expected=f"an address that is a multiple of {found.itemsize}",
            got=f"one that is {region.address % found.itemsize} beyond",
            hint="copy it first: t.dup().sync()",
        )
    return Region(region.storage, row_major(found, dims), region.address)


def _fitting(region: Region, dtype: AnyDType) -> Shape:
    """Return the shape whose last axis holds as many bytes as before."""
    if dtype.itemsize == region.dtype.itemsize:
        return region.shape
    *outer, last = region.shape or (1,)
    nbytes = last * region.dtype.itemsize
    if nbytes % dtype.itemsize or not region.shape:
        raise ShapeError(
            f"the last axis cannot be seen as elements of {dtype.name}",
            expected=f"a multiple of {dtype.itemsize} bytes along the last axis",
            got=f"{nbytes} bytes, for the shape {region.shape}",
            hint="say the new shape: t.reinterpret(dtype, shape)",
        )
    return (*outer, nbytes // dtype.itemsize)


def refuse_gaps(region: Region, what: str) -> None:
    """Raise if the elements do not lie one after the other."""
    if not region.layout.is_contiguous:
        raise ShapeError(
            f"only a contiguous tensor can be {what}",
            got=f"shape {region.shape}, strides {region.strides}",
            hint="copy it first: t.dup().sync()",
        )
