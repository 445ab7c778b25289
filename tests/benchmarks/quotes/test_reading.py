"""Numbers of quotes: ratios are rounded down, losses are marked, medians are of the rows."""

from __future__ import annotations

import pytest

from benchmarks.quotes.reading import WIDTH, judged, origin, spread, wrapped


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.975, "**0.97**"),
        (0.9799, "**0.97**"),
        (0.98, "**0.98**"),
        (0.9999, "**0.99**"),
        (1.0, "1.00"),
        (1.15, "1.15"),
        (1.1599, "1.15"),
        (12.79, "12.7"),
        (None, ""),
    ],
)
def test_a_ratio_never_looks_better(ratio, text):
    assert judged(ratio) == text


def test_of_several_the_least_the_median_and_the_greatest():
    assert spread([1.5, 0.5, 2.5]) == "**0.50** / 1.50 / 2.50"
    assert spread([2.0, 1.0]) == "1.00 / 1.00 / 2.00", "the lower one of two"
    assert spread([]) == ""


def test_where_and_when():
    machine = {"commit": "abc1234", "date": "today", "cpu": "a CPU", "cores": "2"}
    assert origin(machine) == "commit `abc1234`, today, a CPU, 2 cores"
    assert "a CPU, 2 cores, load 1.57 before" in origin({**machine, "load before": "1.57"})
    assert origin({**machine, "gpu": "a GPU"}).endswith("today, a GPU")


def test_lines_are_short():
    lines = wrapped("- " + "word " * 60, indent="  ")
    assert all(len(line) <= WIDTH for line in lines)
    assert " ".join(line.strip() for line in lines).count("word") == 60
    assert lines[0].startswith("- word") and lines[1].startswith("  word")
