"""What was measured, as JSON and as Markdown, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..records import Figures
from ..table import down, duration, table
from .case import COMPILED, COPY, NUMBA, PLAIN, TORCH, TRITON, TUNED
from .record import Record

RIVALS = {"cuda": (TRITON, COMPILED), "cpu": (TORCH, COMPILED, NUMBA)}
"""Those whose best ours are compared with."""
STEMS = {"cuda": "corpus", "cpu": "corpus_cpu"}
"""The names of the files of results, without what they end with."""
GOALS = {
    "cuda": {"mean, plain": 1.05, "mean, tuned": 1.10, "least, plain": 0.92, "least, tuned": 0.97},
    "cpu": {"mean, plain": 1.3, "least, plain": 0.8},
}
OF_COPY = 0.9
CLOSE = 1.02
"""So much slower than the better of the others is a loss."""

OURS = """\
Kernels of ours are written plainly, from the documentation alone, without hints: `plain` is the
best of at most three tile shapes, `tuned` what the tuner's race found among all combinations."""
HOW = {
    "cuda": f"""\
{OURS} Kernels in Triton have four or five settings, of which the best counts. Contestants take
turns, each time with a cold cache; times are medians. A ratio is the time of the better of Triton
and torch.compile over ours, rounded down: above 1 ours is faster. `of copy` is the speed in parts
of a copy of as many bytes, `model` what the compiler's model of resources and instructions allows.
""",
    "cpu": f"""\
{OURS} Loops of numba are parallel, with `fastmath`. Contestants take turns on all cores; times are
medians. A ratio is the time of the best of torch, torch.compile and numba over ours, rounded down:
above 1 ours is faster. The C library keeps freed memory, so that a fresh result of torch costs no
page faults.
""",
}
SAME = """\
Every result was compared with torch's. Held-out rows were set aside by a hash of their names before
anything was measured; no decision of the compiler may be made for them.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    machine: dict[str, str]
    device: str
    records: list[Record]


def to_json(report: Report) -> str:
    """A report as JSON: seconds, settings, errors and reasons."""
    return json.dumps(asdict(report), indent=1) + "\n"


def from_json(text: str) -> Report:
    """A report as it comes out of JSON."""
    data = json.loads(text)
    return Report(data["machine"], data["device"], [_record(each) for each in data["records"]])


def _record(data: dict[str, Any]) -> Record:
    figures = {name: Figures(**each) for name, each in data["figures"].items()}
    fields: dict[str, Any] = {**data, "figures": figures, "shape": tuple(data["shape"])}
    return Record(**fields)


def seconds(record: Record, name: str) -> float | None:
    """The median of a contestant."""
    found = record.figures.get(name)
    return None if found is None else found.median


def best_rival(record: Record, device: str) -> tuple[str, float] | None:
    """The fastest of those we are compared with, and its time."""
    times = {n: t for n in RIVALS[device] if (t := seconds(record, n)) is not None}
    if not times:
        times = {n: t for n in (TORCH,) if (t := seconds(record, n)) is not None}
    return min(times.items(), key=lambda each: each[1]) if times else None


def ratio(record: Record, device: str, mine: str = PLAIN) -> float | None:
    """How much faster ours is than the better of the others."""
    own, rival = seconds(record, mine), best_rival(record, device)
    return None if own is None or rival is None else rival[1] / own


def of_copy(record: Record, mine: str = PLAIN) -> float | None:
    """The speed in parts of a copy, where memory is what limits."""
    own, copy = seconds(record, mine), seconds(record, COPY)
    return None if own is None or copy is None or record.flops else copy / own


def title(record: Record) -> str:
    """A row in one shape and type."""
    shape = "x".join(map(str, record.shape))
    return f"{record.name} {shape} {record.dtype}{' (held out)' if record.held_out else ''}"


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product."""
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else math.nan


def markdown(report: Report) -> str:
    """The whole page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from ("# The corpus" + " on a CPU" * (report.device == "cpu"), "")
    yield from table(("machine", ""), list(report.machine.items()))
    yield from ("", HOW[report.device] + SAME, "## Means", "")
    yield from table(
        ("rows", "form", "measured", "geometric mean", "least", "at 1 or above", "losses"),
        list(summary(report)),
    )
    yield from ("", "## Losses", "")
    losses = sorted(_losses(report), key=lambda each: each[0])
    yield from [f"- {name}: {down(found)} of {rival}" for found, name, rival in losses] or ["none"]
    yield from ("", "## Not measured, or wrong", "")
    yield from list(_absent(report)) or ["nothing"]
    for held_out, heading in ((False, "Open rows"), (True, "Held-out rows")):
        yield from ("", f"## {heading}", "")
        yield from _table(report, held_out)


def summary(report: Report) -> Iterator[list[str]]:
    """Means of the open and the held-out rows apart, and of all."""
    groups = {"open": (False,), "held out": (True,), "all": (False, True)}
    for group, kinds in groups.items():
        for mine in (PLAIN, TUNED):
            found = [
                value
                for record in report.records
                if record.held_out in kinds
                and (value := ratio(record, report.device, mine)) is not None
            ]
            if found:
                lost = sum(value * CLOSE < 1 for value in found)
                ahead = sum(value >= 1 for value in found)
                mean = down(geometric_mean(found))
                yield [
                    group, mine, str(len(found)), mean, down(min(found)), str(ahead), str(lost)
                ]  # fmt: skip


def _losses(report: Report) -> Iterator[tuple[float, str, str]]:
    for record in report.records:
        found, rival = ratio(record, report.device), best_rival(record, report.device)
        if found is not None and rival is not None and found * CLOSE < 1:
            yield found, title(record), rival[0]


def _absent(report: Report) -> Iterator[str]:
    for record in report.records:
        for name, why in record.absent.items():
            yield f"- {title(record)}: {name}: {why}"


def _table(report: Report, held_out: bool) -> Iterator[str]:
    names = (PLAIN, TUNED, TRITON, COMPILED, TORCH, NUMBA)
    measured = {name for record in report.records for name in record.figures}
    columns = [name for name in names if name in measured]
    models = any(record.predicted for record in report.records)
    heads = ("row", "shape", "dtype", *columns, "ratio", "of copy", *MODEL[:models], "tile")
    rows = [
        _row(record, report.device, columns, models)
        for record in report.records
        if record.held_out == held_out
    ]
    yield from table(heads, rows)


MODEL = ("model",)
"""The column of what the compiler's model predicts, where it does."""


def _row(record: Record, device: str, columns: Sequence[str], models: bool) -> list[str]:
    times = [seconds(record, name) for name in columns]
    found, copy = ratio(record, device), of_copy(record)
    shown = "" if found is None else down(found) if found * CLOSE >= 1 else f"**{down(found)}**"
    predicted = down(record.predicted[PLAIN]) if PLAIN in record.predicted else ""
    return [
        record.name, "x".join(map(str, record.shape)), record.dtype,
        *("" if t is None else duration(t) for t in times),
        shown, "" if copy is None else down(copy), *(predicted,)[:models],
        record.settings.get(PLAIN, ""),
    ]  # fmt: skip
