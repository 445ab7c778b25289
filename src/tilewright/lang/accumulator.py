"""Accumulators: outputs that any block may add to, and none may read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeAlias

from .tensor import Declared, Dims, Index
from .tile import E_co, Number, Tile

Places: TypeAlias = "Index | Tile[Any] | Sequence[Index | Tile[Any]]"
"""One element number per axis; one of them may be a tile of numbers. A bare one for one axis."""


class AnyAccumulator(Declared, Generic[E_co]):
    """An accumulator of any rank: what a helper function takes, whatever its dims."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the whole tensor: constants or scalars."""
        ...

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
