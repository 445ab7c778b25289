"""Declares what SIMT kernels add: threads, shared memory, warps, inline PTX, slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self, TypeAlias

from typing_extensions import TypeVar

from ..base.dtypes import DType, bool_, u32
from ..ir.attrs import WARP_SIZE
from .marker import OnlyInThreads, declared_for_threads, only_in_threads
from .pointer import PointerTile
from .tile import E, To

# -------------------------------------------------------------------------------------------------
# Declares the position of a thread of a SIMT kernel: witnesses, and plain numbers.
#
# A witness is an index that no other thread has. Only the functions of this file make one; what is
# computed from it is a plain number.


class Index(int):
    """A witness: this thread's own index, the only thing a `DisjointSlice` is indexed with.

    It may be compared with `len(...)`, index any slice, and be computed with; the result of
    arithmetic is a plain number, and no number becomes a witness.
    """

    def __new__(cls) -> Self:
        """Reject: only a running thread has an index."""
        raise TypeError(only_in_threads("simt.Index"))

    @property
    def row(self) -> int:
        """The thread's position along y, of a witness of `index_2d`."""
        ...

    @property
    def col(self) -> int:
        """The thread's position along x, of a witness of `index_2d`."""
        ...


@declared_for_threads
def index_1d() -> Index:
    """Return this thread's witness in a launch with one axis.

    In a launch with threads along y or z it is out of bounds of every slice.
    """
    ...


@declared_for_threads
def index_2d(width: int) -> Index:
    """Return the witness `row * width + col` of this thread's position along y and x.

    `width` must be the same in all threads: a constant, a scalar parameter, or computed from those
    and from `len(...)`. A thread whose column is not below it has an index that is out
    of bounds of every slice.
    """
    ...


@declared_for_threads
def thread_idx(axis: int = 0) -> int:
    """Return this thread's position in its block along x (0), y (1) or z (2): a plain number."""
    ...


@declared_for_threads
def block_idx(axis: int = 0) -> int:
    """Return the position of this thread's block in the grid along x (0), y (1) or z (2)."""
    ...


@declared_for_threads
def block_dim(axis: int = 0) -> int:
    """Return the number of threads of a block along x (0), y (1) or z (2).

    It is a constant in a kernel that declares its block: `@simt.kernel(block=...)`.
    """
    ...


@declared_for_threads
def grid_dim(axis: int = 0) -> int:
    """Return the number of blocks of the grid along x (0), y (1) or z (2)."""
    ...


# -------------------------------------------------------------------------------------------------
# Memory that the threads of a block share, in unsafe code: the author must prevent races.

Extents: TypeAlias = "int | Sequence[int]"


class Shared(OnlyInThreads, Generic[E]):
    """An array in the memory of a block, indexed by one number for each axis.

    Nothing is in it before it is written, and what a thread wrote is seen by the others after the
    next `simt.sync_threads()`. An index outside of it is not looked for but by
    `device="reference"`.
    """

    def __len__(self) -> int:
        """Return the extent along the first axis."""
        ...

    def __getitem__(self, index: int | tuple[int, ...]) -> E:
        """Read an element."""
        ...

    def __setitem__(self, index: int | tuple[int, ...], value: float) -> None:
        """Write an element."""
        ...

    def at(self, *index: int) -> PointerTile[E]:
        """Refer to an element for `tl.atomic_add` and the other atomics; nothing else takes it."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, constants."""
        ...

    @property
    def dtype(self) -> type[E]:
        """The element type."""
        ...


@declared_for_threads
def shared(dtype: type[E], shape: Extents) -> Shared[E]:
    """Create an array in the block's memory; the extents are constants, at most 48 KiB in total."""
    ...


@declared_for_threads
def dynamic_shared(dtype: type[E], *, offset: int = 0) -> Shared[E]:
    """Return the memory that `.launch_config(shared_mem_bytes=...)` requests, from a byte offset.

    Calls with the same offset return the same memory; `len(...)` is its number of elements.
    """
    ...


@declared_for_threads
def sync_threads() -> None:
    """Wait for all threads of the block; afterwards all see their earlier writes.

    All threads of a block that have not returned must reach it: not under a divergent
    condition.
    """
    ...


# -------------------------------------------------------------------------------------------------
# Declares warp operations, in unsafe code: 32 adjacent threads of a block.
#
# All lanes of the warp get to such a call together, but for those that have returned. Where only
# some do, `mask` says which: a bit for each lane, as `simt.ballot` gives it. What comes from a
# lane that takes no part is unspecified; `device="reference"` reports it.

__all__ = [
    "WARP_SIZE", "ballot", "lane_id", "match_any", "shuffle", "shuffle_down", "shuffle_up",
    "shuffle_xor", "sync_warp", "vote_all", "vote_any", "warp_id", "whole_warps",
]  # fmt: skip

Lanes: TypeAlias = "u32 | int | None"
Condition: TypeAlias = "bool_ | bool"


@declared_for_threads
def lane_id() -> int:
    """Return this thread's lane in its warp, 0 to 31."""
    ...


@declared_for_threads
def warp_id() -> int:
    """Return the number of this thread's warp in its block; a warp is 32 adjacent threads."""
    ...


@declared_for_threads
def whole_warps(width: int = WARP_SIZE) -> None:
    """Reject blocks that do not consist of complete warps, or of complete groups of lanes.

    The compiler checks a kernel that declares its block, otherwise the host checks each launch.
    """
    ...


@declared_for_threads
def sync_warp(*, mask: Lanes = None) -> None:
    """Wait for the lanes; afterwards they see their earlier writes."""
    ...


