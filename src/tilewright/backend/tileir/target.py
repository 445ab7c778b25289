"""The target of a compilation: architecture, bytecode version, hints of the caller."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.dtypes import AnyDType, f4e2m1fn, f8e4m3fn, f8e5m2, f8e8m0fnu
from .bytecode.enums import NEWEST, Version

ARCHITECTURES = (
    "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110",
    "sm_120", "sm_121",
)  # fmt: skip
"""What tileiras compiles for."""

DTYPES_SINCE: dict[AnyDType, int] = {f8e4m3fn: 90, f8e5m2: 90, f8e8m0fnu: 100, f4e2m1fn: 100}
"""Element types that older architectures do not have."""

OPS_SINCE: dict[str, tuple[int, str]] = {
    "mmaf_scaled": (100, "products of block-scaled tiles (mmaf_scaled)"),
}
"""Operations that older architectures do not have, and what they are called."""


@dataclass(frozen=True, slots=True)
class CodegenHints:
    """Requests of the caller; None leaves a decision to the compiler."""

    occupancy: int | None = None
    num_cta_in_cga: int | None = None
    num_worker_warps_per_cta: int | None = None
    max_divisibility: int | None = None
    allow_tma: bool | None = None
    latency: int | None = None
    block_group: int | None = None
    whole_first: bool | None = None
    async_loads: bool | None = None
    register_operands: bool | None = None


@dataclass(frozen=True, slots=True)
class TileTarget:
    """One architecture, one version of the bytecode, and what the caller wants."""

    arch: str
    version: Version = NEWEST
    codegen_hints: CodegenHints = CodegenHints()
    careful: bool = False
    """Whether to write what assemblers have failed on in other words; see `lower.control`."""

    @property
    def number(self) -> int:
        """The architecture as a number: 90 for sm_90."""
        return int(self.arch.removeprefix("sm_"))


def is_architecture(name: str) -> bool:
    """Return whether a name is that of an architecture."""
    return name in ARCHITECTURES
