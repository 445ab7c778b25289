"""The choices that lowering and the assembler read, as one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from .policy import OccupancyConfig
from .target import CodegenHints


@dataclass(frozen=True, slots=True)
class Choices:
    """What is varied between candidates of one kernel; None leaves a choice to the assembler.

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
        """Return what a row of a table chooses."""
        return cls(row.warps, row.blocks, row.cluster, row.latency)

    @classmethod
    def of_mapping(cls, given: Mapping[str, object]) -> Choices:
        """Return choices from their names and values; ValueError for what is none."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in NAMES or not isinstance(value, int) or value < 0:
                raise ValueError(f"not a choice: {name} = {value!r}")
            found[name] = bool(value) if name in SWITCHES else value
        return cls(**found)

    @property
    def given(self) -> dict[str, int | bool]:
        """Return what is not left to the assembler, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def under(self, hints: CodegenHints) -> Choices:
        """Return these choices where the caller has not asked for others."""
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
