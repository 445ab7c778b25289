"""The picture, where matplotlib is installed."""

from __future__ import annotations

import pytest

from benchmarks.case import OURS
from benchmarks.plot import draw
from benchmarks.records import Figures, Record, Report


@pytest.mark.parametrize("settings", [(), ("all",), ("all", "one")])
def test_a_picture_is_written(tmp_path, settings):
    pytest.importorskip("matplotlib")
    times = {OURS: Figures(1.0, 1.0, 1.0, 1), "numpy": Figures(2.0, 2.0, 2.0, 1)}
    records = [Record("w", "", threads, times) for threads in settings]
    failed = Record("broken", "", "all", problem="no")
    draw(Report({"cpu": "a"}, [*records, failed]), tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
