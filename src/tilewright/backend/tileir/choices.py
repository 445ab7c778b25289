"""The choices that lowering and the assembler read, and their thresholds by architecture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from .target import CodegenHints, TileTarget

# --- tables of thresholds for `heuristics`, by architecture ------------------------------------


@dataclass(frozen=True, slots=True)
class OccupancyConfig:
    """The occupancy of blocks up to a size; None leaves it to the assembler."""

    size: int
    warps: int | None = None
    blocks: int | None = None
    blocks_once: int | None = None
    """Blocks per multiprocessor if there is one reduction only, which takes less waiting."""
    blocks_rows: int | None = None
    """Blocks per multiprocessor if a tile has several rows: fewer warps wait for each other."""
    latency: int | None = None
    """The prefetch distance of loads without a hint."""
    cluster: int | None = None
    """Multiprocessors among which a block's tiles are divided."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The thresholds from one architecture on, until the next one that has a policy."""

    since: int
    """The first architecture these hold for, as a number."""
    copies: Sequence[OccupancyConfig]
    """Elementwise kernels, by the bytes of their largest tile."""
    rows: Sequence[OccupancyConfig]
    """Kernels with reductions."""
    remade: Sequence[OccupancyConfig]
    """Kernels that rematerialize tiles after a reduction."""
    streams: Sequence[OccupancyConfig]
    """Kernels whose loops load, by the elements of their largest tile: a pipeline takes registers
    and shared memory, so that fewer blocks are resident."""
    products: Sequence[OccupancyConfig]
    """Kernels with matrix products, by the elements of one accumulator."""
    converted: Sequence[OccupancyConfig]
    """Products of operands that the loop computes, such as weights of 8 bits."""
    visits: Sequence[OccupancyConfig]
    """Products in persistent kernels: loads for the next tile overlap the end of the last one."""
    checked: Sequence[OccupancyConfig]
    """Persistent kernels with in-kernel checks, whose reports need registers."""
    by_hand: Sequence[OccupancyConfig]
    """Products without tensor cores: f32 and f64."""
    gathers: Sequence[OccupancyConfig]
    """Products whose tiles bulk copies cannot load, because rows are not aligned."""
    chains: Sequence[OccupancyConfig]
    """Chained products (attention), by the elements of all results of one iteration."""
    flat_chains: Sequence[OccupancyConfig]
    """Chained products with fewer rows than a warp group (four warps) multiplies at once."""
    flat: int
    """Chained products with fewer rows than this are flat."""
    tall: int
    """Chained products with this many rows or more use 8 warps, unless their row says otherwise."""
    page: int
    """From this many elements per access on, blocks that transpose tiles run row by row."""
    group: int
    """Blocks of a product run in groups of this many along the first axis, for L2 reuse."""
    twice: tuple[int, int]
    """Row-length range (min, max) for which a version for full tiles is generated."""
    twice_copied: tuple[int, int]
    """The same for kernels without reductions."""
    short: int
    """Rows of up to this many bytes are loaded vector by vector in kernels without reductions."""
    bulk_copies: bool
    """Whether there are bulk copies of tiles (TMA)."""
    in_flight: int
    """Bytes that the loops on a multiprocessor shall have asked for ahead of their use."""
    stages: int
    """The most iterations that loads of a loop begin ahead, if no bulk copies do it; 0 for none."""


def found(table: Sequence[OccupancyConfig], size: int) -> OccupancyConfig:
    """Return the row of a table for a size: the first that is large enough, else the last."""
    return next((row for row in table if size <= row.size), table[-1])


def _without_clusters(table: Sequence[OccupancyConfig]) -> tuple[OccupancyConfig, ...]:
    return tuple(replace(row, cluster=None) for row in table)


