"""Ops that write memory by kernels: new tensors, and tensors that are there, flat where possible.

Extents are 32-bit in kernels, so memory with more elements is written in several launches; each
gets the number of its first element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..base.dtypes import AnyDType, u8, u16, u32, u64
from ..base.shapes import Shape, size
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from ..op.running import ELSEWHERE, Steps
from ..tensors.create import Creation, Plan
from ..tensors.layout import layout_of, row_major
from ..tensors.op_borrows import OpBorrow
from ..tensors.partition import Partition, cut
from ..tensors.region import Region
from ..tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    pass

TILE = 4096
"""Elements of one block: long enough to hide what a block costs, short enough for the cache."""

AT_ONCE = 1 << 30
"""Elements that one launch writes at most."""

BITS: dict[int, AnyDType] = {1: u8, 2: u16, 4: u32, 8: u64}
"""The unsigned integers, by their size: what elements are where only their bits matter."""


class Part(NamedTuple):
    """A piece of memory for one launch, and the number of its first element in the whole."""

    out: Partition[Any]
    first: int


Write: TypeAlias = Callable[[Part], DeviceOp[Any]]
"""The launch that writes a part."""


class Made(Creation):
    """Allocates a tensor, and has kernels write it."""

    holds = ("_write",)

    def __init__(self, plan: Plan, write: Write, *, as_bits: bool = False) -> None:
        super().__init__(plan)
        self._write, self._as_bits = write, as_bits

    def make(self, ctx: ExecutionContext) -> Steps[Tensor[Any]]:
        """Allocate, and launch."""
        region = self._plan.allocate(ctx)
        seen = with_dtype(region, BITS[region.dtype.itemsize]) if self._as_bits else region
        for part in flat_parts(seen):
            yield from launched(self, ctx, partial(self._write, part))
        region.mark_written()
        return new_tensor(region)


_QUICK: set[str] = set()
"""Names of ops whose kernels have been captured: that takes long, and is done at first use."""


def launched(
    op: DeviceOp[Any], ctx: ExecutionContext, build: Callable[[], DeviceOp[Any]]
) -> Steps[None]:
    """Run a launch of one of our own kernels as part of another op."""
    name = op.name
    if ctx.on_loop and name not in _QUICK:
        yield ELSEWHERE
    launch = build()
    _QUICK.add(name)
    launch.claim(name)
    yield launch


def flat_parts(region: Region) -> Iterator[Part]:
    """Return contiguous memory that has no other reference, as parts of one axis."""
    for piece, first in flat_pieces(region):
        yield Part(new_tensor(piece).partition_mut((TILE,)), first)


def lent_parts(lent: OpBorrow, region: Region) -> Iterator[Part]:
    """Return memory lent to an op for writing: flat where it is contiguous, else unchanged."""
    pieces = flat_pieces(region) if region.layout.is_contiguous else iter([(region, 0)])
    for piece, first in pieces:
        tiling = cut(piece.layout, tile_of(piece.shape))
        yield Part(Partition(Tensor[Any](piece, None), tiling, lent.ticket), first)


def flat_pieces(region: Region) -> Iterator[tuple[Region, int]]:
    """Divide contiguous memory into regions of one axis; yield the first index of each too."""
    elements, item = size(region.shape), region.dtype.itemsize
    for first in range(0, elements, AT_ONCE):
        layout = row_major(region.dtype, (min(AT_ONCE, elements - first),))
        yield Region(region.storage, layout, region.address + first * item), first


def tile_of(shape: Shape) -> Shape:
    """Return a tile of about `TILE` elements along the last axes of a shape."""
    tile: list[int] = []
    room = TILE
    for extent in reversed(shape):
        tile.append(min(room, 1 << max(extent - 1, 0).bit_length()))
        room //= tile[-1]
    return tuple(reversed(tile))


def with_dtype(region: Region, dtype: AnyDType) -> Region:
    """Return the same elements under another type of their size."""
    layout = layout_of(dtype, region.shape, region.strides)
    return Region(region.storage, layout, region.address)
