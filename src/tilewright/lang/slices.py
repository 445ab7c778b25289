"""The memory of SIMT kernels as type checkers see it: the contiguous elements of a tensor."""

from __future__ import annotations

from typing import Generic

from typing_extensions import TypeVar

from ..base.dtypes import DType
from .marker import OnlyInThreads
from .pointer import PointerTile
from .simt import Index

E = TypeVar("E", bound=DType)
E_co = TypeVar("E_co", bound=DType, covariant=True)


class Run(OnlyInThreads, Generic[E]):
    """Adjacent elements of a slice, with one bounds check for all of them."""

    def __len__(self) -> int:
        """Return the number of elements, a constant."""
        ...

    def __getitem__(self, index: int) -> E:
        """Read an element; a constant index costs no check."""
        ...

    def __setitem__(self, index: int, value: float) -> None:
        """Write an element, of a slice that is written."""
        ...


class Runs(OnlyInThreads, Generic[E]):
    """A slice in runs of adjacent elements: a thread works on one run, with one bounds check."""

    def __len__(self) -> int:
        """Return the number of complete runs."""
        ...

    def __getitem__(self, index: int) -> Run[E]:
        """Return the run at an index, which is checked, or at a witness."""
        ...


class TileView(OnlyInThreads, Generic[E]):
    """A tile of a slice's rows, with one bounds check."""

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns, constants."""
        ...

    def __getitem__(self, index: tuple[int, int]) -> E:
        """Read an element; constant indices cost no check."""
        ...

    def __setitem__(self, index: tuple[int, int], value: float) -> None:
        """Write an element, of a slice that is written."""
        ...


class Tiles(OnlyInThreads, Generic[E]):
    """A slice as rows of a matrix, in tiles: a thread works on one tile, with one bounds check."""

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of a tile, constants."""
        ...

    @property
    def width(self) -> int:
        """The number of full tiles per row of tiles: the width of a witness for them."""
        ...

    def __len__(self) -> int:
        """Return the number of complete tiles."""
        ...

    def __getitem__(self, index: int | tuple[int, int]) -> TileView[E]:
        """Return the tile of a number, counted along the rows, or of a row and a column of tiles.

        It is checked. Of a slice that is written, it is the tile of a witness.
        """
        ...


class Slice(OnlyInThreads, Generic[E_co]):
    """Elements that all threads may read. Takes a contiguous tensor or array of any rank."""

    def __len__(self) -> int:
        """Return the number of elements."""
        ...

    def __getitem__(self, index: int) -> E_co:
        """Return the element at an index, which is checked."""
        ...

    def runs(self, size: int) -> Runs[E_co]:
        """Divide it into runs of that many elements, a constant; the remainder is in no run."""
        ...

    def tiles(self, shape: tuple[int, int], width: int) -> Tiles[E_co]:
        """Divide its rows, which are `width` elements long, into tiles of a constant shape.

        The remainders at the ends of rows and below are in no tile.
        """
        ...

    @property
    def dtype(self) -> type[E_co]:
        """The element type."""
        ...


class Elements(OnlyInThreads, Generic[E]):
    """All elements of a slice that is written, at any index, which is checked: in unsafe code."""

    def __len__(self) -> int:
        """Return the number of elements."""
        ...

    def __getitem__(self, index: int) -> E:
        """Read an element."""
        ...

    def __setitem__(self, index: int, value: float) -> None:
        """Write an element."""
        ...

    def at(self, index: int) -> PointerTile[E]:
        """Refer to an element for `tl.atomic_add` and the other atomics; nothing else takes it."""
        ...


class DisjointSlice(OnlyInThreads, Generic[E]):
    """Elements of which each thread reads and writes its own: what its witness points at.

    Takes `z.borrow_mut()`, `tw.move(z)` or an op; the tensor is contiguous, of any rank.
    """

    def __len__(self) -> int:
        """Return the number of elements."""
        ...

    def __getitem__(self, index: Index) -> E:
        """Return this thread's own element."""
        ...

    def __setitem__(self, index: Index, value: float) -> None:
        """Write this thread's own element."""
        ...

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        ...

    @property
    def elements(self) -> Elements[E]:
        """All elements, for unsafe code: the author must prevent races."""
        ...

    def runs(self, size: int) -> Runs[E]:
        """Divide it into runs of that many elements, a constant, one for each thread.

        A slice is written by runs of one size, or by single elements.
        """
        ...

    def tiles(self, shape: tuple[int, int], width: int) -> Tiles[E]:
        """Divide its rows, which are `width` elements long, into tiles, one for each thread.

        A witness is one of `simt.index_2d(tiles.width)`, or of `simt.index_1d()`, which counts
        tiles along the rows. A slice is written by tiles of one shape and width alone.
        """
        ...
