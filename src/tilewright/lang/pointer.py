"""Raw memory, in unsafe code: pointers and views at them; annotations of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeAlias, overload

from typing_extensions import TypeVar

from ..base.dtypes import bool_, i64
from .enums import Ordering, Scope
from .marker import declared, only_in_kernels
from .tensor import AnyTensor, AnyTensorMut, IndexLike, Padding, Partition, PartitionMut, Tensor
from .tile import E, E_co, Number, ShapeLike, Tile, To

if TYPE_CHECKING:
    from .device_global import Global


# -------------------------------------------------------------------------------------------------
# Raw memory, in unsafe code only: pointers, views of memory at a pointer, unchecked promises.
#
# Nothing is checked: an address outside its allocation, or two blocks that write one address,
# cause wrong results or crashes. The memory accesses of a block happen in program order.

LoadOrdering: TypeAlias = Ordering | Literal["weak", "relaxed", "acquire"]
StoreOrdering: TypeAlias = Ordering | Literal["weak", "relaxed", "release"]
ScopeLike: TypeAlias = Scope | Literal["tile_block", "device", "system"]


class PointerTile(Generic[E_co]):
    """Pointers to elements of type E, in a tile's shape; a `tl.Ptr` parameter is one of rank 0.

    `p + n` moves each pointer by n elements and broadcasts like arithmetic does.
    """

    def __init__(self) -> None:
        raise TypeError(only_in_kernels(f"tl.{type(self).__name__}"))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, constants."""
        ...

    @property
    def dtype(self) -> type[E_co]:
        """The element type pointed to."""
        ...

    @property
    def rank(self) -> int:
        """The number of axes."""
        ...

    @property
    def ndim(self) -> int:
        """The number of axes, by NumPy's name."""
        ...

    def offset(self, by: Number) -> PointerTile[E_co]:
        """Move every pointer by the same number of elements."""
        ...

    def offset_tile(self, by: Tile[Any]) -> PointerTile[E_co]:
        """Move each pointer by its own number of elements."""
        ...

    def broadcast(self, *shape: ShapeLike) -> PointerTile[E_co]:
        """Repeat pointers along axes of extent 1, and along new leading axes."""
        ...

    def reshape(self, *shape: ShapeLike) -> PointerTile[E_co]:
        """Rearrange the pointers into another shape."""
        ...

    def __add__(self, by: Number) -> PointerTile[E_co]: ...
    def __radd__(self, by: float) -> PointerTile[E_co]: ...
    def __sub__(self, by: Number) -> PointerTile[E_co]: ...


# --- pointer arithmetic ------------------------------------------------------------------------


@declared
def pointer_to_tile(pointer: PointerTile[E]) -> PointerTile[E]:
    """Convert a pointer to a tile of rank 0."""
    ...


@declared
def tile_to_pointer(pointers: PointerTile[E]) -> PointerTile[E]:
    """Return the only pointer of a tile."""
    ...


@declared
def addptr(pointers: PointerTile[E], by: Number) -> PointerTile[E]:
    """Move every pointer by the same number of elements."""
    ...


@declared
def addptr_tile(pointers: PointerTile[E], by: Tile[Any]) -> PointerTile[E]:
    """Move each pointer by its own number of elements."""
    ...


@declared
def broadcast_ptr(pointers: PointerTile[E], shape: ShapeLike) -> PointerTile[E]:
    """Repeat pointers along axes of extent 1, and along new leading axes."""
    ...


@declared
def reshape_ptr(pointers: PointerTile[E], shape: ShapeLike) -> PointerTile[E]:
    """Rearrange the pointers of a tile into another shape."""
    ...


@declared
def ptr_to_int(pointers: PointerTile[Any]) -> Tile[i64]:
    """Return the addresses, in bytes."""
    ...


@declared
def int_to_ptr(addresses: Tile[i64], dtype: type[To]) -> PointerTile[To]:
    """Convert addresses to pointers to elements of a type."""
    ...


