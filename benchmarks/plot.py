"""Draws a report: how many times faster than each peer, one row per workload."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .records import Record, Report
from .table import TITLES

MARKERS = {
    "numpy": ("o", "#0072b2"),
    "torch": ("s", "#d55e00"),
    "torch by hand": ("D", "#e69f00"),
    "torch.compile": ("^", "#cc79a7"),
    "numba": ("v", "#009e73"),
}
"""Shape and colour of each peer; told apart without colours, too."""


def draw(report: Report, path: Path) -> None:
    """Write the picture; matplotlib is needed here only."""
    figure_module: Any = importlib.import_module("matplotlib.figure")
    panels = {
        title: [r for r in report.records if r.threads == threads and r.figures]
        for threads, title in TITLES.items()
    }
    panels = {title: records for title, records in panels.items() if records}
    rows = max((len(records) for records in panels.values()), default=1)
    figure = figure_module.Figure(
        figsize=(6.5 * max(1, len(panels)), 1.6 + 0.28 * rows), layout="constrained"
    )
    shown: dict[str, Any] = {}
    for number, (title, records) in enumerate(panels.items(), 1):
        shown |= _panel(figure.add_subplot(1, len(panels), number), title, records)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=5, fontsize=8)
    machine = report.machine
    figure.suptitle(f"{machine.get('cpu', '')}   {machine.get('date', '')}", fontsize=9)
    figure.savefig(path, dpi=120)


def _panel(axes: Any, title: str, records: Sequence[Record]) -> dict[str, Any]:
    """Draw one setting of threads; give what stands for each peer."""
    names = [r.workload for r in records]
    shown: dict[str, Any] = {}
    for peer, (shape, colour) in MARKERS.items():
        points = [(r.ratio(peer), row) for row, r in enumerate(records) if r.ratio(peer)]
        if points:
            x, y = zip(*points, strict=True)
            shown[peer] = axes.scatter(x, y, marker=shape, color=colour, s=28, zorder=3)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="both", which="major", color="#dddddd", linewidth=0.6)
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("times faster than the peer (ratio of minima)", fontsize=8)
    return shown
