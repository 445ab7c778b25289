"""The GPU benchmark as JSON and as Markdown, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..records import Figures
from ..table import down, table, verdict
from .case import COPY, CUTILE, OURS, TORCH, TRITON
from .contest import Record

UNITS = {"B": "TB/s", "FLOP": "TFLOP/s"}
COLUMNS = (COPY, TORCH, TRITON, CUTILE)
RIVALS = (TRITON, CUTILE)
WANTED = 0.98
"""Of the better of the other kernel languages."""

HOW = """\
Each row is one run: contestants take turns, five rounds or more, each in another order; speeds
are those of the median round, by the GPU's own clock. Where the data would fit in the cache, it is
flushed before each call. Ours are plain kernels without hints, with the best of a few tile shapes;
the others have the best of a few settings each. Columns of others say how fast the plain form is in
parts of theirs, rounded down: above 1 it is faster. Other forms of ours, with hints or persistent,
are given in parts of the plain one. Each form is judged by itself, without rounding. Ours are
launched as users launch them, `kernel(...).start_on(stream)`, on the stream on which all
contestants run.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    machine: dict[str, str]
    records: list[Record]


def to_json(report: Report) -> str:
    """Everything, in seconds."""
    return json.dumps(asdict(report), indent=1) + "\n"


def from_json(text: str) -> Report:
    """A report as it comes out of JSON."""
    data = json.loads(text)
    return Report(data["machine"], [_record(r) for r in data["records"]])


def _record(data: Mapping[str, Any]) -> Record:
    times = {name: Figures(**f) for name, f in data["figures"].items()}
    given: dict[str, Any] = {name: value for name, value in data.items() if name != "figures"}
    return Record(figures=times, **given)


def ratio(record: Record, peer: str, ours: str = OURS) -> float | None:
    """Our speed in parts of another's."""
    mine, theirs = record.rates.get(ours), record.rates.get(peer)
    return mine / theirs if mine and theirs else None


def forms(record: Record) -> list[str]:
    """Return the forms of ours that took part, the plain one first."""
    return sorted(name for name in record.rates if name.startswith(OURS))


def reached(record: Record, form: str = OURS) -> float | None:
    """Return the speed of a form of ours in parts of the better of the other kernel languages."""
    rivals = [record.rates[name] for name in RIVALS if name in record.rates]
    mine = record.rates.get(form)
    return mine / max(rivals) if rivals and mine else None


def markdown(report: Report) -> str:
    """The whole page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from ("# On a GPU", "")
    yield from table(("machine", ""), list(report.machine.items()))
    yield from ("", HOW, "![the rows drawn](gpu.png)", "")
    for family in dict.fromkeys(r.family for r in report.records):
        records = [r for r in report.records if r.family == family]
        yield from (f"## {family}", "")
        yield from _family(records)
        yield ""
    yield from _remarks(report.records)


def _family(records: Sequence[Record]) -> Iterator[str]:
    more = list(dict.fromkeys(n for r in records for n in r.rates if n.startswith(f"{OURS},")))
    peers = [name for name in COLUMNS if any(name in r.rates for r in records)]
    head = ["", OURS, *(name.removeprefix(f"{OURS}, ") for name in more), *peers, "wanted"]
    yield from table(head, [_row(record, more, peers) for record in records])


def _row(record: Record, more: Sequence[str], peers: Sequence[str]) -> list[str]:
    unit = UNITS[record.unit]
    mine = record.rates.get(OURS)
    first = f"{mine:.3g} {unit}" if mine else f"**{record.absent.get(OURS, 'not measured')}**"
    forms_ = [f"{r:.3f}" if (r := ratio(record, OURS, name)) else "" for name in more]
    others = [down(r) if (r := ratio(record, name)) else "" for name in peers]
    return [record.name, first, *forms_, *others, "; ".join(_goals(record))]


def _goals(record: Record) -> Iterator[str]:
    """Judge each form of ours by itself."""
    for form in forms(record):
        name = form.removeprefix(f"{OURS}, ") if form != OURS else "plain"
        verdicts = [*_verdicts(record, form)]
        if verdicts:
            yield f"{name}: {', '.join(verdicts)}"


def _verdicts(record: Record, form: str) -> Iterator[str]:
    best = reached(record, form)
    if best is not None:
        yield f"languages {WANTED:g} {verdict(best, WANTED)}"
    for peer, wanted in record.goals.items():
        found = ratio(record, peer, form)
        if found is not None:
            yield f"{peer} {wanted:g} {verdict(found, wanted)}"


def _remarks(records: Sequence[Record]) -> Iterator[str]:
    absent = {f"{name}, {r.name}: {why}" for r in records for name, why in r.absent.items()}
    if absent:
        yield from ("## Remarks", "", *(f"- {text}" for text in sorted(absent)), "")
