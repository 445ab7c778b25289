"""The target CPU: its LLVM name and features, and the parameters that planning uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ...base.config import current
from ...base.llvm import llvm

AVX512 = ("+avx512f", "+avx512bw", "+avx512dq", "+avx512vl")

MOVES = {"znver4": 32}
"""Bytes that CPUs move best at a time, by LLVM's name for them; others move a whole register. This
one takes 512-bit vectors in halves."""
LEAST_MOVE = 32
"""Where registers have 16 bytes, two of them go together."""


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A CPU as LLVM names it, and how much scratch a worker may use."""

    name: str
    features: str
    triple: str
    scratch_limit: int = 64 << 20

    def has(self, *features: str) -> bool:
        """Return whether all these features are on, as in `+avx2`."""
        return set(features) <= set(self.features.split(","))

    @property
    def vector_bytes(self) -> int:
        """Bytes of one vector register."""
        if self.has(*AVX512):
            return 64
        return 32 if self.has("+avx2") else 16

    @property
    def is_x86(self) -> bool:
        """Whether it is a 64-bit x86."""
        return self.triple.startswith(("x86_64", "amd64"))

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.has(*AVX512) or self.triple.startswith(("aarch64", "arm64")) else 16

    @property
    def lane_bytes(self) -> int:
        """Bytes that one vector statement works on: two registers, so that latencies overlap."""
        return 2 * max(self.vector_bytes, 32)

    @property
    def scales(self) -> bool:
        """Whether vectors are multiplied by powers of two with one instruction."""
        return self.has(*AVX512)

    @property
    def stream_bytes(self) -> int:
        """Bytes of one tensor that a loop should touch at a time if it waits for memory."""
        return max(MOVES.get(self.name, self.vector_bytes), LEAST_MOVE)

    def orders_integers(self, bits: int) -> bool:
        """Return whether three integer extremes cost less than one float extreme with NaN and -0.

        Elsewhere than on x86 the latter is one instruction.
        """
        return self.has("+sse4.1") and (bits < 64 or self.has(*AVX512))


def host_target() -> CpuTarget:
    """Return the CPU this process runs on, with the scratch limit that is set now."""
    name, features, triple = _host()
    return CpuTarget(name, features, triple, current().scratch_limit)


@cache
def _host() -> tuple[str, str, str]:
    features = llvm.get_host_cpu_features().flatten()
    return str(llvm.get_host_cpu_name()), str(features), str(llvm.get_default_triple())
