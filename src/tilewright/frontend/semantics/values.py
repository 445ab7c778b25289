"""Values that a name in a kernel can have at compile time, and their descriptions in errors.

Launches use it for captured values, so it does not depend on the rest of the front end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...base.dtypes import DType, DTypeMeta
from ...base.shapes import OWNED, Shape
from ...base.trees import Leaf
from ...ir.core import Value
from ...ir.launch_expr import Expr, show
from ...ir.types import PtrType, SharedType, TensorType, TileType
from ...lang.device_global import Global

# -------------------------------------------------------------------------------------------------
# Compile-time values.
#
# A dynamic tile or scalar is an `ir.Value`. A Python object that is not one of the classes below is
# static: an int, a float, a tuple, an element type, a function, known at compile time.


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
    """Tiles along an axis: the first, and how many. Equal expressions are equal numbers."""

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
    """The origin of an index: the outputs that it belongs to, and the tiles visited."""

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
        """Return an index of these numbers."""
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
    """Shared memory of a block (`simt.Shared`)."""

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
    """An element of shared memory or of a slice, for atomics; `at` returns it."""

    memory: SharedRef | SliceRef
    index: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """The meaning of a witness in a slice: an element, a run, or a tile of rows."""

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
    """Return the class of the language that a kernel value belongs to."""
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


# -------------------------------------------------------------------------------------------------
# Descriptions of values in error messages.


def describe(x: Any) -> str:
    """Describe a value of the kernel in the user's terms."""
    return next((words for kinds, words in WORDS if isinstance(x, kinds)), _named)(x)


def article(noun: str) -> str:
    """Return a noun with its article, as it is said: an f32, an i32, a bf16, an ndarray."""
    said_with_vowel = (
        noun[:1] in "aeio" or noun == "ndarray" or (noun[:1] == "f" and noun[1:2].isdigit())
    )
    return f"{'an' if said_with_vowel else 'a'} {noun}"


def _named(x: Any) -> str:
    """Return the name of a value, or its kind: functions, classes, objects of the host."""
    label = getattr(x, "__name__", None)
    if found := getattr(x, "described", None):
        return str(found)
    return f"`{label}`" if label else article(type(x).__name__)


def _value(x: Value) -> str:
    if not isinstance(x.type, TileType):
        return _named(x)
    elem, shape = x.type.elem, x.type.shape
    name = f"pointer to {elem.to.name}" if isinstance(elem, PtrType) else elem.name
    return f"{article(name)} tile of shape {shape}" if shape else f"a scalar {name}"


def _global(x: Global[Any]) -> str:
    name = x.memory.dtype.name
    return f"a global of shape {x.shape}, {name}" if x.shape else f"a global {name}"


def _all(values: Iterable[Any]) -> str:
    return ", ".join(map(describe, values))


WORDS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (Value, _value),
    (TensorRef, lambda x: f"tensor `{x.name}`"),
    (OutputRef, lambda x: f"output `{x.name}`"),
    (PartitionRef, lambda x: f"a partition of `{x.name}`"),
    (MappedRef, lambda x: f"mapped output `{x.name}`"),
    (AccumulatorRef, lambda x: f"accumulator `{x.name}`"),
    (OwnedIndex, lambda x: "an index of " + " and ".join(f"`{o.name}`" for o in x.origin.outputs)),
    (SliceRef, lambda x: f"slice `{x.name}`"),
    (SharedRef, lambda x: f"shared memory `{x.name}`"),
    (ElementsRef, lambda x: f"the elements of {describe(x.slice)}"),
    (RunsRef, lambda x: f"the runs of {describe(x.slice)}"),
    (RunRef, lambda x: f"a run of {describe(x.runs.slice)}"),
    (TilesRef, lambda x: f"the tiles of {describe(x.slice)}"),
    (TileRef, lambda x: f"a tile of {describe(x.tiles.slice)}"),
    (ElementRef, lambda x: f"an element of {describe(x.memory)}"),
    (Global, _global),
    (DTypeMeta, lambda x: "the class DType" if x is DType else f"the element type {x.name}"),
    ((bool, int, float, str, type(None)), repr),
    (tuple, lambda x: f"({_all(x)})"),
    (list, lambda x: f"[{_all(x)}]"),
)
"""What values of each kind are called; all others go by their names."""


def is_pointer(x: Any) -> bool:
    """Return whether x is a pointer or a tile of them."""
    return isinstance(x, Value) and isinstance(x.type, TileType) and x.type.is_pointer
