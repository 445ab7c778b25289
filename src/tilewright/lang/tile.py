"""The tile as type checkers see it: an immutable value of static shape, with arithmetic.

Nothing here runs: a kernel's operators and methods are given their meaning by the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Generic, TypeAlias, overload

from typing_extensions import TypeVar

from ..base.dtypes import bool_, f4e2m1fn, f4e2m1fnx2, i32
from .marker import only_in_kernels

E = TypeVar("E", default=object)
"""The element type of a tile or tensor."""

E_co = TypeVar("E_co", default=object, covariant=True)
"""The same of a class: covariant, so that a helper for any tile takes every tile."""

To = TypeVar("To", default=object)
"""The element type that is converted to."""

Number: TypeAlias = "Tile[Any] | float"
"""A tile, or a scalar: a Python number, a typed one, or a scalar parameter."""

N = TypeVar("N", bound="Tile[Any] | float")
"""An operand whose type the result keeps: a tile or a scalar."""

ShapeLike: TypeAlias = int | Sequence[int]
"""A shape of constants; an int is a shape of rank 1."""

Axis: TypeAlias = int | Sequence[int] | None
"""The axes of a reduction: one, several, or all of them."""

_Item: TypeAlias = slice | EllipsisType | None


class Tile(Generic[E_co]):
    """A value held by one block: elements of type E in a shape of constant powers of two.

    Operators work element by element and broadcast as in NumPy. Two tiles of one kind of number
    widen to the larger type; other mixtures are errors and need an `astype`. Python numbers take
    the tile's type. Integers wrap; `//` and `%` floor.
    """

    def __init__(self) -> None:
        raise TypeError(only_in_kernels("a tile"))

    # --- what is known while compiling ---------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, constants of the compilation."""
        ...

    @property
    def dtype(self) -> type[E_co]:
        """The element type."""
        ...

    @property
    def rank(self) -> int:
        """The number of axes; a scalar has none."""
        ...

    @property
    def ndim(self) -> int:
        """The number of axes, by NumPy's name."""
        ...

    @property
    def size(self) -> int:
        """The number of elements."""
        ...

    def __len__(self) -> int:
        """Return the extent of the first axis."""
        ...

    # --- arrangement ---------------------------------------------------------------------------

    @property
    def T(self) -> Tile[E_co]:  # noqa: N802 - NumPy's name
        """The transpose of a tile of rank 2."""
        ...

    def reshape(self, *shape: ShapeLike) -> Tile[E_co]:
        """Reshape the tile, in row-major order; one extent may be -1."""
        ...

    def broadcast(self, *shape: ShapeLike) -> Tile[E_co]:
        """Repeat elements along axes of extent 1, and along new leading axes."""
        ...

    def permute(self, *order: ShapeLike) -> Tile[E_co]:
        """Reorder the axes: axis i of the result is axis order[i] of this tile."""
        ...

    def transpose(self, axis0: int = -2, axis1: int = -1) -> Tile[E_co]:
        """Swap two axes, by default the last two."""
        ...

    def __getitem__(self, index: _Item | tuple[_Item, ...]) -> Tile[E_co]:
        """Insert axes of extent 1: `x[None, :]`, `x[:, None]`, `x[..., None]`."""
        ...

    # --- conversion ----------------------------------------------------------------------------

    def astype(self, dtype: type[To]) -> Tile[To]:
        """Convert the elements: rounded to nearest even; float to int saturates, NaN becomes 0."""
        ...

    def item(self) -> E_co:
        """Return the only element of a one-element tile, as a scalar."""
        ...

    def pack(self) -> Tile[f4e2m1fnx2]:
        """Pack adjacent f4 along the last axis into bytes."""
        ...

    def unpack(self) -> Tile[f4e2m1fn]:
        """Unpack bytes of two f4 into twice as many elements along the last axis."""
        ...

    def __bool__(self) -> bool:
        """Return the truth of a scalar; a tile with axes has none."""
        ...

    def __int__(self) -> int:
        """Convert a scalar to i32, toward zero."""
        ...

    def __float__(self) -> float:
        """Convert a scalar to f32."""
        ...

    # --- reduction and memory ------------------------------------------------------------------

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Tile[E_co]:
        """Sum along an axis, or over all elements."""
        ...

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Tile[E_co]:
        """Return the product along an axis."""
        ...

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Tile[E_co]:
        """Return the maximum along an axis; NaN wins."""
        ...

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Tile[E_co]:
        """Return the minimum along an axis; NaN wins."""
        ...

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Tile[i32]:
        """Return the index of the maximum along an axis: the first of equals, the first NaN."""
        ...

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Tile[i32]:
        """Return the index of the minimum along an axis: the first of equals, the first NaN."""
        ...

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Tile[bool_]:
        """Return whether any element along an axis is true."""
        ...

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Tile[bool_]:
        """Return whether all elements along an axis are true."""
        ...

    def mask(self) -> Tile[bool_]:
        """Return a mask of the elements of a loaded tile that are in bounds."""
        ...

    # --- arithmetic ----------------------------------------------------------------------------
    # The second overload of each is for tiles of two widths: the result has the wider type.

    @overload
    def __add__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __add__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __add__(self, other: Number) -> Tile[Any]:
        """Add."""
        ...

    @overload
    def __sub__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __sub__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __sub__(self, other: Number) -> Tile[Any]:
        """Subtract."""
        ...

    @overload
    def __mul__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __mul__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __mul__(self, other: Number) -> Tile[Any]:
        """Multiply."""
        ...

    @overload
    def __truediv__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __truediv__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __truediv__(self, other: Number) -> Tile[Any]:
        """Divide floats; integers have `//`."""
        ...

    @overload
    def __floordiv__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __floordiv__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __floordiv__(self, other: Number) -> Tile[Any]:
        """Divide and round down; integers by 0 give 0."""
        ...

    @overload
    def __mod__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __mod__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __mod__(self, other: Number) -> Tile[Any]:
        """Return the remainder with the sign of the divisor; integers by 0 give the dividend."""
        ...

    @overload
    def __pow__(self, other: Tile[E_co] | float) -> Tile[E_co]: ...
    @overload
    def __pow__(self, other: Tile[Any]) -> Tile[Any]: ...
    def __pow__(self, other: Number) -> Tile[Any]:
        """Raise to a power; small constant ones multiply."""
        ...

    def __radd__(self, other: float) -> Tile[E_co]: ...
    def __rsub__(self, other: float) -> Tile[E_co]: ...
    def __rmul__(self, other: float) -> Tile[E_co]: ...
    def __rtruediv__(self, other: float) -> Tile[E_co]: ...
    def __rfloordiv__(self, other: float) -> Tile[E_co]: ...
    def __rmod__(self, other: float) -> Tile[E_co]: ...
    def __rpow__(self, other: float) -> Tile[E_co]: ...
    def __neg__(self) -> Tile[E_co]: ...
    def __pos__(self) -> Tile[E_co]: ...
    def __abs__(self) -> Tile[E_co]: ...
    def __divmod__(self, other: Tile[E_co] | float) -> tuple[Tile[E_co], Tile[E_co]]: ...
    def __rdivmod__(self, other: float) -> tuple[Tile[E_co], Tile[E_co]]: ...

    def __matmul__(self, other: Tile[Any]) -> Tile[Any]:
        """Return the matrix product, in the accumulator type of the elements."""
        ...

    # --- bits: integers, and the logic of booleans ---------------------------------------------

    def __and__(self, other: Tile[E_co] | int) -> Tile[E_co]: ...
    def __or__(self, other: Tile[E_co] | int) -> Tile[E_co]: ...
    def __xor__(self, other: Tile[E_co] | int) -> Tile[E_co]: ...
    def __lshift__(self, other: Tile[E_co] | int) -> Tile[E_co]: ...
    def __rshift__(self, other: Tile[E_co] | int) -> Tile[E_co]: ...
    def __rand__(self, other: int) -> Tile[E_co]: ...
    def __ror__(self, other: int) -> Tile[E_co]: ...
    def __rxor__(self, other: int) -> Tile[E_co]: ...
    def __rlshift__(self, other: int) -> Tile[E_co]: ...
    def __rrshift__(self, other: int) -> Tile[E_co]: ...
    def __invert__(self) -> Tile[E_co]: ...

    # --- comparison: a NaN is unequal to everything, itself included ---------------------------

    def __lt__(self, other: Number) -> Tile[bool_]: ...
    def __le__(self, other: Number) -> Tile[bool_]: ...
    def __gt__(self, other: Number) -> Tile[bool_]: ...
    def __ge__(self, other: Number) -> Tile[bool_]: ...

    # As in NumPy, a comparison gives no bool, which is what `object` promises.
    def __eq__(self, other: Number) -> Tile[bool_]: ...  # type: ignore[override]
    def __ne__(self, other: Number) -> Tile[bool_]: ...  # type: ignore[override]

    __hash__ = None  # type: ignore[assignment]
