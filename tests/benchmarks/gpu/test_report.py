"""The report of the GPU benchmark: ratios, goals, and JSON there and back. No GPU is needed."""

from __future__ import annotations

import pytest

from benchmarks.gpu.__main__ import chosen, parse
from benchmarks.gpu.case import OURS, TORCH, TRITON
from benchmarks.gpu.contest import Record
from benchmarks.gpu.report import Report, forms, from_json, markdown, ratio, reached, to_json
from benchmarks.gpu.rows import ROWS
from benchmarks.records import figures


def record(**rates):
    named = {"ours": OURS, "persistent": f"{OURS}, persistent", "torch": TORCH, "triton": TRITON}
    found = {named.get(name, name): rate for name, rate in rates.items()}
    times = {name: figures([1 / rate] * 3) for name, rate in found.items()}
    return Record("gemm", "GEMM bf16, 4096", "FLOP", times, found, goals={TORCH: 1.05})


def test_ratios_are_of_speeds():
    assert ratio(record(ours=750.0, torch=500.0), TORCH) == pytest.approx(1.5)
    assert ratio(record(ours=750.0), TORCH) is None


def test_forms_are_judged_apart():
    found = record(ours=600.0, persistent=700.0, triton=700.0)
    assert forms(found) == [OURS, f"{OURS}, persistent"]
    assert reached(found) == pytest.approx(6 / 7)
    assert reached(found, f"{OURS}, persistent") == pytest.approx(1.0)
    assert reached(record(ours=600.0)) is None
    page = markdown(Report({}, [found]))
    assert "plain: languages 0.98 not reached (0.85); persistent: languages 0.98 reached" in page


def test_goals_are_said_to_be_reached_or_not():
    page = markdown(Report({"gpu": "a GPU"}, [record(ours=600.0, torch=600.0, triton=500.0)]))
    assert "languages 0.98 reached" in page and "torch 1.05 not reached (1.00)" in page
    assert "torch 1.05 reached" in markdown(Report({}, [record(ours=640.0, torch=600.0)]))


def test_verdicts_do_not_round_up():
    page = markdown(Report({}, [record(ours=975.0, triton=1000.0)]))
    assert "languages 0.98 not reached (0.97)" in page


def test_hints_do_not_help_the_plain_form():
    rates = {OURS: 3.0, f"{OURS}, hinted": 4.0, "copy": 4.0}
    times = {name: figures([1 / rate] * 3) for name, rate in rates.items()}
    softmax = Record("softmax", "softmax f16", "B", times, rates, goals={"copy": 0.95})
    page = markdown(Report({}, [softmax]))
    assert "plain: copy 0.95 not reached (0.75); hinted: copy 0.95 reached" in page


def test_json_there_and_back():
    report = Report({"gpu": "a GPU"}, [record(ours=1.0, torch=2.0)])
    assert from_json(to_json(report)) == report


def test_the_usual_rows_are_some_of_all():
    usual, everything = chosen(parse([])), chosen(parse(["--all"]))
    assert set(usual) < set(everything) == set(ROWS)
    assert chosen(parse(["--only", "softmax"])) == [n for n in ROWS if "softmax" in n]
