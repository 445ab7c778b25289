"""What is kept of a row that was measured. Reading it needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..records import Figures
from .case import Shape


@dataclass(frozen=True, slots=True)
class Record:
    """What a row gave in one shape and type."""

    name: str
    family: str
    held_out: bool
    shape: Shape
    dtype: str
    moved: float
    flops: float
    figures: dict[str, Figures] = field(default_factory=dict[str, Figures])
    """Seconds per call of each contestant."""
    settings: dict[str, str] = field(default_factory=dict[str, str])
    errors: dict[str, float] = field(default_factory=dict[str, float])
    """How far results are off, in parts of what is allowed."""
    absent: dict[str, str] = field(default_factory=dict[str, str])
    predicted: dict[str, float] = field(default_factory=dict[str, float])
    """The part of the memory's speed that the compiler's model allows a kernel of ours."""
