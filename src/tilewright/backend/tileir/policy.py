"""The tables of `heuristics`, for architectures alike: thresholds that were measured on an H200."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .target import TileTarget


@dataclass(frozen=True, slots=True)
class OccupancyConfig:
    """How blocks up to a size share a multiprocessor; None leaves it to the assembler."""

    elements: int
    warps: int | None = None
    blocks: int | None = None
    blocks_once: int | None = None
    """Blocks where there is one reduction only, so that less time passes in waiting for it."""
    blocks_rows: int | None = None
    """Blocks where a tile has several rows, so that fewer warps wait for each other."""
    latency: int | None = None
    """How far ahead loads are begun, where they are not told otherwise."""
    cluster: int | None = None
    """Multiprocessors among which a block's tiles are divided."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds from one architecture on, until the next one that has a policy."""

    since: int
    """The first architecture these hold for, as a number."""
    copies: Sequence[OccupancyConfig]
    """Blocks that take every element by itself, by the elements of their largest tile."""
    rows: Sequence[OccupancyConfig]
    """Blocks that reduce what they hold."""
    remade: Sequence[OccupancyConfig]
    """Those that make their tiles again after a reduction."""
    products: Sequence[OccupancyConfig]
    """Blocks with products, by the elements of one accumulator."""
    visits: Sequence[OccupancyConfig]
    """Those that visit many tiles, and fetch for the next one while they finish the last."""
    checked: Sequence[OccupancyConfig]
    """Those of the latter that check what they do, and need registers to tell of it."""
    by_hand: Sequence[OccupancyConfig]
    """Those whose products have no tensor cores: f32 and f64."""
    gathers: Sequence[OccupancyConfig]
    """Those whose tiles bulk copies cannot bring, because rows are not aligned."""
    chains: Sequence[OccupancyConfig]
    """Blocks that feed one product into another, by the elements of all results of one round."""
    flat_chains: Sequence[OccupancyConfig]
    """Those with fewer rows than a group of four warps multiplies at once."""
    flat: int
    """Up to so many rows, exclusive, chained products are flat."""
    tall: int
    """From so many rows on, they are work for 8 warps."""
    page: int
    """From so many elements in one access on, blocks that turn tiles run row by row."""
    group: int
    """Blocks of a product are run in groups of so many along the first axis, for reuse."""
    twice: tuple[int, int]
    """Kernels whose rows have so many elements, from and to, are there twice: for blocks whose
    tiles are whole, and for others."""
    twice_copied: tuple[int, int]
    """The same for those that reduce nothing."""
    short: int
    """Rows of up to so many bytes are loaded vector by vector, where nothing is reduced."""
    bulk_copies: bool
    """Whether there are bulk copies of tiles (TMA)."""


def found(table: Sequence[OccupancyConfig], elements: int) -> OccupancyConfig:
    """The row of a table for a size: the first that is large enough, else the last."""
    return next((row for row in table if elements <= row.elements), table[-1])


def _without_clusters(table: Sequence[OccupancyConfig]) -> tuple[OccupancyConfig, ...]:
    return tuple(replace(row, cluster=None) for row in table)


HOPPER = Policy(
    since=90,
    copies=(OccupancyConfig(2047), OccupancyConfig(1 << 24, warps=8)),
    rows=(
        OccupancyConfig(2048, warps=4),
        OccupancyConfig(4096, warps=4, blocks=7, blocks_rows=8),
        OccupancyConfig(8192, warps=8, blocks=4),
        OccupancyConfig(16384, warps=8, blocks=3, blocks_once=2),
        OccupancyConfig(1 << 24, warps=8, blocks=1),
    ),
    remade=(OccupancyConfig(16384, warps=8, blocks=3), OccupancyConfig(1 << 24, warps=8, blocks=2)),
    products=(
        OccupancyConfig(2048, blocks=2),
        OccupancyConfig(4096),
        # Tiles like these are for small matrices: few blocks, each with much of what it needs.
        OccupancyConfig(8192, warps=4, blocks=1),
        OccupancyConfig(16384, warps=4, blocks=2),
        # Four warps would not have the registers for such an accumulator.
        OccupancyConfig(32768, warps=8),
        # Nor would eight.
        OccupancyConfig(1 << 24, warps=8, cluster=2),
    ),
    # What is left of the shared memory when one block has all of it holds loads of more steps.
    visits=(
        OccupancyConfig(16384, warps=4, blocks=1, latency=6),
        OccupancyConfig(32768, warps=8, blocks=1, latency=6),
        OccupancyConfig(1 << 24, warps=8, blocks=1, latency=6, cluster=2),
    ),
    checked=(OccupancyConfig(8192, warps=4, blocks=1), OccupancyConfig(1 << 24, warps=8, blocks=1)),
    by_hand=(OccupancyConfig(1 << 24, warps=8, blocks=1),),
    gathers=(OccupancyConfig(8192), OccupancyConfig(1 << 24, warps=8)),
    # While one block waits for a product, the others compute: as many as registers are left for.
    chains=(
        OccupancyConfig(8192, blocks=4),
        OccupancyConfig(24576, blocks=2),
        OccupancyConfig(1 << 24, blocks=1),
    ),
    flat_chains=(OccupancyConfig(1 << 24, blocks=2),),
    flat=64,
    tall=128,
    page=2048,
    group=8,
    # Shorter rows come several to a tile, and were slower so; longer ones take too many registers.
    twice=(8192, 16384),
    # All loads then follow each other, behind one question; there is nothing else to wait for.
    twice_copied=(1, 16384),
    # Sums of 2^20 to 2^28 elements in such tiles were faster so, by up to 2 %, or as fast.
    short=16 << 10,
    bulk_copies=True,
)
"""Newer architectures have not been tried, and take it as it is."""

AMPERE = replace(
    HOPPER,
    since=80,
    copies=(OccupancyConfig(4095), OccupancyConfig(1 << 24, warps=8)),
    products=_without_clusters(HOPPER.products),
    visits=_without_clusters(HOPPER.visits),
    bulk_copies=False,
)

POLICIES = (HOPPER, AMPERE)
"""Newest first."""


def policy_for(target: TileTarget) -> Policy:
    """The policy of the newest architecture that is not newer than the target."""
    return next(p for p in POLICIES if target.number >= p.since)
