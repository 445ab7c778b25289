"""The bounds checks of a compiled kernel: counts and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, NoReturn

from ..analysis.bounds.check_placement import constant_bound, final_placements, named, never_holds
from ..base.errors import Code, CompileError
from ..base.showing import table
from ..base.source import Span, file_text
from ..frontend.capture.sources import KernelSource
from ..ir.core import BoundsCheck, Func, Placement
from ..ir.launch_expr import LaunchCheck

IN_KERNEL = (Placement.HOISTED, Placement.IN_PLACE)


class Checks(NamedTuple):
    """The number of bounds checks by placement: one for each access and axis of the source."""

    proved: int = 0
    at_launch: int = 0
    hoisted: int = 0
    in_place: int = 0

    @classmethod
    def of(cls, obligations: Sequence[BoundsCheck]) -> Checks:
        """Count them."""
        found = Counter(o.placement for o in obligations)
        return cls(*(found[placement] for placement in Placement))

    @property
    def in_kernel(self) -> int:
        """How many are left for the kernel to make."""
        return self.hoisted + self.in_place

    def _repr_html_(self) -> str:
        pairs = zip(Placement, self, strict=True)
        return table("checks", [(placement.value, number) for placement, number in pairs])

    def __str__(self) -> str:
        pairs = zip(Placement, self, strict=True)
        return "  ".join(f"{placement.value}: {number}" for placement, number in pairs)


def lines(obligations: Sequence[BoundsCheck]) -> Iterator[str]:
    """Yield every access, where each of its checks went and why, and the totals."""
    for span, group in groupby(obligations, key=lambda o: o.span):
        yield f"access {_place(span)}"
        for o in group:
            yield f"  {named(o.tensor, o.axis)}, {o.placement.value}: {o.reason}"
            if o.advice:
                yield f"    to avoid it, {o.advice}"
    yield str(Checks.of(obligations))


def _place(span: Span | None) -> str:
    if span is None:
        return "somewhere"
    line = span.file.line(span.line) or ""
    end = span.end_column if span.end_line == span.line else len(line)
    name = file_text(span.file.name).rsplit("/", 1)[-1]
    return f"{name}:{span.line}: {line[span.column : end].strip()}"


LEFT_OUT: dict[str, tuple[str, ...]] = {
    "placed": (),
    "pinned": ("place_checks",),
    "forced": ("prove_checks", "place_checks"),
}
"""The passes that each way to place checks does without."""


def accepted(kernel: KernelSource, func: Func, checks: str) -> tuple[BoundsCheck, ...]:
    """Return the final placement of all checks; raise if one always fails or is denied."""
    doomed = next((c for c in func.launch_checks if c.of_blocks and never_holds(c)), None)
    if doomed is not None:
        _refuse(kernel, doomed)
    obligations = final_placements(func)
    if kernel.terms.deny_in_kernel_checks and checks == "placed":
        for o in obligations:
            if o.placement in IN_KERNEL:
                _deny(kernel.name, o)
    return obligations


def _refuse(kernel: KernelSource, check: LaunchCheck) -> NoReturn:
    expected, got = constant_bound(check)
    raise CompileError(
        f"index out of range in every launch of `{kernel.name}`: {check.message}",
        code=Code.INDEX,
        span=check.span,
        expected=expected,
        got=got,
        hint="indices count tiles, not elements" if kernel.dialect == "tile" else None,
    )


def _deny(kernel: str, o: BoundsCheck) -> NoReturn:
    raise CompileError(
        f"`{kernel}` denies checks in the kernel, but {named(o.tensor, o.axis)} needs one here",
        code=Code.INDEX,
        span=o.span,
        expected="an index that is proved or checked at launch",
        got=f"a check {o.placement.value}: {o.reason}",
        hint=f"{o.advice}; or drop deny_in_kernel_checks",
    )
