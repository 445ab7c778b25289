"""Every word of the language stands in a test of this folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright.lang as tl
from source_tree import ROOT

FOLDER = Path(__file__).parent
TABLES = ("integers.py", "floats.py")
SOURCES = [*FOLDER.glob("test_*.py"), *(ROOT / "tests" / "support" / name for name in TABLES)]
TEXT = "\n".join(p.read_text(encoding="utf-8") for p in SOURCES if p.name != "test_coverage.py")

NEVER_NAMED = {
    "AnyAccumulator", "AnyMappedPartitionMut", "AnyTensor", "AnyTensorMut", "Partition",
    "PartitionIndex", "PartitionMut", "PointerTile",
}  # fmt: skip
"""Classes that only annotations of helper functions use."""

FUNCTIONS = [n for n in tl.__all__ if n not in NEVER_NAMED]
METHODS = sorted(
    {
        name
        for cls in (tl.Tile, tl.Tensor, tl.TensorMut, tl.Partition, tl.PartitionMut, tl.PointerTile)
        for name in dir(cls)
        if not name.startswith("_")
    }
)
OPERATORS = "+ - * / // % ** @ & | ^ ~ << >> < <= > >= == !="


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function(name):
    assert re.search(rf"\btl\.{name}\b", TEXT) or in_a_table(name), f"tl.{name} has no test"


@pytest.mark.parametrize("name", METHODS)
def test_every_method(name):
    assert re.search(rf"\.{name}\b", TEXT) or in_a_table(f"reduce_{name}") or in_a_table(name)


def in_a_table(name):
    """Some words are put together from a table: f"tl.{name}_tile(a, b)", f"a.{method}(0)"."""
    return re.search(rf"[\"']{name.removesuffix('_tile')}[\"']", TEXT)


@pytest.mark.parametrize("symbol", OPERATORS.split(" "))
def test_every_operator(symbol):
    assert re.search(rf"[\"']a? ?{re.escape(symbol)}( ?[ab@2])?\b", TEXT) or in_a_table(symbol)
