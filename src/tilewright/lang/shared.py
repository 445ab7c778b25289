"""Memory that the threads of a block share, in unsafe code: the author must prevent races."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeAlias

from .marker import OnlyInThreads, declared_for_threads
from .pointer import PointerTile
from .tile import E

Extents: TypeAlias = "int | Sequence[int]"


class Shared(OnlyInThreads, Generic[E]):
    """An array in the memory of a block, indexed by one number for each axis.

    Nothing is in it before it is written, and what a thread wrote is seen by the others after the
    next `simt.sync_threads()`. An index outside of it is not looked for but by
    `device="reference"`.
    """

    def __len__(self) -> int:
        """The extent along the first axis."""
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