@declared
def ptr_to_ptr(pointers: PointerTile[Any], dtype: type[To]) -> PointerTile[To]:
    """Convert pointers to another element type at the same addresses."""
    ...


# --- access through pointers -------------------------------------------------------------------


@declared
def load_ptr(
    pointers: PointerTile[E],
    mask: Tile[bool_] | bool | None = None,
    fill: Number | None = None,
    *,
    ordering: LoadOrdering = "weak",
    scope: ScopeLike = "device",
    latency: int | None = None,
) -> Tile[E]:
    """Read through pointers where `mask`; elsewhere the result is `fill`, or 0."""
    ...


@declared
def load_ptr_tko(
    pointers: PointerTile[E],
    mask: Tile[bool_] | bool | None = None,
    fill: Number | None = None,
    *,
    ordering: LoadOrdering = "weak",
    scope: ScopeLike = "device",
    latency: int | None = None,
) -> Tile[E]:
    """Read through pointers; the same as `load_ptr`: the compiler inserts tokens."""
    ...


@declared
def store_ptr(
    pointers: PointerTile[Any],
    value: Number,
    mask: Tile[bool_] | bool | None = None,
    *,
    ordering: StoreOrdering = "weak",
    scope: ScopeLike = "device",
    latency: int | None = None,
) -> None:
    """Write through pointers where `mask`."""
    ...


@declared
def store_ptr_tko(
    pointers: PointerTile[Any],
    value: Number,
    mask: Tile[bool_] | bool | None = None,
    *,
    ordering: StoreOrdering = "weak",
    scope: ScopeLike = "device",
    latency: int | None = None,
) -> None:
    """Write through pointers; the same as `store_ptr`: the compiler inserts tokens."""
    ...


@overload
def gather(
    pointer: PointerTile[E],
    offsets: Number,
    mask: Tile[bool_] | bool | None = None,
    fill: Number | None = None,
) -> Tile[E]: ...
@overload
def gather(pointer: Tile[E], offsets: Tile[Any], mask: int) -> Tile[E]: ...
@overload
def gather(pointer: Tile[E], offsets: Tile[Any], *, axis: int) -> Tile[E]: ...
@declared
def gather(
    pointer: PointerTile[E] | Tile[E],
    offsets: Number,
    mask: Tile[bool_] | bool | int | None = None,
    fill: Number | None = None,
    *,
    axis: int | None = None,
) -> Tile[E]:
    """Read the elements at `pointer + offsets` where `mask`; elsewhere `fill`, or 0.

    Of a tile, `tl.gather(tile, index, axis)` takes the elements at indices along an axis, as
    `tl.take_along_axis` does, which is safe.
    """
    ...


@declared
def scatter(
    pointer: PointerTile[Any],
    offsets: Number,
    value: Number,
    mask: Tile[bool_] | bool | None = None,
) -> None:
    """Write the elements at `pointer + offsets` where `mask`; of equal offsets any one wins."""
    ...


# --- globals -----------------------------------------------------------------------------------


@declared
def get_global(source: Global[E]) -> PointerTile[E]:
    """Return a pointer to the first element of a `tl.Global`; the others follow, row-major."""
    ...


# --- views of raw memory -----------------------------------------------------------------------


@declared
def make_tensor_view(
    base: PointerTile[E], shape: Sequence[int], strides: Sequence[int] | None = None
) -> Tensor[E]:
    """Make a tensor of memory at a pointer; strides count elements, row-major if left out."""
    ...


@declared
def load_tensor(
    pointers: AnyTensor[i64],
    index: IndexLike,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    dtype: type[To],
) -> Tensor[To]:
    """Make a tensor at an address that is element `index` of a tensor of addresses."""
    ...


@declared
def make_partition_view(
    tensor: AnyTensor[E],
    shape: ShapeLike,
    *,
    padding: Padding = 0,
    dim_map: Sequence[int] | None = None,
) -> Partition[E]:
    """Divide a tensor into tiles; the same as `x.partition(...)`, and as safe."""
    ...


