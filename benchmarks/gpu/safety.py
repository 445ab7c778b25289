"""What safety costs: each kernel compiled as it is, and the same source without any check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tilewright as tw
from tilewright.ir.artifact import Artifact

from .meta import CALLS, Call


@dataclass(frozen=True, slots=True)
class Twins:
    """A safe kernel beside its unchecked twin."""

    checks: str
    """Where the safe one's checks went."""
    code_bytes: int
    """The size of its machine code, in its container."""
    same: bool
    """Whether the other's is the same, byte for byte."""


def twins(call: Call, arch: str) -> Twins:
    """Compile both."""
    entry: Any = tw.entry(unsafe=True, unchecked_accesses=True)
    unchecked = entry(call.kernel.__wrapped__)
    safe: Artifact = call.kernel.compile_for(arch, *call.arguments(), **call.constants)
    other: Artifact = unchecked.compile_for(arch, *call.arguments(), **call.constants)
    assert isinstance(safe.code, bytes), "code for GPUs is a file"
    checks = call.kernel.checks(*call.arguments(), device=arch, **call.constants)
    return Twins(str(checks), len(safe.code), safe.code == other.code)


def safety(arch: str) -> dict[str, Twins]:
    """All kernels of the benchmark."""
    return {name: twins(call, arch) for name, call in CALLS.items()}
