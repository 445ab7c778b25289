"""The corpus: kernels are right on the CPU in small shapes, and reports say what was measured."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from benchmarks.case import NotAvailable  # noqa: E402
from benchmarks.corpus import contest, memory, report  # noqa: E402
from benchmarks.corpus.case import COMPILED, COPY, NUMBA, PLAIN, TORCH, TRITON, Row  # noqa: E402
from benchmarks.corpus.rows import FAMILIES, ROWS  # noqa: E402
from benchmarks.quotes import corpus as quotes  # noqa: E402
from benchmarks.records import Figures  # noqa: E402
from tilewright.backend.tileir.resource_model import (  # noqa: E402
    MemoryCode,
    Report,
    Resources,
    estimate,
    processor_of,
)
from tilewright.backend.tileir.target import TileTarget  # noqa: E402

CASES = [(row, dtype) for row in ROWS.values() for dtype in row.dtypes]


@pytest.mark.parametrize(("row", "dtype"), CASES, ids=[f"{r.name}-{d}" for r, d in CASES])
def test_ours_and_torch_are_right(row: Row, dtype: str) -> None:
    torch.manual_seed(7)
    data = row.make(row.small, dtype, "cpu")
    expected = contest.expected_of(row, data)
    runners = contest.ours(row, data, data.ours, "cpu")
    assert 1 <= len(runners) <= 3
    for runner in runners:
        runner.spoil()
        with pytest.raises(AssertionError):  # what was there before is not right
            _check(row, dtype, runner.read(), data, expected)
        runner.run()
        _check(row, dtype, runner.read(), data, expected)
    _check(row, dtype, contest.results(row.eager(*data.inputs)), data, expected)
    memory.forget()


def _check(row: Row, dtype: str, found: object, data: object, expected: object) -> None:
    error = contest.error_of(row, data, found, expected)  # type: ignore[arg-type]
    assert error <= contest.allowed(row, dtype)


@pytest.mark.parametrize("begin", ["resources", "- 8 warps, occupancy 2 (default, chosen)"])
def test_the_model_is_read_from_what_explain_says(begin: str) -> None:
    code = MemoryCode(loaded_ahead=16, copied=0, bulk_copies=0, spills=0, instructions=100)
    judged = Report(Resources(64, 0, 0, 1600, 128), code)
    terms = estimate(judged, processor_of(TileTarget("sm_90")))
    assert 0.1 < terms.speed < 0.9
    lines = ["2 candidates, ranked by", f"- 4 warps: {terms.text(judged)}".replace("16%", "99%")]
    artifact = SimpleNamespace(candidates=(*lines, f"{begin}: {terms.text(judged)}"))
    assert contest.speed(artifact) == pytest.approx(terms.speed, abs=5e-3)
    assert contest.speed(SimpleNamespace(candidates=lines)) is None


def test_the_corpus_is_large_and_a_third_is_set_aside_by_name() -> None:
    assert len(ROWS) >= 45
    assert {row.family for row in ROWS.values()} == set(FAMILIES)
    held_out = [row for row in ROWS.values() if row.held_out]
    assert len(ROWS) / 4 < len(held_out) < len(ROWS) / 2
    assert all(row.held_out == (zlib.crc32(row.name.encode()) % 3 == 0) for row in ROWS.values())


def test_every_row_has_three_shapes_and_one_is_no_power_of_two() -> None:
    for row in ROWS.values():
        assert len(row.shapes) == 3, row.name
        odd = [shape for shape in row.shapes if any(n & (n - 1) for n in shape)]
        assert odd, row.name


def _record(name: str, ours: float, held_out: bool = False, flops: float = 0.0) -> contest.Record:
    times = {PLAIN: ours, TRITON: 2.0, COMPILED: 3.0, TORCH: 1.0, COPY: 0.9}
    figures = {who: Figures(t, t, t, 1) for who, t in times.items()}
    return contest.Record(name, "norms", held_out, (3, 5), "float32", 1.0, flops, figures)


def test_ratios_are_those_to_the_better_of_the_rivals() -> None:
    record = _record("a", 4.0)
    assert report.best_rival(record, "cuda") == (TRITON, 2.0)
    assert report.ratio(record, "cuda") == 0.5
    assert report.of_copy(record) == 0.225
    assert report.of_copy(_record("a", 4.0, flops=1.0)) is None
    assert report.best_rival(record, "cpu") == (TORCH, 1.0)


def test_a_page_has_both_means_and_every_loss() -> None:
    records = [_record("a", 1.0), _record("b", 4.0), _record("c", 8.0, held_out=True)]
    records.append(replace(_record("d", 1.0), figures={}, absent={PLAIN: "does not compile"}))
    made = report.Report({"gpu": "none"}, "cuda", records)
    page = report.markdown(report.from_json(report.to_json(made)))
    assert "| open | ours, plain | 2 | 1.00 | 0.50 | 1 | 1 |" in page
    assert "| held out | ours, plain | 1 | 0.25 | 0.25 | 0 | 1 |" in page
    losses = page.partition("## Losses")[2].partition("##")[0].splitlines()
    assert [line for line in losses if line] == [
        "- c 3x5 float32 (held out): 0.25 of triton", "- b 3x5 float32: 0.50 of triton"
    ]  # fmt: skip
    assert "- d 3x5 float32: ours, plain: does not compile" in page


def test_a_page_quotes_a_cpu_once_it_was_measured(tmp_path: Path) -> None:
    assert list(quotes.means_on_cpu(tmp_path)) == ["Not measured yet: `make figures` does."]
    facts = {
        "commit": "1234",
        "date": "today",
        "cpu": "fast",
        "cores": "2",
        "torch": "2",
        "numba": "1",
    }
    for ours, told in ((4.0, "The 1 losses, as parts of the speed of torch: a **0.25**."),
                       (0.5, "No row is a loss.")):  # fmt: skip
        made = report.Report(facts, "cpu", [_record("a", ours)])
        (tmp_path / "corpus_cpu.json").write_text(report.to_json(made), encoding="utf-8")
        (tmp_path / "corpus_cpu.md").write_text(report.markdown(made), encoding="utf-8")
        page = list(quotes.means_on_cpu(tmp_path))
        assert page[0] == "Measured at commit `1234`, today, fast, 2 cores; torch 2, numba 1."
        assert told in page and page[-1] == "[All rows](benchmarks/results/corpus_cpu.md)."


def test_a_contest_on_the_cpu_measures_and_finds_what_is_wrong() -> None:
    row = ROWS["nesterov"]
    record = contest.contest(row, row.small, "float32", "cpu", without=[COMPILED], rounds=1)
    assert {PLAIN, TORCH} <= set(record.figures)
    assert record.settings[PLAIN]
    wrong = replace(row, exact=1e-30)
    record = contest.contest(wrong, row.small, "float32", "cpu", without=[COMPILED], rounds=1)
    assert "its error is" in record.absent[PLAIN]
    assert PLAIN not in record.figures


def test_the_command_writes_json_and_a_page(tmp_path: Path) -> None:
    from benchmarks.corpus.__main__ import main

    asked = ["--device", "cpu", "--small", "--only", "nesterov", "--without", COMPILED]
    assert main([*asked, "--rounds", "1", "--out", str(tmp_path)]) == 0
    made = report.from_json((tmp_path / "corpus_cpu.json").read_text(encoding="utf-8"))
    assert [r.dtype for r in made.records] == ["bfloat16", "float32"]
    page = (tmp_path / "corpus_cpu.md").read_text(encoding="utf-8")
    assert page.startswith("# The corpus on a CPU") and "nesterov" in page


def _in_numba(row: Row) -> bool:
    try:
        return row.in_numba() is not None
    except NotAvailable:
        return False


IN_NUMBA = [row for row in ROWS.values() if _in_numba(row)]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("row", IN_NUMBA, ids=[row.name for row in IN_NUMBA])
def test_numba_is_right(row: Row) -> None:
    pytest.importorskip("numba")
    torch.manual_seed(7)
    data = row.make(row.small, row.usual("cpu")[1], "cpu")
    expected = contest.expected_of(row, data)
    (runner,) = contest.contestants(row, data, "cpu")[NUMBA]()
    runner.spoil()
    runner.run()
    _check(row, "float32", runner.read(), data, expected)


def test_cases_of_a_cpu_are_small_and_in_f32_first() -> None:
    for row in ROWS.values():
        cases = list(row.cases("cpu"))
        assert cases[0] == row.usual("cpu")
        assert cases[0][1] in ("float32", "int32"), row.name
        assert any(n & (n - 1) for shape, _ in cases for n in shape), row.name
        assert len(cases[0][0]) == len(row.small)
        assert next(iter(row.cases("cuda"))) == (row.shapes[1], row.dtypes[0])
