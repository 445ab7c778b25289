"""The GPU benchmark as JSON and as Markdown, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..records import Figures
from ..table import table
from .case import COPY, CUTILE, OURS, TORCH, TRITON
from .contest import Record
from .safety import Twins

UNITS = {"B": "TB/s", "FLOP": "TFLOP/s"}
COLUMNS = (COPY, TORCH, TRITON, CUTILE)
RIVALS = (TRITON, CUTILE)
WANTED = 0.98
"""Of the better of the other kernel languages."""

HOW = """\
Each row is one run: contestants take turns, five rounds or more, each in another order; speeds
are those of the median round, by the GPU's own clock. Where the data would fit in the cache, it is
flushed before each call. Ours are plain kernels without hints, with the best of a few tile shapes;
the others have the best of a few settings each. Columns of others say how fast ours is in parts of
theirs: above 1 ours is faster. Other forms of ours, with hints or persistent, are given in parts of
the plain one. Goals against other kernel languages and in TFLOP/s count the fastest of them, those
in TB/s the plain one alone. Ours are launched as users launch them, `kernel(...).start_on(stream)`,
on the stream on which all contestants run.
"""


SAFETY = """\
Each kernel as it is, and the same source under `unsafe=True, unchecked_accesses=True`, compiled for
the same arguments. Where all checks are proved, or made by the host at launch, the machine code is
the same byte for byte, and so is its speed.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run."""

    machine: dict[str, str]
    records: list[Record]
    compile: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Seconds of each stage of a compilation, by kernel."""
    safety: dict[str, Twins] = field(default_factory=dict[str, Twins])
    """What checks cost, by kernel."""


def to_json(report: Report) -> str:
    """Everything, in seconds."""
    return json.dumps(asdict(report), indent=1) + "\n"


def from_json(text: str) -> Report:
    """A report as it comes out of JSON."""
    data = json.loads(text)
    twins = {name: Twins(**given) for name, given in data["safety"].items()}
    return Report(data["machine"], [_record(r) for r in data["records"]], data["compile"], twins)


def _record(data: Mapping[str, Any]) -> Record:
    times = {name: Figures(**f) for name, f in data["figures"].items()}
    given: dict[str, Any] = {name: value for name, value in data.items() if name != "figures"}
    return Record(figures=times, **given)


def ratio(record: Record, peer: str, ours: str = OURS) -> float | None:
    """Our speed in parts of another's."""
    mine, theirs = record.rates.get(ours), record.rates.get(peer)
    return mine / theirs if mine and theirs else None


def reached(record: Record) -> float | None:
    """The fastest form of ours in parts of the better of the other kernel languages."""
    rivals = [record.rates[name] for name in RIVALS if name in record.rates]
    mine = fastest(record)
    return mine / max(rivals) if rivals and mine else None


def fastest(record: Record) -> float:
    """The speed of the fastest form of ours; 0 where there is none."""
    return max((rate for name, rate in record.rates.items() if name.startswith(OURS)), default=0.0)


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
    if report.compile:
        yield from ("## Compiling", "", "Seconds of each stage, the least of three.", "")
        stages = list(dict.fromkeys(s for times in report.compile.values() for s in times))
        rows = [
            [name, *(f"{times.get(stage, 0.0):.3f}" for stage in stages)]
            for name, times in report.compile.items()
        ]
        yield from (*table(["kernel", *stages], rows), "")
    yield from _safety(report.safety)


def _safety(found: Mapping[str, Twins]) -> Iterator[str]:
    if not found:
        return
    yield from ("## Safe against unchecked", "", SAFETY)
    rows = [
        [name, twins.checks, f"{twins.code_bytes}", "the same bytes" if twins.same else "another"]
        for name, twins in found.items()
    ]
    yield from table(["kernel", "its checks", "bytes of code", "code of the unchecked twin"], rows)


def _family(records: Sequence[Record]) -> Iterator[str]:
    more = list(dict.fromkeys(n for r in records for n in r.rates if n.startswith(f"{OURS},")))
    peers = [name for name in COLUMNS if any(name in r.rates for r in records)]
    head = ["", OURS, *(name.removeprefix(f"{OURS}, ") for name in more), *peers, "wanted"]
    yield from table(head, [_row(record, more, peers) for record in records])


def _row(record: Record, more: Sequence[str], peers: Sequence[str]) -> list[str]:
    unit = UNITS[record.unit]
    mine = record.rates.get(OURS)
    first = f"{mine:.3g} {unit}" if mine else f"**{record.absent.get(OURS, 'not measured')}**"
    forms = [f"{r:.3f}" if (r := ratio(record, OURS, name)) else "" for name in more]
    others = [f"{r:.2f}" if (r := ratio(record, name)) else "" for name in peers]
    return [record.name, first, *forms, *others, ", ".join(_goals(record))]


def _goals(record: Record) -> Iterator[str]:
    best = reached(record)
    if best is not None:
        yield f"languages {WANTED:g}: {_verdict(best, WANTED)}"
    mine = record.rates.get(OURS, 0.0) if record.unit == "B" else fastest(record)
    for peer, wanted in record.goals.items():
        if peer in record.rates:
            yield f"{peer} {wanted:g}: {_verdict(mine / record.rates[peer], wanted)}"


def _verdict(found: float, wanted: float) -> str:
    return "reached" if round(found, 2) >= wanted else f"{found:.2f}"


def _remarks(records: Sequence[Record]) -> Iterator[str]:
    absent = {f"{name}, {r.name}: {why}" for r in records for name, why in r.absent.items()}
    if absent:
        yield from ("## Remarks", "", *(f"- {text}" for text in sorted(absent)), "")