@declared_for_threads
def shuffle(value: To, lane: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of lane number `lane`, among `width` adjacent lanes."""
    ...


@declared_for_threads
def shuffle_up(value: To, delta: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of the lane `delta` below; the own value if there is none."""
    ...


@declared_for_threads
def shuffle_down(value: To, delta: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of the lane `delta` above; the own value if there is none."""
    ...


@declared_for_threads
def shuffle_xor(value: To, bits: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of the lane whose number is that of this lane, exclusive or `bits`."""
    ...


@declared_for_threads
def vote_all(condition: Condition, *, mask: Lanes = None) -> bool:
    """Return whether the condition holds for all lanes."""
    ...


@declared_for_threads
def vote_any(condition: Condition, *, mask: Lanes = None) -> bool:
    """Return whether the condition holds for any lane."""
    ...


@declared_for_threads
def ballot(condition: Condition, *, mask: Lanes = None) -> u32:
    """Return a bit for each lane for which the condition holds."""
    ...


@declared_for_threads
def match_any(value: object, *, mask: Lanes = None) -> u32:
    """Return a bit for each lane that has the same value, bit for bit."""
    ...


# -------------------------------------------------------------------------------------------------
# Declares inline PTX in SIMT kernels, in unsafe code: its text is not checked.


@declared_for_threads
def inline_ptx(text: str, *values: object, result: Any = None) -> Any:
    """Run PTX: `$0`, `$1`, ... are the results, then the values; `$$` is a dollar.

    `result` is the element type of the result, or a tuple of several; None for none. Operands have
    16, 32 or 64 bits. The CPU and the reference do not support it.
    """
    ...


# -------------------------------------------------------------------------------------------------
# The memory of SIMT kernels as type checkers see it: the contiguous elements of a tensor.

D = TypeVar("D", bound=DType)
D_co = TypeVar("D_co", bound=DType, covariant=True)


class Run(OnlyInThreads, Generic[D]):
    """Adjacent elements of a slice, with one bounds check for all of them."""

    def __len__(self) -> int:
        """Return the number of elements, a constant."""
        ...

    def __getitem__(self, index: int) -> D:
        """Read an element; a constant index costs no check."""
        ...

    def __setitem__(self, index: int, value: float) -> None:
        """Write an element, of a slice that is written."""
        ...


class Runs(OnlyInThreads, Generic[D]):
    """A slice in runs of adjacent elements: a thread works on one run, with one bounds check."""

    def __len__(self) -> int:
        """Return the number of complete runs."""
        ...

    def __getitem__(self, index: int) -> Run[D]:
        """Return the run at an index, which is checked, or at a witness."""
        ...


class TileView(OnlyInThreads, Generic[D]):
    """A tile of a slice's rows, with one bounds check."""

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns, constants."""
        ...

    def __getitem__(self, index: tuple[int, int]) -> D:
        """Read an element; constant indices cost no check."""
        ...

    def __setitem__(self, index: tuple[int, int], value: float) -> None:
        """Write an element, of a slice that is written."""
        ...


class Tiles(OnlyInThreads, Generic[D]):
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

    def __getitem__(self, index: int | tuple[int, int]) -> TileView[D]:
        """Return the tile of a number, counted along the rows, or of a row and a column of tiles.

        It is checked. Of a slice that is written, it is the tile of a witness.
        """
        ...


class Slice(OnlyInThreads, Generic[D_co]):
    """Elements that all threads may read. Takes a contiguous tensor or array of any rank."""

    def __len__(self) -> int:
        """Return the number of elements."""
        ...

    def __getitem__(self, index: int) -> D_co:
        """Return the element at an index, which is checked."""
        ...

    def runs(self, size: int) -> Runs[D_co]:
        """Divide it into runs of that many elements, a constant; the remainder is in no run."""
        ...

    def tiles(self, shape: tuple[int, int], width: int) -> Tiles[D_co]:
        """Divide its rows, which are `width` elements long, into tiles of a constant shape.

        The remainders at the ends of rows and below are in no tile.
        """
        ...

    @property
    def dtype(self) -> type[D_co]:
        """The element type."""
        ...


class Elements(OnlyInThreads, Generic[D]):
    """All elements of a slice that is written, at any index, which is checked: in unsafe code."""

    def __len__(self) -> int:
        """Return the number of elements."""
        ...

    def __getitem__(self, index: int) -> D:
        """Read an element."""
        ...

    def __setitem__(self, index: int, value: float) -> None:
        """Write an element."""
        ...

    def at(self, index: int) -> PointerTile[D]:
        """Refer to an element for `tl.atomic_add` and the other atomics; nothing else takes it."""
        ...


class DisjointSlice(OnlyInThreads, Generic[D]):
    """Elements of which each thread reads and writes its own: what its witness points at.

    Takes `z.borrow_mut()`, `tw.move(z)` or an op; the tensor is contiguous, of any rank.
    """

    def __len__(self) -> int:
        """Return the number of elements."""
        ...

    def __getitem__(self, index: Index) -> D:
        """Return this thread's own element."""
        ...

    def __setitem__(self, index: Index, value: float) -> None:
        """Write this thread's own element."""
        ...

    @property
    def dtype(self) -> type[D]:
        """The element type."""
        ...

    @property
    def elements(self) -> Elements[D]:
        """All elements, for unsafe code: the author must prevent races."""
        ...

    def runs(self, size: int) -> Runs[D]:
        """Divide it into runs of that many elements, a constant, one for each thread.

        A slice is written by runs of one size, or by single elements.
        """
        ...

    def tiles(self, shape: tuple[int, int], width: int) -> Tiles[D]:
        """Divide its rows, which are `width` elements long, into tiles, one for each thread.

        A witness is one of `simt.index_2d(tiles.width)`, or of `simt.index_1d()`, which counts
        tiles along the rows. A slice is written by tiles of one shape and width alone.
        """
        ...
