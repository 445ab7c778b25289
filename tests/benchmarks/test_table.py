"""The Markdown page: units, ratios, goals, remarks, compile times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.case import OURS
from benchmarks.records import Figures, Record, Report
from benchmarks.table import down, duration, goal, markdown, table, verdict

GOOD = Record(
    "gemm_8", "8^3 |f32|", "all",
    {OURS: Figures(2e-3, 3e-3, 5e-3, 9), "numpy": Figures(3e-3, 6e-3, 9e-3, 9),
     "torch.compile": Figures(1e-3, 3e-3, 4e-3, 9)},
    rate="7.5 GFLOP/s", goals={"numpy": 1.5, "torch": 1.3, "torch.compile": 1.0},
    absent={"torch": "torch cannot be imported"},
    compile={"first": 0.2, "hit": 0.006, "disk": 0.001, "frontend": 0.001,
             "cse": 0.002, "dce": 0.003, "plan": 0.004, "llvm": 0.005, "object": 0.1},
    others=0.3,
)  # fmt: skip
FAILED = Record("gemm_9", "9^3 f32", "one", problem="it died")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.5, "2.5 s"),
        (1.0, "1 s"),
        (0.99, "990 ms"),
        (0.0123456, "12.3 ms"),
        (123.4e-6, "123 us"),
        (5e-9, "0.005 us"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_table_has_a_head():
    assert list(table(("a", "b"), [("1", "2")])) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_goals_are_judged_by_medians():
    assert goal(GOOD) == "numpy 1.5 reached, torch 1.3 not measured, torch.compile 1 reached"
    slower = replace(GOOD, goals={"torch.compile": 1.001})
    assert goal(slower) == "torch.compile 1.001 not reached (1.00)"


@pytest.mark.parametrize(
    ("found", "wanted", "text"),
    [
        (0.975, 0.98, "not reached (0.97)"),
        (0.9799, 0.98, "not reached (0.97)"),
        (0.98, 0.98, "reached"),
        (1.15, 1.15, "reached"),
    ],
)
def test_a_verdict_does_not_round_up(found, wanted, text):
    assert verdict(found, wanted) == text


def test_rounding_down():
    assert [down(x) for x in (0.999, 1.15, 2.0, 0.29)] == ["0.99", "1.15", "2.00", "0.29"]


def test_page():
    text = markdown(Report({"cpu": "a name", "cores": "2"}, [GOOD, FAILED]))
    lines = text.splitlines()
    assert "| cpu | a name |" in lines
    row = next(line for line in lines if line.startswith("| gemm_8 | 8^3"))
    assert row == (
        "| gemm_8 | 8^3 \\|f32\\| | 2 ms (3 ms) | 7.5 GFLOP/s | 1.50 (2.00) |  |  "
        "| torch.compile 0.50 (1.00) "
        "| numpy 1.5 reached, torch 1.3 not measured, torch.compile 1 reached |"
    )
    assert "| gemm_9 | 9^3 f32 | **it died** |  |  |  |  |  |" in lines
    assert "- not available: torch: torch cannot be imported" in lines
    assert any("1 of 2 rows" in line and "gemm_8 (all) 30%" in line for line in lines)
    assert "| gemm_8 | 200.0 | 6.0 | 115.0 | 1.0 | 5.0 | 4.0 | 5.0 | 100.0 |" in lines
    assert text.index("## All cores") < text.index("## One core") < text.index("## Compile time")


def test_every_row_has_as_many_cells_as_its_head():
    cells: list[int] = []
    for line in markdown(Report({"cpu": "x"}, [GOOD, FAILED])).splitlines():
        if line.startswith("|"):
            cells.append(line.replace("\\|", "").count("|"))
            assert cells[-1] == cells[0]
        else:
            cells = []


def test_an_empty_report_is_a_page():
    assert "# Benchmarks" in markdown(Report({}, []))
