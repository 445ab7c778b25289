"""Tensors, outputs and partitions as type checkers see them: memory that is loaded and stored.

Nothing here runs: the compiler gives the names their meaning. The classes are subscriptable, so
that annotations can be read back with `typing.get_origin` and `typing.get_args`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, Unpack

from typing_extensions import TypeVarTuple

from .marker import only_in_kernels
from .tile import E_co, Number, ShapeLike, Tile

Dims = TypeVarTuple("Dims", default=Unpack[tuple[object, ...]])
"""The extents: `tl.Dyn`, `Literal[n]`, a TypeVar, or a whole shape `*S`."""

Index: TypeAlias = "int | Tile[Any]"
"""A tile number: an int or a scalar."""

IndexLike: TypeAlias = "Index | Sequence[Index]"
"""One tile number per axis; a bare one for one axis."""

Padding: TypeAlias = float | None
"""The value of elements outside of the tensor: a number, `tl.neg_inf`, ...; None: unspecified."""


class Declared:
    """The base of names of memory: no instances, annotations kept as they are written.

    Without this, a subscript would fill in defaults that differ between Python versions.
    """

    def __init__(self) -> None:
        raise TypeError(only_in_kernels(f"tl.{type(self).__name__}"))

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: object) -> GenericAlias:
            return GenericAlias(cls, parameters)


class AnyMemory(Declared, Generic[E_co]):
    """What all names of memory have: an element type, and axes."""

    @property
    def dtype(self) -> type[E_co]:
        """The element type."""
        ...

    @property
    def rank(self) -> int:
        """The number of axes."""
        ...

    @property
    def ndim(self) -> int:
        """The number of axes, by NumPy's name."""
        ...


class AnyTensor(AnyMemory[E_co], Generic[E_co]):
    """A read-only tensor of any rank: what a helper function takes, whatever its dims."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents: constants if they are known at compile time, else scalars."""
        ...

    def load_tile(self, shape: ShapeLike, index: IndexLike, *, padding: Padding = 0) -> Tile[E_co]:
        """Load the tile of `shape` at `index`, which counts tiles, not elements.

        An index outside of the tensor's tile grid fails the launch; elements of an edge tile that
        lie outside of the tensor are `padding`.
        """
        ...

    def load_at(
        self, offsets: IndexLike, shape: ShapeLike, *, padding: Padding = ...
    ) -> Tile[E_co]:
        """Load the tile of `shape` that starts at `offsets`, which count elements.

        An offset outside of the tensor fails the launch; elements of the tile beyond its end are 0.
        With `padding` written out a tile may start anywhere, also before the tensor: elements
        outside are `padding`. `x.load_at((i - 1, 0), (8, 64), padding=0)` has the row above.
        """
        ...

    def partition(
        self,
        shape: ShapeLike,
        *,
        padding: Padding = 0,
        dim_map: Sequence[int] | None = None,
    ) -> Partition[E_co]:
        """Divide the tensor into tiles, to load them by index.

        With `dim_map`, axis k of a tile runs along axis dim_map[k] of the tensor.
        """
        ...

    def partition_permuted(
        self, shape: ShapeLike, dim_map: Sequence[int], *, padding: Padding = 0
    ) -> Partition[E_co]:
        """Divide the tensor into tiles whose axis k runs along axis dim_map[k] of the tensor."""
        ...


class Tensor(AnyTensor[E_co], Generic[E_co, *Dims]):
    """A read-only input: `tl.Tensor[f32, tl.Dyn, tl.Dyn]`, `tl.Tensor[f32]` or `tl.Tensor`.

    A block may load any tile of it; a store to it is a compile error.
    """


