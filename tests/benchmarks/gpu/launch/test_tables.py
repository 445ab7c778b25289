"""The tables of launches: ours take part on any device, others are named where they cannot."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from benchmarks.case import NotAvailable
from benchmarks.gpu.case import CUTILE, OURS
from benchmarks.gpu.launch import tables
from benchmarks.gpu.launch.contestants import CHAINED, PREPARED, Launcher, chained, ours, prepared
from benchmarks.gpu.launch.contestants import qualified as qualify
from benchmarks.host.report import Report, from_json, markdown, to_json
from benchmarks.host.work import SMALL, inputs
from benchmarks.records import figures
from benchmarks.timing import Effort

ONCE = Effort(seconds=0.0, rounds=1)
FORMS = {OURS: ours, CHAINED: chained, PREPARED: prepared}


def missing(given, length):
    raise NotAvailable("it is not installed")


def wrong(given, length):
    return Launcher(lambda: None, lambda: None, lambda: np.full(SMALL, np.nan, np.float32))


def broken(given, length):
    raise RuntimeError("no device\nand more")


@pytest.mark.parametrize("make", FORMS.values(), ids=[*FORMS])
@pytest.mark.parametrize(("tensors", "length"), [(1, 1), (2, 3), (16, 1)])
def test_each_form_of_ours_is_right(make, tensors, length):
    launcher = qualify(make, inputs(tensors), length)
    launcher.launch()
    launcher.wait()
    launcher.run()
    tw.synchronize()


def test_who_cannot_take_part_is_named():
    makers = {OURS: ours, "missing": missing, "wrong": wrong, "broken": broken}
    able, absent = tables.gathered(makers, 2, 1)
    assert [*able] == [OURS]
    assert absent == {
        "missing": "it is not installed",
        "wrong": "ValueError: its error is nan",
        "broken": "RuntimeError: no device",
    }


@pytest.mark.thinned(1)
@pytest.mark.parametrize("name", tables.EXPERIMENTS)
def test_an_experiment_gives_its_table(name, monkeypatch):
    monkeypatch.setattr(tables, "BY_TENSORS", {"1": (1, 1), "16": (16, 1)})
    monkeypatch.setattr(tables, "BY_LENGTH", {"1": (3, 1), "3": (3, 3)})
    monkeypatch.setattr(tables, "OF_ONE", {OURS: ours, PREPARED: prepared, CUTILE: missing})
    monkeypatch.setattr(tables, "OF_MANY", {**FORMS, CUTILE: missing})
    monkeypatch.setattr("benchmarks.host.probes.TURN", 0.0)
    table = tables.EXPERIMENTS[name](ONCE)
    tw.synchronize()
    assert table.name == name
    assert OURS in table.columns and PREPARED in table.columns
    assert f"- {CUTILE}, 1: it is not installed" in markdown(Report({}, [table]))


def test_a_row_without_anyone_is_empty():
    rows, absent = tables.contests({"missing": missing}, {"1": (1, 1)}, tables.waited, ONCE)
    assert rows == {"1": {}} and absent == {"missing, 1": "it is not installed"}


def test_goals_compare_with_the_other_language(monkeypatch):
    cells = {OURS: figures([4e-6]), PREPARED: figures([2e-6]), CUTILE: figures([5e-6])}
    fixed = ({str(count): cells for count in tables.TENSORS}, {})
    monkeypatch.setattr(tables, "contests", lambda *_: fixed)
    table = tables.starting(ONCE)
    assert [round(goal.value, 2) for goal in table.goals] == [0.8, 0.4] * 3
    assert [goal.is_reached for goal in table.goals] == [True, True, True, True, False, True]
    report = Report({"gpu": "a GPU"}, [table], title="Launches", stem="launch")
    again = from_json(to_json(report))
    assert markdown(again) == markdown(report)
    assert "(launch.png)" in markdown(again)
