"""What a row of the GPU benchmark is made of: contestants, their settings, and what counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

OURS = "tilewright"
PERSISTENT, HINTED = f"{OURS}, persistent", f"{OURS}, hinted"
TORCH, TRITON, CUTILE, COPY = "torch", "Triton", "cuTile Python", "copy"

Tensor: TypeAlias = Any
"""A tensor of torch, which is not installed where types are checked."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to do the work: `run` puts it on the current stream, the answer is in `out`."""

    run: Callable[[], object]
    out: Tensor
    setting: str = ""
    """What it was tuned to, for the table."""
    fetch: Callable[[], object] | None = None
    """Brings the answer there, where it is elsewhere."""
    spoil: Callable[[], object] | None = None
    """Fills the place of the answer with NaN, where other settings write it too."""


Settings: TypeAlias = "Callable[[], list[Entry]]"
"""The settings of one contestant, the best of which takes part."""


@dataclass(frozen=True, slots=True)
class Case:
    """The data of a row, in memory: who takes part, and what the answer must be."""

    contestants: Mapping[str, Settings]
    expected: Callable[[], Tensor]
    tolerance: float
    """The largest error, in parts of the largest number of the answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """A problem of one size."""

    family: str
    name: str
    make: Callable[[], Case]
    amount: float
    """Bytes that must move, or floating-point operations."""
    unit: str
    """`B` or `FLOP`."""
    goals: Mapping[str, float] = field(default_factory=dict[str, float])
    """The speeds we want, as parts of a contestant's."""
    usual: bool = True
    """Whether it is part of a run that does not ask for everything."""
    cold: bool = False
    """Whether to flush the cache before each run: where the data would fit in it, or where a run
    is so short that the next one could not be launched meanwhile."""

    def rate(self, seconds: float) -> float:
        """The speed, in TB/s or TFLOP/s."""
        return self.amount / seconds / 1e12
