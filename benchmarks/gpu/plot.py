"""Draws the GPU benchmark: how fast ours is in parts of each contestant, one row per problem."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from .case import COPY, CUTILE, TORCH, TRITON
from .report import Report, ratio

MARKERS = {
    COPY: ("D", "#999999"),
    TORCH: ("s", "#d55e00"),
    TRITON: ("^", "#cc79a7"),
    CUTILE: ("o", "#009e73"),
}


def draw(report: Report, path: Path) -> None:
    """Write the picture; matplotlib is needed here only."""
    figure_module: Any = importlib.import_module("matplotlib.figure")
    records = [r for r in report.records if r.rates]
    figure = figure_module.Figure(figsize=(9, 1.5 + 0.26 * len(records)), layout="constrained")
    axes = figure.add_subplot(1, 1, 1)
    for peer, (shape, colour) in MARKERS.items():
        points = [(ratio(r, peer), row) for row, r in enumerate(records) if ratio(r, peer)]
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, marker=shape, color=colour, s=26, zorder=3, label=peer)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(records)), [r.name for r in records], fontsize=7)
    axes.invert_yaxis()
    axes.grid(axis="both", which="major", color="#dddddd", linewidth=0.6)
    axes.xaxis.set_major_formatter("{x:g}x")
    axes.set_xlabel("speed of the plain kernel in parts of the contestant's", fontsize=8)
    axes.legend(fontsize=8)
    figure.suptitle(
        f"{report.machine.get('gpu', '')}   {report.machine.get('date', '')}", fontsize=9
    )
    figure.savefig(path, dpi=120)
