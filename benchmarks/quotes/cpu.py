"""Blocks about the CPU, from `results.json`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..case import OURS
from ..records import Record, Report, report_from
from ..table import down, duration, table
from .reading import Block, judged, origin, wrapped

COLUMNS = ("torch", "numpy", "numba")


def _report(results: Path) -> Report:
    return report_from((results / "results.json").read_text(encoding="utf-8"))


def _rows(report: Report) -> list[Record]:
    """The rows on all cores that were measured."""
    return [r for r in report.records if r.threads == "all" and OURS in r.figures]


def against(records: Sequence[Record], peer: str) -> str:
    """Return in how many of the rows of a peer ours is faster, by medians."""
    found = [ratio for r in records if (ratio := r.ratio(peer, "median")) is not None]
    return f"{peer} in {sum(ratio > 1 for ratio in found)} of {len(found)}"


def whole(results: Path) -> Iterator[str]:
    """Every row: how many times faster ours is, by medians."""
    report = _report(results)
    rows = _rows(report)
    machine = report.machine
    peers = ", ".join(f"{name} {machine.get(name, '')}" for name in COLUMNS)
    yield from wrapped(
        f"Measured at {origin(machine)}; {peers}. By medians Tilewright is faster than "
        f"{', '.join(against(rows, peer) for peer in COLUMNS)} rows."
    )
    yield ""
    head = ("", "Tilewright", "torch", "NumPy", "numba", "others")
    yield from table(head, [_cells(record) for record in rows])


def _cells(record: Record) -> list[str]:
    others = [
        f"{peer} {judged(record.ratio(peer, 'median'))}"
        for peer in record.peers
        if peer not in COLUMNS
    ]
    mine = duration(record.figures[OURS].median)
    ratios = (judged(record.ratio(peer, "median")) for peer in COLUMNS)
    return [f"`{record.workload}`: {record.about}", mine, *ratios, ", ".join(others)]


def threads(results: Path) -> Iterator[str]:
    """The rows of SIMT kernels, against numba."""
    report = _report(results)
    rows = [record for record in _rows(report) if record.workload.startswith("simt_")]
    if not rows:
        yield from wrapped(
            "The results in this repository have no rows of SIMT kernels on a CPU: `make figures` "
            "measures them."
        )
        return
    yield from wrapped(f"Measured at {origin(report.machine)}, by medians:")
    yield ""
    yield from table(("work", "ours", "of numba"), [_thread_cells(record) for record in rows])


def _thread_cells(record: Record) -> list[str]:
    ratio = record.ratio("numba", "median")
    about = record.about.removeprefix("SIMT: ")
    return [about, duration(record.figures[OURS].median), "" if ratio is None else down(ratio)]


BLOCKS: dict[str, Block] = {"cpu": whole, "simt-cpu": threads}
