"""What a launch may ask of the compiler beyond its arguments."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..backend.tileir.target import Wishes
from ..base.config import CHECKS


@dataclass(frozen=True, slots=True)
class CompileOptions(Wishes):
    """Hints for the code generator, most of them for CUDA; None leaves the choice to it.

    `occupancy`, `num_cta_in_cga` and `num_worker_warps_per_cta` are hints on the kernel;
    `allow_tma` and `latency` on all its accesses of tiles that say nothing themselves.
    `max_divisibility` limits what is promised of addresses and strides, in bytes; `block_group` is
    how many blocks of a product run together for reuse, 1 for the order of launch. `whole_first`
    reads tiles that lie inside their tensor by a way of their own, without padding. `scaled_exp`
    computes f32 `exp` and `exp2` by the hardware's own power of two, with a relative error of
    2**-17; by default that is done where the result is only seen in 16 bits. `checks` is for tests
    and measurements: `pinned` leaves each check that the kernel must make where the source has it,
    `forced` leaves all of them there.

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
    def wishes(self) -> Wishes:
        """The same for the backend, which knows no options."""
        return Wishes(**{k: v for k, v in asdict(self).items() if k != "checks"})


def _check(name: str, value: int | None, allowed: tuple[int, ...]) -> None:
    if value is not None and value not in allowed:
        shown = f"1 to {allowed[-1]}" if len(allowed) > 6 else ", ".join(map(str, allowed))
        raise ValueError(f"{name} must be one of {shown}, got {value!r}")


PLAIN = CompileOptions()
"""No wishes."""
