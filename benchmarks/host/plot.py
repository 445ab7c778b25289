"""Draws the tables whose rows are numbers: one panel each."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from .report import Report, Table

STYLES = (
    ("o", "#0072b2"), ("s", "#d55e00"), ("^", "#009e73"), ("D", "#cc79a7"), ("v", "#56b4e9"),
    ("P", "#e69f00"), ("X", "#000000"), ("<", "#f0e442"), (">", "#999999"), ("*", "#882255"),
)  # fmt: skip
"""Shape and colour of each column; told apart without colours, too."""


def draw(report: Report, path: Path) -> None:
    """Write the picture; matplotlib is needed here only."""
    figure_module: Any = importlib.import_module("matplotlib.figure")
    shown = [table for table in report.tables if all(row.isdigit() for row in table.rows)]
    size = (5.0 * max(1, len(shown)), 4.2)
    figure = figure_module.Figure(figsize=size, layout="constrained")
    for number, table in enumerate(shown, 1):
        _panel(figure.add_subplot(1, len(shown), number), table)
    machine = report.machine
    figure.suptitle(f"{machine.get('cpu', '')}   {machine.get('date', '')}", fontsize=9)
    figure.savefig(path, dpi=120)


def _points(table: Table, column: str) -> tuple[list[int], list[float]]:
    """The rows that have this column, and its seconds there."""
    there = {int(row): cells[column] for row, cells in table.rows.items() if column in cells}
    return list(there), [figure.minimum for figure in there.values()]


def _panel(axes: Any, table: Table) -> None:
    for column, (shape, colour) in zip(table.columns, cycle(STYLES), strict=False):
        x, seconds = _points(table, column)
        y = [1 / s if table.per_second else s * 1e6 for s in seconds]
        axes.plot(x, y, marker=shape, color=colour, label=column, markersize=4, linewidth=1.2)
    _scale(axes, [int(row) for row in table.rows])
    axes.set_xlabel(table.label, fontsize=8)
    axes.set_ylabel("a second" if table.per_second else "us", fontsize=8)
    axes.set_title(table.title, fontsize=10)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=8)


def _scale(axes: Any, x: Sequence[int]) -> None:
    """Numbers that differ by powers are shown by their powers; 0 has its place, too."""
    if max(x) >= 100:
        axes.set_xscale("symlog" if 0 in x else "log", **({"linthresh": 1} if 0 in x else {}))
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
