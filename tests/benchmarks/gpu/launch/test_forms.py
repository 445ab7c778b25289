"""Launches on a GPU by how they are written: who takes part, and what is wanted of it."""

from __future__ import annotations

import pytest

import tilewright as tw
from benchmarks.case import NotAvailable
from benchmarks.gpu.case import OURS, TRITON
from benchmarks.gpu.launch import forms
from benchmarks.gpu.launch.contestants import DRIVER
from benchmarks.records import Figures
from benchmarks.timing import Effort

OF_TORCH = "a torch tensor"
"""The form that cannot be tried without a GPU."""


def test_all_that_is_wanted_is_measured_and_ours_takes_part():
    rows = {(row, name) for row, name, _ in forms._contests()}
    assert {(row, OURS) for row in [*forms.GOALS, forms.WAITED]} <= rows
    assert {(row, TRITON) for row in forms.GOALS} <= rows
    assert (forms.WAITED, DRIVER) in rows


@pytest.mark.parametrize("row", [row for row in forms._FORMS if row != OF_TORCH])
def test_ours_gives_the_right_answer(row):
    with tw.device("cpu"):
        forms._right(forms._FORMS[row][OURS], row).run()


def test_a_wrong_answer_does_not_take_part():
    with tw.device("cpu"), pytest.raises(ValueError, match="its answer is wrong"):
        forms._right(forms._FORMS["a new partition"][OURS], "a scalar")


def test_who_is_not_there_is_named(monkeypatch):
    def absent(x):
        raise NotAvailable("not installed")

    monkeypatch.setattr(forms, "_FORMS", {"a form": {OURS: absent}})
    monkeypatch.setattr(forms, "OF_ONE", {})
    found = forms.forms(Effort(0.001, 1))
    assert found.rows == {} and found.absent == {f"{OURS}, a form": "not installed"}


def test_goals_are_of_medians():
    def figures(median):
        return Figures(minimum=0.0, median=median, maximum=0.0, samples=1)

    rows = {
        "a scalar": {OURS: figures(5e-6), TRITON: figures(1e-5)},
        forms.WAITED: {OURS: figures(12e-6), DRIVER: figures(8e-6)},
    }
    found = {goal.text: (pytest.approx(goal.value), goal.most) for goal in forms._goals(rows)}
    assert found == {
        "us, a scalar": (5, 6.0),
        f"of {TRITON}'s time, a scalar": (0.5, 1.0),
        "us over the driver's launch and wait": (4, 3.0),
    }
