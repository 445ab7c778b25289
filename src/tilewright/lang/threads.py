"""Declares the position of a thread of a SIMT kernel: witnesses, and plain numbers.

A witness is an index that no other thread has. Only the functions of this file make one; what is
computed from it is a plain number.
"""

from __future__ import annotations

from typing import Self

from .marker import declared_for_threads, only_in_threads


class Index(int):
    """A witness: this thread's own index, the only thing a `DisjointSlice` is indexed with.

    It may be compared with `len(...)`, index any slice, and be computed with; the result of
    arithmetic is a plain number, and no number becomes a witness.
    """

    def __new__(cls) -> Self:
        """Refuse: only a running thread has an index."""
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
