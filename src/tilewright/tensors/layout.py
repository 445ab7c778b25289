"""Layouts: element type, shape and strides, and what follows from them, worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .._core import Layout as NativeLayout
from .._core import Tiling as NativeTiling
from ..base.dtypes import AnyDType
from ..base.errors import ShapeError
from ..base.shapes import OWNED, Shape, grid_of, row_major_strides, size

WORD = (1 << 64) - 1
FARTHEST = (1 << 63) - 1
"""More bytes than any memory has: what reaches further describes none."""

MOST_KEPT = 4096
"""Layouts, and ways to cut them, that are remembered for the next tensor of their kind."""


class Layout(NativeLayout):
    """Element type, shape and strides (in elements): a tensor without its memory.

    Tensors alike share one layout, so launches look up by identity what they know of its kind.
    """

    __slots__ = (
        "dtype", "is_contiguous", "is_injective", "is_packed", "shape", "strides", "unit_axis",
        "words",
    )  # fmt: skip

    def __init__(self, dtype: AnyDType, shape: Shape, strides: Shape) -> None:
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.unit_axis = _unit_axis(shape, strides)
        """The axis of neighbouring elements: the last one if it can be, else any."""
        self.words = (*shape, *_stride_words(strides, self.unit_axis))
        """Extents and strides as the 64-bit words in which kernels receive them."""
        self.is_contiguous = _is_contiguous(shape, strides)
        """Whether the elements lie one after the other in row-major order."""
        self.is_packed = strides == row_major_strides(shape)
        """Whether it is that of a tensor as it is made."""
        self.is_injective = _is_injective(shape, strides)
        """Whether different indices always denote different elements, as a written tensor requires.
        """
        self.low, self.high = _span(shape, strides, dtype.itemsize)
        """Bytes from the first element to the lowest address, and to the one behind the last."""
        self.covers = min(size(shape) * dtype.itemsize, FARTHEST) if self.is_injective else -1
        """How many different bytes the elements take; -1 where indices may share memory."""

    def __repr__(self) -> str:
        return f"Layout({self.dtype.name}, shape={self.shape}, strides={self.strides})"


@lru_cache(MOST_KEPT)
def layout_of(dtype: AnyDType, shape: Shape, strides: Shape) -> Layout:
    """Return the layout of these facts; the same object each time while it is remembered."""
    return Layout(dtype, shape, strides)


def refuse_shared_indices(layout: Layout) -> None:
    """Raise if two indices denote one element, so that writing one changes the other."""
    if not layout.is_injective:
        raise ShapeError(
            "a tensor whose indices share memory cannot be written",
            got=f"shape {layout.shape}, strides {layout.strides}",
            hint="write a copy: t.dup() of a tensor, a.copy() of an array",
        )


def row_major(dtype: AnyDType, shape: Shape) -> Layout:
    """Return the layout of a contiguous tensor."""
    return layout_of(dtype, shape, row_major_strides(shape))


@dataclass(frozen=True, slots=True)
class Mapping:
    """How blocks share the tiles of a mapped partition: each visits many, one after the other."""

    groups: Shape
    """The shape of the groups in which tiles are visited; 0 along an axis that is not walked."""
    num_tile_blocks: int | None = None
    """How many blocks share them; None: as many as the device runs at once."""

    def walked(self, per_axis: Shape) -> Shape:
        """Return the values of the axes that are walked."""
        return tuple(n for n, group in zip(per_axis, self.groups, strict=True) if group != OWNED)


class Tiling(NativeTiling):
    """A layout cut into tiles: the part of a partition that needs no memory."""

    __slots__ = ("grid", "layout", "mapping", "partial", "tile")

    def __init__(
        self, layout: Layout, tile: Shape, mapping: Mapping | None = None, partial: bool = False
    ) -> None:
        self.layout = layout
        self.tile = tile
        """The shape of one tile."""
        self.grid = grid_of(layout.shape, tile)
        """How many tiles there are along each axis."""
        self.mapping = mapping
        """How blocks share them; None: every block has one."""
        self.partial = partial
        """Whether a launch may have fewer blocks than there are tiles."""


@lru_cache(MOST_KEPT)
def tiling_of(
    layout: Layout, tile: Shape, mapping: Mapping | None = None, partial: bool = False
) -> Tiling:
    """Return the layout divided into tiles of its rank; the same object each time."""
    return Tiling(layout, tile, mapping, partial)


def _unit_axis(shape: Shape, strides: Shape) -> int | None:
    """Set the stride of an axis with at most one element to 1, since it is never used."""
    if not shape:
        return None
    if strides[-1] == 1 or shape[-1] <= 1:
        return len(shape) - 1
    return strides.index(1) if 1 in strides else None


def _stride_words(strides: Shape, unit: int | None) -> list[int]:
    return [1 if axis == unit else s & WORD for axis, s in enumerate(strides)]


def _is_contiguous(shape: Shape, strides: Shape) -> bool:
    rows = row_major_strides(shape)
    return size(shape) == 0 or all(
        n == 1 or a == b for n, a, b in zip(shape, strides, rows, strict=True)
    )


def _is_injective(shape: Shape, strides: Shape) -> bool:
    if 0 in shape:
        return True  # there are no indices
    reach = 1
    for stride, extent in sorted((abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride < reach:
            return False
        reach = stride * extent
    return True


def _span(shape: Shape, strides: Shape, item: int) -> tuple[int, int]:
    if 0 in shape:
        return 0, 0
    reaches = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low, high = sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0)
    return max(low * item, -FARTHEST), min((high + 1) * item, FARTHEST)
