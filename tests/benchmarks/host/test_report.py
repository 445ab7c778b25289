"""The forms of a report."""

from __future__ import annotations

import json

import pytest

from benchmarks.host.files import read, write
from benchmarks.host.plot import draw
from benchmarks.host.report import Goal, Report, Table, markdown, to_json
from benchmarks.records import Figures

CELLS = {"sync": Figures(2e-6, 3e-6, 4e-6, 5), "start": Figures(1e-3, 2e-3, 3e-3, 5)}
TIMES = Table("host_t", "A title", "About it.", "N", {"1": CELLS, "10": CELLS})
RATES = Table("host_r", "Rates", "About it.", "W", {"0": CELLS, "300": CELLS}, per_second=True)


def test_a_page_has_times_and_rates():
    page = markdown(Report({"cpu": "a"}, [TIMES, RATES], ["line of a profile"]))
    assert "| 10 | 2 us (3 us) | 1 ms (2 ms) |" in page
    assert "| 300 | 500000 (333333) | 1000 (500) |" in page
    assert "line of a profile" in page


@pytest.mark.parametrize(("value", "word"), [(0.2, "reached"), (0.3, "")])
def test_a_goal_says_whether_it_is_reached(value, word):
    table = Table("t", "T", "", "N", {"1": CELLS}, goals=(Goal("a node", value, 0.25),))
    assert f"| a node | 0.25 | {value} | {word} |" in markdown(Report({}, [table]))


def test_json_keeps_seconds():
    data = json.loads(to_json(Report({"cpu": "a"}, [TIMES])))
    assert data["tables"][0]["rows"]["10"]["sync"]["minimum"] == 2e-6


@pytest.mark.parametrize("tables", [[], [TIMES], [TIMES, RATES]])
def test_a_picture_is_written(tmp_path, tables):
    pytest.importorskip("matplotlib")
    words = Table("t", "T", "", "", {"a launch": CELLS})
    draw(Report({"cpu": "a"}, [*tables, words]), tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_way_may_lack_in_some_rows(tmp_path):
    rows = {"1": {"sync": CELLS["sync"]}, "10": CELLS}
    table = Table("t", "T", "", "N", rows, absent={"start, 1": "too short"})
    page = markdown(Report({}, [table]))
    assert "| 1 | 2 us (3 us) |  |" in page and "- start, 1: too short" in page
    pytest.importorskip("matplotlib")
    draw(Report({}, [table]), tmp_path / "p.png")


def test_a_report_is_read_as_it_was_written(tmp_path):
    goals = [Goal("a node", 0.2, 0.25)]
    table = Table("t", "T", "About.", "N", {"1": CELLS}, goals=goals, absent={"a": "b"})
    report = Report({"cpu": "a"}, [table, RATES], ["a line"], stem="host_cuda")
    write(report, tmp_path)
    again = read(tmp_path / "host_cuda.json")
    assert markdown(again) == markdown(report) == (tmp_path / "host_cuda.md").read_text()
    assert "(host_cuda.png)" in markdown(again)
