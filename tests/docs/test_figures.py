"""Figures that pages quote: each is generated from `benchmarks/results`, and says its commit."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from source_tree import ROOT, relative
from support.loops import for_each

sys.path.insert(0, str(ROOT))
from benchmarks import quotes

PAGES = quotes.pages()
MEASURED = re.compile(
    r"\d(?:[\d.,]| to | and )*\s?(?:us|ms|ns|µs|[GT]B/s|[GTM]?FLOP/s)\b"
    r"|\d % (?:faster|slower)|\b\d+\.\d+ (?:times as (?:fast|long)|of (?:the speed|cuBLAS|a copy))"
)
"""A time or a speed."""
CONSTANTS: dict[str, str] = {
    "docs/guide/host_api.md": "how long `await` may block, and Python's switch interval",
    "docs/scale.md": "inputs and results of the model of a cluster",
    "benchmarks/README.md": "how short a call is timed in a batch",
}
"""Pages with times that are rules of the system or of the measurement, and which."""


@for_each(PAGES)
def test_figures_are_those_of_the_results(path):
    text = path.read_text(encoding="utf-8")
    same = quotes.quoted(text) == text
    assert same, f"{relative(path)}: run `python -m benchmarks.quotes`"


@for_each(PAGES)
def test_no_figure_stands_outside(path):
    if relative(path) in CONSTANTS:
        return
    for number, line in quotes.outside(path.read_text(encoding="utf-8")):
        found = MEASURED.search(line)
        assert found is None, f"{relative(path)}:{number} quotes {found}, which no block generates"


def test_pages_with_constants_have_some():
    for name in CONSTANTS:
        lines = quotes.outside((ROOT / name).read_text(encoding="utf-8"))
        assert any(MEASURED.search(line) for _, line in lines), f"{name} has none any more"


def test_every_block_is_quoted():
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert {found["name"] for found in quotes.MARKED.finditer(text)} == set(quotes.BLOCKS)


def _results():
    found = sorted(quotes.RESULTS.glob("*.json"))
    return [path for path in found if path.stem != "mutants"]


@for_each(_results())
def test_results_are_of_one_commit(path):
    commit = json.loads(path.read_text(encoding="utf-8"))["machine"]["commit"]
    assert re.fullmatch("[0-9a-f]{7,40}", commit), f"{path.name}: {commit}"
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert f"| commit | {commit} |" in page, f"{path.with_suffix('.md').name} is of another run"


@for_each(_results())
def test_commits_of_results_are_in_the_history(path):
    commit = json.loads(path.read_text(encoding="utf-8"))["machine"]["commit"]
    asked = subprocess.run(
        ["git", "merge-base", "--is-ancestor", commit, "HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "not a git repository" in asked.stderr or _is_shallow():
        pytest.skip("there is no history here")
    assert asked.returncode == 0, f"{path.name} was measured at {commit}, which is not in HEAD"


def _is_shallow():
    asked = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip() == "true"


def test_a_changed_figure_is_found():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = next(quotes.MARKED.finditer(text))
    better = re.sub(r"\b0\.\d\d\b", "1.99", block["text"], count=1)
    assert better != block["text"] and quotes.quoted(text.replace(block["text"], better)) == text


def test_figures_outside_are_found():
    inside = "<!-- figures: cpu -->\n| add | 3 ms |\n<!-- end of figures -->\n"
    assert not any(MEASURED.search(line) for _, line in quotes.outside(inside))
    for line in ("takes 3.5 us", "at 4.1 TB/s", "1 to 2 ms", "is 5 % faster", "0.97 of a copy"):
        (found,) = [n for n, each in quotes.outside(inside + line) if MEASURED.search(each)]
        assert found == 4


def test_an_unknown_block_is_refused():
    with pytest.raises(ValueError, match="no block of figures is named 'nothing'"):
        quotes.quoted("<!-- figures: nothing -->\n<!-- end of figures -->")