@declared
def make_partition_view_mut(
    tensor: AnyTensor[E] | AnyTensorMut[E],
    shape: ShapeLike,
    *,
    padding: Padding = 0,
    dim_map: Sequence[int] | None = None,
) -> PartitionMut[E]:
    """Divide an output, or a tensor made from a pointer, into tiles that any block may write."""
    ...


@declared
def make_strided_view(
    tensor: AnyTensor[E] | AnyTensorMut[E],
    shape: ShapeLike,
    steps: ShapeLike,
    *,
    padding: Padding = 0,
    dim_map: Sequence[int] | None = None,
) -> PartitionMut[E]:
    """Divide a tensor into tiles that start `steps` elements apart: they overlap, or leave gaps.

    Views of inputs are safe; only unsafe code may make views of outputs.
    """
    ...


@declared
def make_gather_scatter_view(
    tensor: AnyTensor[E] | AnyTensorMut[E],
    shape: ShapeLike,
    axis: int = 0,
    *,
    padding: Padding = ...,
) -> PartitionMut[E]:
    """View rows in any order: along `axis` the index is a tile of row numbers.

    Along the other axes the index is the element the tile starts at; a tile that begins inside may
    end outside, where it has zeros. A row or a start outside of the tensor fails the launch, unless
    `padding` is written out: then what lies outside loads as padding and is not stored. Of inputs
    it is safe; of outputs only unsafe code may have it.
    """
    ...


@declared
def load_view_tko(
    view: Partition[E],
    index: IndexLike | Sequence[Any],
    *,
    latency: int | None = None,
    allow_tma: bool | None = None,
) -> Tile[E]:
    """Load a tile without a bounds check: elements outside the tensor are padding."""
    ...


@declared
def store_view_tko(
    view: PartitionMut[Any],
    index: IndexLike | Sequence[Any],
    tile: Tile[Any],
    *,
    latency: int | None = None,
    allow_tma: bool | None = None,
) -> None:
    """Store a tile without a bounds check: elements outside the tensor are not written."""
    ...


# --- promises ----------------------------------------------------------------------------------


@declared
def assume_div_by(value: To, divisor: int) -> To:
    """Promise that a value, or each address or element of it, is a multiple of `divisor`."""
    ...


@declared
def assume_div_by_every_along(value: To, divisor: int, every: int, axis: int) -> To:
    """Promise that each `every`-th element along an axis, from the first, is a multiple."""
    ...


@declared
def assume_bounds(value: To, lower: int, upper: int) -> To:
    """Promise that every element lies between `lower` and `upper`, both included."""
    ...


@declared
def assume_bounds_lower(value: To, lower: int) -> To:
    """Promise that no element lies below `lower`."""
    ...


@declared
def assume_bounds_upper(value: To, upper: int) -> To:
    """Promise that no element lies above `upper`."""
    ...


@declared
def assume_same_elements(value: To, groups: ShapeLike) -> To:
    """Promise that a tile is constant in groups of this shape."""
    ...


# -------------------------------------------------------------------------------------------------
# Annotations of kernel parameters besides tensors and element types.

Kind = TypeVar("Kind")


class Dyn:
    """An extent that each launch may choose: `tl.Tensor[f32, tl.Dyn, tl.Dyn]`."""


class _Constant:
    """The mark of a parameter that is a compile-time constant."""

    def __repr__(self) -> str:
        return "tl.Const"


CONST = _Constant()
"""What `tl.Const[int]` has in its metadata."""

Const = Annotated[Kind, CONST]
"""A constant of the compilation, keyword-only: `def gemm(z, x, y, *, BK: tl.Const[int])`."""


class Ptr(PointerTile[E_co], Generic[E_co]):
    """A raw pointer to elements of type E, a parameter of unsafe entries only."""
