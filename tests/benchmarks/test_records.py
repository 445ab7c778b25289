"""Samples summed up, ratios, and the way to JSON and back."""

from __future__ import annotations

import json

import pytest

from benchmarks.case import OURS
from benchmarks.records import (
    Figures,
    Record,
    Report,
    figures,
    record_from,
    report_from,
    to_json,
    write_json,
)


def record(**times: float) -> Record:
    return Record(
        "work", "some work", "all", {n: Figures(t, 2 * t, 3 * t, 4) for n, t in times.items()}
    )


def test_figures_of_samples():
    assert figures([3.0, 1.0, 2.0, 10.0], 1.23456) == Figures(1.0, 2.5, 10.0, 4, 1.235)


def test_no_samples_are_refused():
    with pytest.raises(ValueError, match="empty"):
        figures([])


def test_ratio_is_above_one_where_ours_is_faster():
    found = record(tilewright=1.0, slow=4.0, fast=0.5)
    assert found.ratio("slow") == 4.0
    assert found.ratio("fast") == 0.5
    assert found.best_peer == "fast"
    assert found.peers == ["slow", "fast"]


def test_ratio_of_medians_is_not_that_of_minima():
    found = Record("w", "", "all", {OURS: Figures(1, 2, 3, 1), "peer": Figures(1, 6, 9, 1)})
    assert (found.ratio("peer"), found.ratio("peer", "median")) == (1, 3)


def test_no_ratio_without_both():
    assert record(tilewright=1.0).ratio("torch") is None
    assert record(torch=1.0).ratio("torch") is None
    assert record(tilewright=1.0).best_peer is None


def test_json_and_back(tmp_path):
    first = Record(
        "a", "about a", "all",
        {OURS: Figures(1.0, 2.0, 3.0, 4, 1.9), "numpy": Figures(2.0, 3.0, 4.0, 5)},
        "3 GB/s", {"numpy": 1.5}, {"torch": "not here"}, "", {"first": 0.5, "plan": 0.1}, 0.25,
    )  # fmt: skip
    second = Record("b", "about b", "one", problem="it crashed")
    report = Report({"cpu": "a name"}, [first, second])
    assert report_from(to_json(report)) == report
    write_json(report, tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["records"][0]["ratios"] == {"numpy": 2.0}
    assert data["records"][1]["ratios"] == {}
    assert record_from(data["records"][1]) == second
