"""The reports of launches: failed checks as errors, prints on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..base.errors import Error, LaunchError
from ..base.shapes import size
from ..ir.launch_expr import (
    COMPARISONS,
    Expr,
    LaunchCheck,
    LaunchFacts,
    evaluate,
    leaves,
    parts,
    show,
)

if TYPE_CHECKING:
    from ..devices.protocol import FunctionRun
    from ..ir.artifact import Failure, Printed


@dataclass(frozen=True, slots=True)
class Report:
    """What a finished launch says: the first failure, prints in block order, problems found."""

    failure: Failure | None = None
    printed: tuple[Printed, ...] = ()
    problems: tuple[str, ...] = ()
    seed: int | None = None
    error: Error | None = None
    """Why it did not run to its end."""


QUIET = Report()
"""Of a launch with nothing to say."""


def nothing_reported(raw: object) -> Report:
    """Return the report of a node of a graph that says nothing."""
    return QUIET


def report_of_run(run: FunctionRun) -> Report:
    """Return the report of a launch of foreign code, which its stream has passed."""
    problem = run.problem()
    return QUIET if problem is None else Report(error=problem)


def deliver(kernel: str, report: Report) -> Error | None:
    """Write the prints; give the error if anything went wrong."""
    if report.printed:
        sys.stdout.write("".join(printed_text(p) for p in report.printed))
    if report.error is not None:
        return report.error
    if report.failure is not None:
        return failure_error(kernel, report.failure)
    if not report.problems:
        return None
    return LaunchError(
        f"the reference device found problems in `{kernel}`\n  "
        + "\n  ".join(text.replace("\n", "\n  ") for text in report.problems),
        hint=f"blocks ran in the order of seed {report.seed}",
    )


def failure_error(kernel: str, failure: Failure) -> LaunchError:
    """Return the error for a check or assertion that failed in a running kernel."""
    site, block = failure.site, _where(failure)
    if site.kind == "assert":
        text = f": {site.message}" if site.message else ""
        return LaunchError(
            f"assertion failed in `{kernel}`{text}", span=site.span, got=f"{block} failed it"
        )
    if site.kind == "index":
        return LaunchError(
            f"index out of range in `{kernel}`: `{site.tensor}`",
            span=site.span,
            expected=f"0 <= index < {failure.extent}, the length of `{site.tensor}`",
            got=f"{failure.index}, in {block}",
            hint=f"compare the index first: if i < len({site.tensor})",
        )
    of_elements = site.kind == "element"
    counted = "extent of" if of_elements else "number of tiles along"
    return LaunchError(
        f"index out of range in `{kernel}`: axis {site.axis} of `{site.tensor}`",
        span=site.span,
        expected=f"0 <= index < {failure.extent}, the {counted} that axis",
        got=f"{failure.index}, in {block}",
        hint=OUTSIDE if of_elements else COUNTED if failure.index >= failure.extent else None,
    )


OUTSIDE = "if it may be out of bounds: padding=... of a load or a view, clip=True of an accumulator"


COUNTED = "indices count tiles, not elements"


def _where(failure: Failure) -> str:
    block = f"block {failure.block}"
    return block if failure.thread is None else f"thread {failure.thread} of {block}"


def check_launch(kernel: str, checks: Sequence[LaunchCheck], facts: LaunchFacts) -> None:
    """Evaluate the conditions a kernel puts on its launch; raise for the first that fails."""
    check = refusal(checks, facts)
    if check is not None:
        expected = show(check.expr)
        got = ", ".join(_known(part, facts) for part in _parts(check.expr))
        if check.of_blocks and not got:  # the index is a constant
            from ..analysis.bounds.check_placement import constant_bound

            expected, got = constant_bound(check)
        raise LaunchError(
            _headline(kernel, check), span=check.span, expected=expected, got=got or "False",
            hint=_advice(check) or _of_tiles(check, facts),
        )  # fmt: skip


def _advice(check: LaunchCheck) -> str | None:
    """Return the check's hint, or how to keep threads without an element from accessing one."""
    if check.hint is not None:
        return check.hint
    lengths = {leaf[1] for leaf in leaves(check.expr) if leaf[0] == "length"}
    threads = any(leaf[0] == "grid_dim" for leaf in leaves(check.expr))
    if not (check.of_blocks and threads and len(lengths) == 1):
        return None
    return f"there are more threads than elements: if i < len({lengths.pop()}): ..."