HOPPER = Policy(
    since=90,
    # A thread has two vectors of each tile, so that it computes addresses once for both.
    copies=(OccupancyConfig(4096), OccupancyConfig(1 << 26, warps=8)),
    rows=(
        OccupancyConfig(2048, warps=4),
        OccupancyConfig(4096, warps=4, blocks=7, blocks_rows=8),
        OccupancyConfig(8192, warps=8, blocks=4),
        OccupancyConfig(16384, warps=8, blocks=3, blocks_once=2),
        OccupancyConfig(1 << 24, warps=8, blocks=1),
    ),
    remade=(OccupancyConfig(16384, warps=8, blocks=3), OccupancyConfig(1 << 24, warps=8, blocks=2)),
    streams=(
        OccupancyConfig(2048, warps=4, blocks=6),
        OccupancyConfig(4096, warps=4, blocks=4),
        OccupancyConfig(1 << 24, warps=8, blocks=2),
    ),
    products=(
        OccupancyConfig(2048, blocks=2),
        OccupancyConfig(4096),
        # Such tiles suit small matrices: few blocks, so each may use much of a multiprocessor.
        OccupancyConfig(8192, warps=4, blocks=1),
        OccupancyConfig(16384, warps=4, blocks=2),
        # Four warps do not have the registers for such an accumulator: it would spill.
        OccupancyConfig(32768, warps=8),
        # Nor do eight; a cluster of two multiprocessors divides it.
        OccupancyConfig(1 << 24, warps=8, cluster=2),
    ),
    # While one warp group converts, the other one multiplies.
    converted=(
        OccupancyConfig(2048, blocks=2),
        OccupancyConfig(4096),
        OccupancyConfig(8192, warps=4, blocks=1),
        OccupancyConfig(16384, warps=8, blocks=2),
        OccupancyConfig(32768, warps=8),
        OccupancyConfig(1 << 24, warps=8, cluster=2),
    ),
    # One block per multiprocessor has all shared memory, which holds the loads of six iterations.
    visits=(
        OccupancyConfig(16384, warps=4, blocks=1, latency=6),
        OccupancyConfig(32768, warps=8, blocks=1, latency=6),
        OccupancyConfig(1 << 24, warps=8, blocks=1, latency=6, cluster=2),
    ),
    checked=(OccupancyConfig(8192, warps=4, blocks=1), OccupancyConfig(1 << 24, warps=8, blocks=1)),
    by_hand=(OccupancyConfig(1 << 24, warps=8, blocks=1),),
    gathers=(OccupancyConfig(8192), OccupancyConfig(1 << 24, warps=8)),
    # While one block waits for a product, the others compute: as many as the registers allow.
    chains=(
        OccupancyConfig(8192, blocks=4),
        OccupancyConfig(16384, blocks=2),
        OccupancyConfig(24576, warps=4, blocks=2),
        OccupancyConfig(1 << 24, blocks=1),
    ),
    flat_chains=(OccupancyConfig(1 << 24, blocks=2),),
    flat=64,
    tall=128,
    page=2048,
    group=8,
    # Shorter rows share a tile and were slower with two versions; longer ones need too many
    # registers.
    twice=(8192, 16384),
    # All loads then follow one bounds test; there is nothing else to wait for.
    twice_copied=(1, 16384),
    # Sums of 2^20 to 2^28 elements were up to 2 % faster with such tiles, never slower.
    short=16 << 10,
    bulk_copies=True,
    # 4.8 TB/s over 132 multiprocessors take 32 KiB in flight at 900 ns; loops also compute.
    in_flight=96 << 10,
    # The assembler takes registers for each stage; with four there are often too few.
    stages=3,
)
"""Measured on an H200; newer architectures use it unmeasured."""

AMPERE = replace(
    HOPPER,
    since=80,
    copies=(OccupancyConfig(8191), OccupancyConfig(1 << 26, warps=8)),
    products=_without_clusters(HOPPER.products),
    converted=_without_clusters(HOPPER.products),
    visits=_without_clusters(HOPPER.visits),
    bulk_copies=False,
)

POLICIES = (HOPPER, AMPERE)
"""Newest first."""


def policy_for(target: TileTarget) -> Policy:
    """Return the policy of the newest architecture that is not newer than the target."""
    return next(p for p in POLICIES if target.number >= p.since)


# --- the choices that lowering and the assembler read, as one record ---------------------------


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices that candidates of one kernel vary; None leaves one to the assembler.

    The names are those of `CompileOptions`, which fixes what it sets.
    """

    num_worker_warps_per_cta: int | None = None
    occupancy: int | None = None
    num_cta_in_cga: int | None = None
    latency: int | None = None
    """The prefetch distance of loads without a hint."""
    allow_tma: bool | None = None
    """Whether bulk copies may load; None decides it for each access."""
    whole_first: bool | None = None
    """Whether tiles in bounds have their own path; None decides it for each access."""
    async_loads: bool | None = None
    """Whether loads of loops are asynchronous; None decides it for each access."""

    @classmethod
    def of_row(cls, row: OccupancyConfig) -> Choices:
        """Return the choices of a row of a table."""
        return cls(row.warps, row.blocks, row.cluster, row.latency)

    @classmethod
    def of_mapping(cls, given: Mapping[str, object]) -> Choices:
        """Return choices by names and values; raise ValueError for an unknown one."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in NAMES or not isinstance(value, int) or value < 0:
                raise ValueError(f"not a choice: {name} = {value!r}")
            found[name] = bool(value) if name in SWITCHES else value
        return cls(**found)

    @property
    def given(self) -> dict[str, int | bool]:
        """Return the choices that are not left to the assembler, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def under(self, hints: CodegenHints) -> Choices:
        """Return these choices, overridden by those that the caller has made."""
        return Choices.of_mapping({**self.given, **requested(hints)})

    def over(self, hints: CodegenHints) -> CodegenHints:
        """Return hints under which each access follows the choices about accesses."""
        return replace(hints, **{name: getattr(self, name) for name in SWITCHES})

    @property
    def text(self) -> str:
        """The choices in a few words."""
        found = [TEXTS[name].format(value) for name, value in self.given.items()]
        return ", ".join(found) or "as the assembler chooses"


NAMES = tuple(f.name for f in fields(Choices))
SWITCHES = ("allow_tma", "whole_first", "async_loads")
TEXTS = {
    "num_worker_warps_per_cta": "{} warps",
    "occupancy": "occupancy {}",
    "num_cta_in_cga": "cluster of {}",
    "latency": "latency {}",
    "allow_tma": "allow_tma {}",
    "whole_first": "whole_first {}",
    "async_loads": "async_loads {}",
}


def requested(hints: CodegenHints) -> dict[str, int | bool]:
    """Return the choices that the caller has fixed."""
    asked = {name: getattr(hints, name) for name in NAMES}
    return {name: value for name, value in asked.items() if value is not None}
