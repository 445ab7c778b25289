"""What a launch may ask of the compiler beyond its arguments."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..backend.tileir.target import CodegenHints
from ..base.config import CHECKS
from ..base.numbers import number_text


@dataclass(frozen=True, slots=True)
class CompileOptions(CodegenHints):
    """Hints for the code generator, most of them for CUDA; None leaves the decision to it.

    `occupancy`, `num_cta_in_cga` and `num_worker_warps_per_cta` are hints on the kernel;
    `allow_tma` and `latency` apply to all tile accesses without an explicit value.
    `max_divisibility` limits the assumed divisibility of addresses and strides, in bytes;
    `block_group` is the number of blocks of a matrix product that run together for cache reuse, 1
    for launch order. `whole_first` uses an unpadded fast path for tiles that are in bounds.
    `scaled_exp` computes f32 `exp` and `exp2` by the hardware's power of two, with a relative error
    of 2**-17; by default if only 16 bits of the result are used. `checks` is for tests and
    measurements: `pinned` keeps the remaining checks at their accesses, `forced` keeps all of them
    there.

    >>> CompileOptions(occupancy=2).occupancy
    2
    """

    checks: str | None = None

    def __post_init__(self) -> None:
        _check("occupancy", self.occupancy, tuple(range(1, 33)))
        _check("num_cta_in_cga", self.num_cta_in_cga, (1, 2, 4, 8, 16))
        _check("num_worker_warps_per_cta", self.num_worker_warps_per_cta, (1, 2, 4, 8, 16, 32))
        _check("max_divisibility", self.max_divisibility, (1, 2, 4, 8, 16))
        _check("latency", self.latency, tuple(range(1, 11)))
        _check("block_group", self.block_group, tuple(range(1, 65)))
        if self.checks not in (None, *CHECKS):
            raise ValueError(f"checks must be one of {', '.join(CHECKS)}, got {self.checks!r}")

    @property
    def given(self) -> dict[str, Any]:
        """Those that are not left to the code generator, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def over(self, other: CompileOptions) -> CompileOptions:
        """These, and where they leave a choice open, those of another.

        >>> CompileOptions(occupancy=2).over(CompileOptions(occupancy=4, latency=3)).given
        {'occupancy': 2, 'latency': 3}
        """
        return replace(other, **self.given)

    @property
    def codegen_hints(self) -> CodegenHints:
        """The same for the backend, which knows no options."""
        return CodegenHints(**{k: v for k, v in asdict(self).items() if k != "checks"})


def _check(name: str, value: int | None, allowed: tuple[int, ...]) -> None:
    if value is not None and value not in allowed:
        shown = f"1 to {allowed[-1]}" if len(allowed) > 6 else ", ".join(map(str, allowed))
        raise ValueError(f"{name} must be one of {shown}, got {number_text(value)}")


PLAIN = CompileOptions()
"""No hints."""
