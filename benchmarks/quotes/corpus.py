"""Blocks about the corpus of untuned kernels, by medians: `corpus.json` and `corpus_cpu.json`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..corpus.report import CLOSE, STEMS, Report, best_rival, from_json, ratio, summary
from ..table import table
from .reading import Block, judged, origin, wrapped


def _report(results: Path, device: str) -> Report:
    return from_json((results / f"{STEMS[device]}.json").read_text(encoding="utf-8"))


def means_on_cpu(results: Path) -> Iterator[str]:
    """The same of a CPU, with the losses, where it was measured."""
    name = f"{STEMS['cpu']}.md"
    if not (results / name).exists():
        yield "Not measured yet: `make figures` does."
        return
    yield from means(results, "cpu")
    yield ""
    yield from losses(results, "cpu")
    yield ""
    yield f"[All rows](benchmarks/results/{name})."


def means(results: Path, device: str = "cuda") -> Iterator[str]:
    """The means of open and held-out rows."""
    report = _report(results, device)
    peers = (name for name in ("torch", "triton", "numba") if name in report.machine)
    versions = ", ".join(f"{name} {report.machine[name]}" for name in peers)
    yield from wrapped(f"Measured at {origin(report.machine)}; {versions}.")
    yield ""
    head = ("rows", "form", "measured", "geometric mean", "least", "at 1 or above", "losses")
    yield from table(head, [_row(row) for row in summary(report)])


def _row(row: list[str]) -> list[str]:
    group, form, measured, mean, least, ahead, lost = row
    return [group, form, measured, judged(float(mean)), judged(float(least)), ahead, lost]


def losses(results: Path, device: str = "cuda") -> Iterator[str]:
    """Every row in which the better of the others is noticeably faster, the slowest first."""
    report = _report(results, device)
    found = sorted(
        (value, record.name, rival[0])
        for record in report.records
        if (value := ratio(record, report.device)) is not None and value * CLOSE < 1
        if (rival := best_rival(record, report.device)) is not None
    )
    if not found:
        yield "No row is a loss."
        return
    told = ", ".join(f"{name} {judged(value)}" for value, name, _ in found)
    rivals = " or ".join(sorted({rival for _, _, rival in found}))
    yield from wrapped(f"The {len(found)} losses, as parts of the speed of {rivals}: {told}.")


BLOCKS: dict[str, Block] = {
    "corpus": means,
    "corpus-losses": losses,
    "corpus-cpu": means_on_cpu,
}
