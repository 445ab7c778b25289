"""What a multiprocessor of each architecture has, and what the memory behind it gives.

Limits are those of the CUDA programming guide. Bandwidths and numbers of multiprocessors are those
of the largest chip of an architecture; latencies are of loads from DRAM, unloaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from .target import TileTarget


@dataclass(frozen=True, slots=True)
class Processor:
    """One multiprocessor, and its part of the memory."""

    since: int
    """The first architecture that this holds for, as a number."""
    threads: int
    blocks: int
    shared_bytes: int
    bandwidth: float
    """Bytes per nanosecond, of one multiprocessor."""
    latency: float
    """Nanoseconds."""
    registers: int = 65536
    code_bytes: int = 128 << 10
    """The instruction cache."""

    @property
    def needed_bytes(self) -> float:
        """Bytes that must be in flight to use the bandwidth (Little's law)."""
        return self.bandwidth * self.latency


PROCESSORS = (
    Processor(120, threads=1536, blocks=24, shared_bytes=100 << 10, bandwidth=9.5, latency=650),
    Processor(100, threads=2048, blocks=32, shared_bytes=228 << 10, bandwidth=54.0, latency=750),
    Processor(90, threads=2048, blocks=32, shared_bytes=228 << 10, bandwidth=36.4, latency=700),
    Processor(86, threads=1536, blocks=24, shared_bytes=100 << 10, bandwidth=7.9, latency=600),
    Processor(80, threads=2048, blocks=32, shared_bytes=164 << 10, bandwidth=18.9, latency=600),
)
"""Newest first."""


def processor_of(target: TileTarget) -> Processor:
    """Return the newest description that is not newer than the target."""
    return next(p for p in PROCESSORS if target.number >= p.since)
