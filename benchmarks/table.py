"""Writes a report as Markdown: the machine, the times and ratios, and the compile times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from .case import OURS
from .records import Record, Report

COLUMNS = ("numpy", "torch", "numba")
"""Peers with a column of their own."""
TITLES = {"all": "All cores", "one": "One core"}
NOISY = 0.1

HOW = """\
Each row is one run in which all contestants took turns. Times are minima over the turns, medians in
brackets. The other columns say how many times faster Tilewright is than that library: the ratio of
the minima, and in brackets of the medians, rounded down. Above 1 Tilewright is faster. What is
wanted is judged by medians.
"""

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def duration(seconds: float) -> str:
    """A time in the unit that suits it, three digits or so."""
    scale, unit = next(((s, u) for s, u in UNITS if seconds >= s), UNITS[-1])
    value = seconds / scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def down(ratio: float, digits: int = 2) -> str:
    """A ratio rounded down, so that it never looks better than it is: 0.979 is 0.97."""
    # A float just below its decimal, such as 1.15, is that decimal.
    return f"{math.floor(round(ratio * 10**digits, 6)) / 10**digits:.{digits}f}"


def verdict(found: float, wanted: float) -> str:
    """Whether a ratio is what was wanted: 0.979 is not 0.98."""
    return "reached" if found >= wanted else f"not reached ({down(found)})"


def markdown(report: Report) -> str:
    """The whole page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield from table(("machine", ""), [(name, text) for name, text in report.machine.items()])
    yield ""
    yield HOW
    for threads, title in TITLES.items():
        records = [r for r in report.records if r.threads == threads]
        if records:
            yield f"## {title}"
            yield ""
            yield from times(records)
            yield ""
    yield from _remarks(report.records)
    yield from _compilations(report.records)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def times(records: Sequence[Record]) -> Iterator[str]:
    """The table of one setting of threads."""
    goals = any(r.goals for r in records)
    head = ["workload", "", "tilewright", "speed", *COLUMNS, "others"]
    yield from table([*head, "wanted"] if goals else head, [_row(r, goals) for r in records])


def _row(record: Record, goals: bool) -> list[str]:
    mine = record.figures.get(OURS)
    if mine is None:
        time = f"**{record.problem or 'not measured'}**"
    else:
        time = f"{duration(mine.minimum)} ({duration(mine.median)})"
    others = [f"{p} {_ratio(record, p)}" for p in record.peers if p not in COLUMNS]
    cells = [
        record.workload, record.about, time, record.rate,
        *(_ratio(record, peer) for peer in COLUMNS), ", ".join(others),
    ]  # fmt: skip
    return [*cells, goal(record)] if goals else cells


def _ratio(record: Record, peer: str) -> str:
    least, middle = record.ratio(peer), record.ratio(peer, "median")
    return "" if least is None or middle is None else f"{down(least)} ({down(middle)})"


def goal(record: Record) -> str:
    """The ratios we want, by medians, and whether we have them."""
    parts: list[str] = []
    for peer, wanted in record.goals.items():
        ratio = record.ratio(peer, "median")
        parts.append(
            f"{peer} {wanted:g} {'not measured' if ratio is None else verdict(ratio, wanted)}"
        )
    return ", ".join(parts)


def _remarks(records: Sequence[Record]) -> Iterator[str]:
    """Who could not take part, and which rows were disturbed."""
    absent = {f"{peer}: {why}" for r in records for peer, why in r.absent.items()}
    lines = [f"- not available: {text}" for text in sorted(absent)]
    lines += _disturbances(records)
    if lines:
        yield "## Remarks"
        yield ""
        yield from lines
        yield ""


def _disturbances(records: Sequence[Record]) -> Iterator[str]:
    noisy = sorted((r for r in records if r.others > NOISY), key=lambda r: -r.others)
    if noisy:
        worst = ", ".join(f"{r.workload} ({r.threads}) {r.others:.0%}" for r in noisy[:5])
        rows = f"{len(noisy)} of {len(records)} rows"
        yield f"- disturbed: in {rows} others used over {NOISY:.0%} of the machine, most in {worst}"


WHOLE = ("first", "hit")
STAGES = ("frontend", "plan", "llvm", "object")


def _compilations(records: Sequence[Record]) -> Iterator[str]:
    """Compile times, once per workload."""
    found = {r.workload: r.compile for r in reversed(records) if r.compile}
    if not found:
        return
    yield "## Compile time"
    yield ""
    yield "Milliseconds: the first compilation in the process, unless another row made it; one that"
    yield "finds its code on disk; the least of a few others, by stage."
    yield ""
    head = ("workload", "first", "disk hit", "again", "frontend", "passes", *STAGES[1:])
    yield from table(head, [_compiled(name, found[name]) for name in reversed(found)])


def _compiled(name: str, stages: dict[str, float]) -> list[str]:
    again = {stage: t for stage, t in stages.items() if stage not in (*WHOLE, "disk")}
    passes = sum(t for stage, t in again.items() if stage not in STAGES)
    numbers = [*(stages.get(w) for w in WHOLE), sum(again.values()), again["frontend"], passes]
    numbers += [again[stage] for stage in STAGES[1:]]
    return [name, *("" if n is None else f"{n * 1e3:.1f}" for n in numbers)]
