"""What a name in a kernel can stand for while it is compiled.

A dynamic tile or scalar is an `ir.Value`; a Python object that is not one of the classes below is
static: an int, a float, a tuple, an element type, a function, known while compiling.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.leaf import Leaf
from ..base.shapes import Shape
from ..base.tile_order import OWNED
from ..ir.core import Value
from ..ir.launch_expr import Expr, show
from ..ir.types import SharedType, TensorType, TileType
from ..lang.device_global import Global


@dataclass(frozen=True, eq=False, slots=True)
class TensorRef(Leaf):
    """A read-only tensor (`tl.Tensor`), or one made from a raw pointer."""

    value: Value
    name: str

    @property
    def type(self) -> TensorType:
        """The tensor's type."""
        return self.value.tensor


@dataclass(frozen=True, eq=False, slots=True)
class OutputRef(Leaf):
    """A block's own region of an output (`tl.TensorMut`); `tile` is its static shape.

    Of a `partial` one there may be more regions than blocks.
    """

    value: Value
    name: str
    tile: Shape
    partial: bool = False

    @property
    def type(self) -> TensorType:
        """The whole output's type."""
        return self.value.tensor


@dataclass(frozen=True, eq=False, slots=True)
class PartitionRef(Leaf):
    """A tensor cut into tiles, made in the kernel; `view` has a ViewType.

    `mutable` marks `PartitionMut`: a block's own region cut further. A view of rows is `padded` if
    it was made with a padding, which rows outside of the tensor are then.
    """

    view: Value
    name: str
    mutable: bool = False
    padded: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class MappedRef(Leaf):
    """A mapped output (`tl.MappedPartitionMut`), of which a block visits many tiles.

    `tile` is the shape of one, `groups` that of the groups in which they are visited.
    """

    value: Value
    name: str
    tile: Shape
    groups: Shape

    @property
    def type(self) -> TensorType:
        """The whole output's type."""
        return self.value.tensor

    @property
    def walked(self) -> Shape:
        """The axes that are walked; of the others a block has the whole."""
        return tuple(k for k, group in enumerate(self.groups) if group != OWNED)


@dataclass(frozen=True, eq=False, slots=True)
class AccumulatorRef(Leaf):
    """A tensor that all blocks add to, and none reads (`tl.Accumulator`)."""

    value: Value
    name: str

    @property
    def type(self) -> TensorType:
        """The tensor's type."""
        return self.value.tensor


@dataclass(frozen=True, slots=True)
class Extent:
    """Tiles along an axis: the first, and how many. Numbers that look alike are the same."""

    start: Hashable
    count: Hashable


