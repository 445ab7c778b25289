"""Reports: tables and plots of what was tried."""

from __future__ import annotations

import importlib.util

import pytest

from tilewright.tune import Report
from tilewright.tune.records import Record, Tried
from tilewright.tune.report import first_line, note, watching

TRIED = (
    Tried("BK=2", 1.25e-4, 16),
    Tried("BK=1", 1.5e-3, 1, "slower by 12.00 x"),
    Tried("BK=4", None, 0, "CompileError: no"),
)
REPORT = Report("matmul", [], "a GPU", "BK=2", TRIED, 1.5)


def test_table(golden):
    golden(str(REPORT))


def test_the_report_of_a_record():
    facts = {"kernel": "matmul", "key": [1], "device": {"model": "a GPU"}}
    report = Report.of(Record(facts, "BK=2", TRIED))
    assert report.best == 1.25e-4
    assert "from a record" in str(report)


def test_who_watches_is_told():
    seen = []
    with watching(seen.append):
        note(REPORT)
    note(REPORT)
    assert seen == [REPORT]


def test_reasons_have_one_line():
    assert first_line(ValueError("one\ntwo")) == "ValueError: one"
    assert first_line(ValueError()) == "ValueError"


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="no matplotlib")
def test_plot(tmp_path):
    REPORT.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is not None, reason="matplotlib")
def test_no_plot_without_matplotlib():
    with pytest.raises(ImportError, match="pip install matplotlib"):
        REPORT.plot()
