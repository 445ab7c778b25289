"""Where a report goes: its figures, its page and its picture."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .plot import draw
from .report import Report, from_json, markdown, to_json


def write(report: Report, place: Path) -> None:
    """Write the forms of a report; the picture where matplotlib is installed."""
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{report.stem}.json").write_text(to_json(report), encoding="utf-8")
    (place / f"{report.stem}.md").write_text(markdown(report), encoding="utf-8")
    if report.picture and importlib.util.find_spec("matplotlib"):
        draw(report, place / f"{report.stem}.png")


def read(path: Path) -> Report:
    """A report that was measured elsewhere."""
    return from_json(path.read_text(encoding="utf-8"))
