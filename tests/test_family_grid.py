"""One word per op family: the same file in every layer, and every op known to every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_tree import ROOT, SOURCES
from tilewright.backend.cpu.emit import TABLE as LLVM
from tilewright.backend.reference.interpreter import RULES as REFERENCE
from tilewright.backend.tileir.lower import RULES as TILEIR
from tilewright.ir.ops import FAMILIES

COLUMNS: dict[str, Path] = {
    "ir": SOURCES / "ir" / "ops",
    "lang": SOURCES / "lang",
    "rules": SOURCES / "frontend" / "rules",
    "reference": SOURCES / "backend" / "reference",
    "llvm": SOURCES / "backend" / "llvm" / "emit",
    "tileir": SOURCES / "backend" / "tileir" / "lower",
    "docs": ROOT / "docs" / "reference",
}
"""Where each layer keeps its file of a family."""

TOKEN = "tokens are made by a pass, for a backend that needs memory order spelled out"

SIMT = "kernels of threads go to GPUs through LLVM"

EMPTY: dict[tuple[str, str], str] = {
    ("token", "lang"): TOKEN,
    ("token", "rules"): TOKEN,
    ("token", "docs"): TOKEN,
    ("token", "llvm"): "native code keeps program order",
    ("threads", "tileir"): SIMT,
    ("slices", "tileir"): SIMT,
    ("shared", "tileir"): SIMT,
    ("warps", "tileir"): SIMT,
    ("assembly", "tileir"): SIMT,
    ("assembly", "reference"): "PTX is for GPUs; it is refused while compiling for others",
}
"""Cells of the grid that are empty on purpose, by (family, column)."""

UNEMITTED: dict[tuple[str, str], str] = {}
"""Ops that a backend does not take on purpose, by (op, backend)."""

TABLES = {"reference": REFERENCE, "llvm": LLVM, "tileir": TILEIR}


def _file(family: str, column: str) -> Path:
    return COLUMNS[column] / (family + (".md" if column == "docs" else ".py"))


def cell(family: str, column: str) -> str:
    """What the grid shows: x for a file, a dot for a reason, ! for a hole."""
    if _file(family, column).exists():
        return "x"
    return "." if (family, column) in EMPTY else "!"


def grid() -> str:
    """The whole grid as text."""
    rows = [[family, *(cell(family, column) for column in COLUMNS)] for family in FAMILIES]
    lines = [["family", *COLUMNS], *rows]
    return "\n".join(f"{first:<12}" + "".join(f"{c:>11}" for c in rest) for first, *rest in lines)


def test_no_cell_is_empty_without_a_reason():
    text = grid()
    print(text)
    assert "!" not in text, f"empty cells:\n{text}"


@pytest.mark.parametrize(("family", "column"), EMPTY)
def test_reasons_are_still_needed(family, column):
    assert not _file(family, column).exists(), f"{family} in {column} is no longer empty"


@pytest.mark.parametrize("backend", TABLES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_op_is_known_to_every_backend(family, backend):
    if (family, backend) in EMPTY:
        return
    names = [op.name for op in FAMILIES[family]]
    missing = [n for n in names if n not in TABLES[backend] and (n, backend) not in UNEMITTED]
    assert not missing, f"{backend} does not know {', '.join(missing)}"


@pytest.mark.parametrize("backend", TABLES)
def test_no_backend_knows_an_op_that_is_not_declared(backend):
    declared = {op.name for family in FAMILIES.values() for op in family}
    assert set(TABLES[backend]) <= declared


def test_reasons_for_ops_are_still_needed():
    assert not [op for op, backend in UNEMITTED if op in TABLES[backend]]
