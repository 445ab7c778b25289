"""Blocks about GPUs, from `gpu.json` and the other files that are measured on one, by medians."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..gpu.case import COPY, CUTILE, OURS, TORCH, TRITON
from ..gpu.contest import Record
from ..gpu.report import UNITS, Report, forms, from_json, ratio
from ..table import table
from .host import median, read, tables
from .reading import Block, judged, origin, spread, wrapped

PEERS = (TORCH, TRITON, CUTILE)
NOTICEABLE = 0.98
"""A row below this part of a contestant is listed by itself."""


def _report(results: Path, name: str) -> Report:
    return from_json((results / f"{name}.json").read_text(encoding="utf-8"))


def _from(machine: Mapping[str, str]) -> str:
    peers = ", ".join(f"{name} {machine[name]}" for name in ("torch", "triton", "cuda-tile"))
    return f"Measured at {origin(machine)}; {peers}. Later commits have not been measured so."


def families(results: Path) -> Iterator[str]:
    """Every family and form of kernel: the least, the median and the greatest ratio of its rows."""
    report = _report(results, "gpu")
    yield from wrapped(_from(report.machine))
    yield ""
    head = ("kernels", "form", "rows", "speed", *(f"of {p}" for p in PEERS), f"of a {COPY}")
    yield from table(head, [*_families(report.records)])


def _families(records: Sequence[Record]) -> Iterator[list[str]]:
    for family in dict.fromkeys(r.family for r in records):
        rows = [r for r in records if r.family == family]
        for form in dict.fromkeys(form for r in rows for form in forms(r)):
            own = [r for r in rows if form in r.rates]
            rates = sorted(r.rates[form] for r in own)
            speed = f"{rates[0]:.3g} to {rates[-1]:.3g} {UNITS[own[0].unit]}"
            ratios = [[x for r in own if (x := ratio(r, p, form))] for p in (*PEERS, COPY)]
            yield [family, _named(form), str(len(own)), speed, *map(spread, ratios)]


def _named(form: str) -> str:
    return form.removeprefix(f"{OURS}, ") if form != OURS else "plain"


def losses(results: Path) -> Iterator[str]:
    """Every row in which a form is noticeably slower than a contestant."""
    report = _report(results, "gpu")
    rows = [(r, form) for r in report.records for form in forms(r) if _is_slower(r, form)]
    every = sum(len(forms(r)) for r in report.records)
    yield from wrapped(
        f"In {len(rows)} of {every} rows and forms Tilewright has less than {NOTICEABLE} of the "
        "speed of torch, Triton or cuTile Python:"
    )
    yield ""
    head = ("row", "form", "speed", *(f"of {peer}" for peer in PEERS))
    yield from table(head, [_loss(record, form) for record, form in rows])


def _is_slower(record: Record, form: str) -> bool:
    found = (ratio(record, peer, form) for peer in PEERS)
    return any(r is not None and r < NOTICEABLE for r in found)


def _loss(record: Record, form: str) -> list[str]:
    speed = f"{record.rates[form]:.3g} {UNITS[record.unit]}"
    ratios = (judged(ratio(record, peer, form)) for peer in PEERS)
    return [record.name, _named(form), speed, *ratios]


def rows_of(results: Path) -> Iterator[str]:
    """The rows that were measured at a later commit than those of `gpu.json`."""
    report = _report(results, "gpu_causal")
    yield from wrapped(_from(report.machine))
    yield ""
    head = ("row", "form", "speed", *(f"of {peer}" for peer in PEERS))
    yield from table(head, [_loss(r, form) for r in report.records for form in forms(r)])


def launch(results: Path) -> Iterator[str]:
    """What a launch on a GPU costs the host."""
    report = read(results, "launch")
    found = tables(report)
    start, wait, many = (found[f"launch_{name}"] for name in ("start", "wait", "many"))

    def by(way: str) -> str:
        return f"{median(start, '1', way)} and {median(start, '16', way)}"

    yield from wrapped(
        f"To enqueue a launch of 1 and of 16 tensors takes the host {by(OURS)}, cuTile Python "
        f"{by(CUTILE)}, Triton {by(TRITON)}, the driver's call alone {by('cuLaunchKernel')}. To "
        f"launch and wait takes {median(wait, '1', OURS)} with 1 tensor, cuTile Python "
        f"{median(wait, '1', CUTILE)}, the driver {median(wait, '1', 'cuLaunchKernel')}. A graph "
        f"of 1000 kernels takes {median(many, '1000', f'{OURS}, graph')}, a torch graph "
        f"{median(many, '1000', 'torch, graph')}, a torch graph of cuTile Python kernels "
        f"{median(many, '1000', 'cuTile Python in torch' + chr(39) + 's graph')}. Medians of "
        f"{origin(report.machine)}; later commits have not been measured so "
        f"([all tables](benchmarks/results/launch.md))."
    )


def threads(results: Path) -> Iterator[str]:
    """SIMT kernels against the same kernels in CUDA C++ and numba-cuda."""
    data: dict[str, Any] = json.loads((results / "simt.json").read_text(encoding="utf-8"))
    yield from wrapped(
        f"Measured at {origin(data['machine'])}; later commits have not been measured so:"
    )
    yield ""
    peers = ("CUDA C++", "numba-cuda")
    rows = [
        [
            r["name"],
            f"{r['rates'][OURS]:.3g} {UNITS[r['unit']]}",
            *(judged(r["rates"][OURS] / r["rates"][peer]) for peer in peers),
        ]
        for r in data["records"]
    ]
    yield from table(("work", "ours", *(f"of {peer}" for peer in peers)), rows)


BLOCKS: dict[str, Block] = {
    "gpu": families,
    "gpu-losses": losses,
    "gpu-causal": rows_of,
    "gpu-launch": launch,
    "simt-gpu": threads,
}