def _of_tiles(check: LaunchCheck, facts: LaunchFacts) -> str | None:
    """Return that indices count tiles, where they are what numbers of elements would be."""
    if not check.of_blocks or check.expr[0] not in ("lt", "le"):
        return None
    _, index, bound = check.expr
    tiled = [e for e in _all_parts(bound) if e[0] == "ceildiv" and e[1][0] == "extent"]
    if len({*tiled}) != 1 or not evaluate(("le", index, _replaced(bound, *tiled[:1])), facts):
        return None
    _, (_, tensor, axis), tile = tiled[0]
    count = evaluate(tiled[0], facts)
    return (
        f"indices count tiles, not elements: axis {axis} of `{tensor}` has {count} tiles of"
        f" {evaluate(tile, facts)}, as tl.num_tiles(partition, {axis}) counts them"
    )


def _all_parts(expr: Expr) -> list[Expr]:
    return [expr, *[inner for part in parts(expr) for inner in _all_parts(part)]]


def _replaced(expr: Expr, tiled: Expr) -> Expr:
    """Return an expression with the extent in place of the number of tiles."""
    if expr == tiled:
        return cast("Expr", tiled[1])
    return (expr[0], *[_replaced(part, tiled) for part in parts(expr)]) if parts(expr) else expr


def refusal(checks: Sequence[LaunchCheck], facts: LaunchFacts) -> LaunchCheck | None:
    """Return the first condition that a launch does not meet."""
    return next((check for check in checks if not _passes(check, facts)), None)


def _headline(kernel: str, check: LaunchCheck) -> str:
    if check.of_blocks:
        return f"index out of range in `{kernel}`: {check.message}"
    refused = f"`{kernel}` cannot be launched with these arguments"
    return f"{refused}: {check.message}" if check.message else refused


def _passes(check: LaunchCheck, facts: LaunchFacts) -> bool:
    if check.of_blocks and not size(facts.grid):
        return True
    return evaluate(check.expr, facts) or not all(evaluate(e, facts) for e in check.where)


def _parts(expr: Expr) -> list[Expr]:
    """Return the values to show for a failed condition: both sides and their operands."""
    sides = [side for side in expr[1:] if side[0] != "const"] if expr[0] in COMPARISONS else []
    return [*sides, *(leaf for leaf in leaves(expr) if leaf not in sides)]


def _known(part: Expr, facts: LaunchFacts) -> str:
    return f"{show(part)} = {evaluate(part, facts)}"


def printed_text(record: Printed) -> str:
    """Format one print record as Python would print it."""
    texts = [
        part if isinstance(part, str) else _formatted(record.values[part[0]], part[1])
        for part in record.site.template
    ]
    return "".join(texts)


def _formatted(value: Any, spec: str) -> str:
    """Format a scalar by Python's rules, and each element of a tile as NumPy shows arrays."""
    array = np.asarray(value)
    if array.ndim == 0:
        return format(_number(array), spec) if spec else _shown(array[()])
    if not spec:
        return str(array)
    return np.array2string(array, formatter={"all": lambda x: format(_number(x), spec)})


def _number(scalar: Any) -> float | int | bool:
    item = scalar.item()
    # Some versions of ml_dtypes have no Python number for theirs.
    return item if isinstance(item, bool | int | float) else float(item)


def _shown(scalar: Any) -> str:
    """Return the shortest text that means this very number; floats look like floats."""
    text = str(scalar)
    # The small floats of ml_dtypes show 1.0 as 1.
    whole = isinstance(_number(scalar), float) and text.lstrip("-").isdecimal()
    return f"{text}.0" if whole else text