class AnyTensorMut(AnyMemory[E_co], Generic[E_co]):
    """An output of any rank: what a helper function takes, whatever its dims."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of this block's region, constants: the tile shape of the partition."""
        ...

    @property
    def extent(self) -> tuple[int, ...]:
        """How much of the tile is in bounds; less than `shape` in boundary blocks."""
        ...

    def load(self, *, padding: Padding = 0) -> Tile[E_co]:
        """Load this block's tile."""
        ...

    def store(self, tile: Number) -> None:
        """Store a tile of this element type; elements outside the tensor are dropped.

        Its shape is that of the output, or broadcasts to it: `out.store(0.0)` fills the region.
        """
        ...

    def load_at(
        self, offsets: IndexLike, shape: ShapeLike, *, padding: Padding = ...
    ) -> Tile[E_co]:
        """Load a part of this block's tile that starts at `offsets`, which count its elements.

        As `load_at` of a tensor; elements outside of this block's tile are 0, or `padding`.
        """
        ...

    def store_at(self, tile: Tile[Any], offsets: IndexLike) -> None:
        """Store a tile into this block's tile, from the element at `offsets` on.

        An offset outside of this block's tile fails the launch; elements of the tile that leave it,
        or the tensor, are dropped: `out.store_at(tile, (0, 3))`.
        """
        ...

    def partition_mut(self, shape: ShapeLike, *, padding: Padding = 0) -> PartitionMut[E_co]:
        """Divide this block's tile into smaller tiles; indices count from its start."""
        ...


class TensorMut(AnyTensorMut[E_co], Generic[E_co, *Dims]):
    """An output: this block's own region of it, which no other block reads or writes.

    On the host it is given as a partition of a tensor, which fixes the region's shape.
    """


class Tiled(AnyMemory[E_co], Generic[E_co]):
    """The common part of everything that is divided into tiles: partitions and mapped outputs."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one tile, constants."""
        ...

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of tiles along each axis."""
        ...

    def num_tiles(self, axis: int = 0) -> int:
        """Return the number of tiles along an axis."""
        ...


class Partition(Tiled[E_co], Generic[E_co]):
    """A tensor cut into tiles, made by `x.partition(shape)`; tiles are loaded by index."""

    def load(
        self, index: IndexLike, *, latency: int | None = None, allow_tma: bool | None = None
    ) -> Tile[E_co]:
        """Load the tile at `index`; outside of `grid` the launch fails.

        `latency` (1 to 10: the prefetch distance) and `allow_tma` change speed only.
        """
        ...

    def load_pipelined(self, index: IndexLike, latency: int) -> Tile[E_co]:
        """Load the tile at `index`, prefetched by `latency` (1 to 10) steps if possible."""
        ...

    def load_unchecked(
        self, index: IndexLike, *, latency: int | None = None, allow_tma: bool | None = None
    ) -> Tile[E_co]:
        """Load without a bounds check; elements outside the tensor are padding. Unsafe."""
        ...


class PartitionMut(Partition[E_co]):
    """A block's own region cut into tiles, made by `out.partition_mut(shape)`."""

    def store(
        self,
        tile: Number,
        index: IndexLike,
        *,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Store a tile at `index`; outside of `grid` the launch fails."""
        ...

    def store_unchecked(
        self,
        tile: Number,
        index: IndexLike,
        *,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Store without a bounds check; elements outside the block's tile are dropped. Unsafe."""
        ...


# -------------------------------------------------------------------------------------------------
# Accumulators: outputs that any block may add to, and none may read.


Places: TypeAlias = "Index | Tile[Any] | Sequence[Index | Tile[Any]]"
"""One element number per axis; one of them may be a tile of numbers. A bare one for one axis."""


class AnyAccumulator(AnyMemory[E_co], Generic[E_co]):
    """An accumulator of any rank: what a helper function takes, whatever its dims."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the whole tensor: constants or scalars."""
        ...

    def add(self, tile: Number, places: Places, *, clip: bool = False) -> None:
        """Add a tile to the elements that start at `places`, which count elements.

        A tile of numbers along one axis names its elements one by one, in any order and repeatedly:
        `counts.add(1, bins)` is a histogram, `grad.add(rows, (tokens, 0))` adds rows. Elements of
        the tile beyond the end are dropped, but a place out of bounds fails the launch; with `clip`
        it is dropped as well.
        """
        ...

    def max(self, tile: Number, places: Places, *, clip: bool = False) -> None:
        """Replace elements by the maximum of them and a tile, of integers; see `add`."""
        ...

    def min(self, tile: Number, places: Places, *, clip: bool = False) -> None:
        """Replace elements by the minimum of them and a tile, of integers; see `add`."""
        ...


class Accumulator(AnyAccumulator[E_co], Generic[E_co, *Dims]):
    """A tensor that all blocks add to: `tl.Accumulator[i32, tl.Dyn]`; no block reads it.

    On the host it is given as `t.borrow_mut()`, and keeps what it had: launches add to that.
    """
