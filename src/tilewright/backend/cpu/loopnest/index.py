"""Index algebra: the loops that determine an element of a tile, through every layout op.

An index has one entry per tile axis. An entry is a sequence of fields, the most significant first,
whose sizes multiply to the extent (a mixed-radix number). A field is a loop variable, a part of a
run-time number (taken modulo its size) or a constant. Layout ops only regroup fields, so they never
touch memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from ....base.shapes import Shape
from ....ir.core import Value


@dataclass(eq=False, slots=True)
class Loop:
    """A loop variable that runs over 0 .. size - 1."""

    size: int
    name: str


@dataclass(frozen=True, slots=True)
class IndexField:
    """The number (source // divide) % size; a loop is always taken whole."""

    source: Loop | Value | int
    size: int
    divide: int = 1


Axis: TypeAlias = tuple[IndexField, ...]
Index: TypeAlias = tuple[Axis, ...]


class NeedSplit(Exception):  # noqa: N818 - not an error: it asks for finer loops
    """An axis ends in the middle of a loop: the loop must become two, the inner of size `low`."""

    def __init__(self, loop: Loop, low: int) -> None:
        super().__init__(f"split {loop.name} at {low}")
        self.loop = loop
        self.low = low


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a buffer's axis: `size` steps of `stride` elements."""

    size: int
    stride: int


Layout: TypeAlias = tuple[tuple[Part, ...], ...]
"""Per axis the pieces it is cut into, the most significant first."""


def row_major(shape: Shape) -> Layout:
    """Return the layout of a plain array."""
    layout: list[tuple[Part, ...]] = []
    stride = 1
    for n in reversed(shape):
        layout.append((Part(n, stride),))
        stride *= n
    return tuple(reversed(layout))


def panels(shape: Shape, width: int) -> Layout:
    """Return columns in panels of `width`, each panel stored row by row; leading axes outside."""
    *batch, rows, columns = shape
    if columns <= width or columns % width:
        return row_major(shape)
    tile = rows * columns
    outer = row_major(tuple(batch))
    outer = tuple(tuple(Part(p.size, p.stride * tile) for p in axis) for axis in outer)
    inner = ((Part(rows, width),), (Part(columns // width, rows * width), Part(width, 1)))
    return (*outer, *inner)


def split_field(field: IndexField, low: int) -> tuple[IndexField, IndexField]:
    """Cut a field in two, the less significant of size `low`."""
    if field.size % low:
        raise ValueError(f"a field of size {field.size} has no part of size {low}")
    high = field.size // low
    match field.source:
        case Loop():
            raise NeedSplit(field.source, low)
        case int():
            return IndexField(field.source // low, high), IndexField(field.source % low, low)
        case _:
            divide = field.divide
            return IndexField(field.source, high, divide * low), IndexField(
                field.source, low, divide
            )


def cut(fields: Axis, low: int) -> tuple[Axis, Axis]:
    """Cut a run of fields in two, the less significant of size `low`."""
    kept: list[IndexField] = []
    rest = list(fields)
    while low > 1:
        field = rest.pop()
        if low % field.size:
            high, field = split_field(field, low)
            rest.append(high)
        kept.insert(0, field)
        low //= field.size
    return tuple(rest), tuple(kept)


def reshape(index: Index, shape: Shape) -> Index:
    """Return the index of a row-major reshape's argument, which has `shape`."""
    fields = tuple(f for axis in index for f in axis)
    axes: list[Axis] = []
    for n in reversed(shape):
        fields, axis = cut(fields, n)
        axes.append(axis)
    return tuple(reversed(axes))


def permute(index: Index, order: Sequence[int]) -> Index:
    """Return the index in the argument of an element whose axis i was axis order[i]."""
    axes: list[Axis] = [()] * len(index)
    for axis, k in zip(index, order, strict=True):
        axes[k] = axis
    return tuple(axes)


def broadcast(index: Index, shape: Shape) -> Index:
    """Return the index in an argument of `shape` whose axes of length 1 were repeated."""
    return tuple(() if n == 1 else axis for axis, n in zip(index, shape, strict=True))


def extract(index: Index, shape: Shape, part: Shape, at: Sequence[Value | int]) -> Index:
    """Return the index in a tile of `shape` of the part at `at`, counted in parts."""
    axes: list[Axis] = []
    for axis, n, m, where in zip(index, shape, part, at, strict=True):
        place = where % (n // m) if isinstance(where, int) else where
        axes.append(axis if n == m else (IndexField(place, n // m), *axis))
    return tuple(axes)


Terms: TypeAlias = list[tuple[IndexField, int]]
"""A sum of fields, each with its factor."""


def terms(axis: Axis) -> Terms:
    """Return the coordinate along one axis as a sum."""
    found: Terms = []
    factor = 1
    for field in reversed(axis):
        found.append((field, factor))
        factor *= field.size
    return found[::-1]


def offset(index: Index, layout: Layout) -> Terms:
    """Return the place of an element in a buffer as a sum."""
    found: Terms = []
    for axis, parts in zip(index, layout, strict=True):
        rest = axis
        for part in reversed(parts):
            rest, piece = cut(rest, part.size)
            found += [(field, factor * part.stride) for field, factor in terms(piece)]
    return found


def loops_in(axes: Iterable[Axis]) -> frozenset[Loop]:
    """Return the loops an index depends on."""
    return frozenset(f.source for axis in axes for f in axis if isinstance(f.source, Loop))


def check_sizes(index: Index, shape: Shape) -> None:
    """Reject an index whose fields do not multiply to the extents of their axes."""
    sizes = tuple(prod(f.size for f in axis) for axis in index)
    if sizes != tuple(shape):
        raise ValueError(f"an index of sizes {sizes} for a shape {tuple(shape)}")