@dataclass(frozen=True, slots=True)
class Space:
    """The tiles that a loop over a mapped output visits, and in which groups.

    Two loops over the same space have each tile in the same block.
    """

    groups: Shape
    extents: tuple[Extent, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """Where an index comes from: the outputs that it is an index of, and the tiles visited."""

    outputs: tuple[MappedRef, ...]
    space: Space | None


class OwnedIndex(tuple[Any, ...]):  # noqa: SLOT001 - a tuple can have no slots
    """An index that a loop over a mapped output made: a tuple that knows its origin.

    It has a number for each axis that is walked; once `whole`, for each axis of the output. What is
    rebuilt from its numbers is a plain tuple.
    """

    origin: Origin
    whole: bool

    @classmethod
    def made(cls, numbers: Sequence[Any], origin: Origin, *, whole: bool) -> OwnedIndex:
        """An index of these numbers."""
        index = cls(numbers)
        index.origin = origin
        index.whole = whole
        return index


@dataclass(frozen=True, eq=False, slots=True)
class SliceRef(Leaf):
    """The elements of a tensor in a row (`simt.Slice`, or `simt.DisjointSlice` if mutable)."""

    value: Value
    name: str
    mutable: bool

    @property
    def type(self) -> TensorType:
        """The slice's type."""
        return self.value.tensor


@dataclass(frozen=True, eq=False, slots=True)
class SharedRef(Leaf):
    """Memory that the threads of a block share (`simt.Shared`)."""

    value: Value

    @property
    def name(self) -> str:
        """The name that it was first bound to."""
        return self.value.name or "shared"

    @property
    def type(self) -> SharedType:
        """The memory's type."""
        assert isinstance(self.value.type, SharedType), "shared memory has its own type"
        return self.value.type


@dataclass(frozen=True, eq=False, slots=True)
class ElementsRef(Leaf):
    """All elements of a slice that is written (`simt.Elements`), for unsafe code."""

    slice: SliceRef

    @property
    def name(self) -> str:
        """That of the slice."""
        return self.slice.name


@dataclass(frozen=True, eq=False, slots=True)
class ElementRef(Leaf):
    """An element of shared memory or of a slice, for atomics: what `at` gives."""

    memory: SharedRef | SliceRef
    index: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """What a witness stands for in a slice: an element, a run, a tile of rows that wide."""

    shape: Shape = (1,)
    columns: Expr | None = None

    def __str__(self) -> str:
        if self.columns is not None:
            return f"tiles of {self.shape} in rows of {show(self.columns)}"
        return f"runs of {self.shape[0]}" if self.shape != (1,) else "single elements"


@dataclass(frozen=True, eq=False, slots=True)
class TilesRef(Leaf):
    """A slice as rows of `columns` elements, in tiles of `shape` (`simt.Tiles`)."""

    slice: SliceRef
    shape: tuple[int, int]
    columns: Value
    cut: Cut

    @property
    def name(self) -> str:
        """That of the slice."""
        return self.slice.name


@dataclass(frozen=True, eq=False, slots=True)
class TileRef(Leaf):
    """One tile of a slice (`simt.TileView`): where it begins, and whether it is there."""

    tiles: TilesRef
    start: Value
    there: Value

    @property
    def name(self) -> str:
        """That of the slice."""
        return self.tiles.name


@dataclass(frozen=True, eq=False, slots=True)
class RunsRef(Leaf):
    """A slice in runs of `size` elements (`simt.Runs`)."""

    slice: SliceRef
    size: int

    @property
    def name(self) -> str:
        """That of the slice."""
        return self.slice.name


@dataclass(frozen=True, eq=False, slots=True)
class RunRef(Leaf):
    """One run of a slice (`simt.Run`): where it begins, and whether it is there."""

    runs: RunsRef
    start: Value
    there: Value

    @property
    def name(self) -> str:
        """That of the slice."""
        return self.runs.name


Indexed = SliceRef | SharedRef | ElementsRef | RunsRef | RunRef | TilesRef | TileRef
"""Memory of which single elements are read and written."""

Memory = (
    TensorRef
    | OutputRef
    | PartitionRef
    | MappedRef
    | AccumulatorRef
    | SliceRef
    | SharedRef
    | ElementsRef
    | RunsRef
    | RunRef
    | TilesRef
    | TileRef
    | Global
)
"""Things that name memory: no values, so they can be neither computed with nor selected."""


@dataclass(frozen=True, eq=False, slots=True)
class FormatString:
    """An f-string with parts of the kernel: texts, and (value, format specification) pairs."""

    parts: tuple[str | tuple[Value | Memory, str], ...]


def receiver_class(x: Any) -> str | None:
    """The class of the language that a kernel value belongs to."""
    if isinstance(x, Value) and isinstance(x.type, TileType):
        return "PointerTile" if x.type.is_pointer else "Tile"
    if isinstance(x, PartitionRef):
        return "PartitionMut" if x.mutable else "Partition"
    if isinstance(x, SliceRef):
        return "DisjointSlice" if x.mutable else "Slice"
    return next((name for kind, name in CLASSES.items() if isinstance(x, kind)), None)


CLASSES: dict[type[Any], str] = {
    TensorRef: "Tensor", OutputRef: "TensorMut", MappedRef: "MappedPartitionMut",
    AccumulatorRef: "Accumulator",
    SharedRef: "Shared", ElementsRef: "Elements", RunsRef: "Runs", RunRef: "Run",
    TilesRef: "Tiles", TileRef: "TileView",
    Global: "Global",
}  # fmt: skip
