"""One word per op family: the same file in every layer, and every op known to every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from source_tree import ROOT, SOURCES
from tilewright.backend.cpu.emit import TABLE as CPU
from tilewright.backend.ptx.simt import TABLE as PTX
from tilewright.backend.reference.interpreter import RULES as REFERENCE
from tilewright.backend.tileir.lower import RULES as TILEIR
from tilewright.ir.ops import FAMILIES, OPS
from tilewright.ir.ops.control import BREAKPOINT
from tilewright.ir.ops.memory import TOKEN_OPS
from tilewright.ir.ops.simt import ASSEMBLY_OPS

COLUMNS: dict[str, Path] = {
    "ir": SOURCES / "ir" / "ops",
    "lang": SOURCES / "lang",
    "rules": SOURCES / "frontend" / "rules",
    "reference": SOURCES / "backend" / "reference",
    "cpu": SOURCES / "backend" / "cpu" / "emit",
    "tileir": SOURCES / "backend" / "tileir" / "lower",
    "simulator": ROOT / "simulator" / "tile_ir",
    "docs": ROOT / "docs" / "reference",
}
"""Where each layer keeps its file of a family."""

PAGES: dict[str, tuple[str, ...]] = {
    "elementwise": ("arithmetic", "math", "comparison", "bitwise", "conversion"),
    "layout": ("creation", "layout"),
    "memory": ("memory", "pointer", "atomics"),
    "control": ("control", "grid", "debug"),
    "simt": ("threads", "slices", "shared", "warps", "assembly"),
}
"""Pages of the reference by family, where a family has several: readers look for one topic."""

SIMT = "kernels of threads go to GPUs through LLVM: see `backend/ptx/simt.py`"

STOPS = "a debugger stops on the reference device only: see `compile/legality.py`"

EMPTY: dict[tuple[str, str], str] = {
    ("simt", "cpu"): "`backend/simt_cpu` writes the threads of a block as SIMD lanes",
    ("simt", "tileir"): SIMT,
    ("simt", "simulator"): SIMT,
}
"""Cells of the grid that are empty on purpose, by (family, column)."""

UNEMITTED: dict[tuple[str, str], str] = {
    **{(op.name, "llvm"): "native code keeps program order" for op in TOKEN_OPS},
    **{(op.name, "reference"): "PTX is rejected for other targets" for op in ASSEMBLY_OPS},
    **{(op.name, "tileir"): SIMT for op in FAMILIES["simt"]},
    **{(BREAKPOINT.name, backend): STOPS for backend in ("llvm", "tileir")},
}
"""Ops that a backend does not take on purpose, by (op, backend)."""

TABLES = {"reference": REFERENCE, "llvm": {**CPU, **PTX}, "tileir": TILEIR}


def _files(family: str, column: str) -> list[Path]:
    names = PAGES.get(family, (family,)) if column == "docs" else (family,)
    return [COLUMNS[column] / (name + (".md" if column == "docs" else ".py")) for name in names]


def cell(family: str, column: str) -> str:
    """What the grid shows: x for a file, a dot for a reason, ! for a hole."""
    if all(path.exists() for path in _files(family, column)):
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
    found = [path for path in _files(family, column) if path.exists()]
    assert not found, f"{family} in {column} is no longer empty"


@pytest.mark.parametrize("backend", TABLES)
def test_every_op_is_known_to_every_backend(backend):
    missing = [n for n in OPS if n not in TABLES[backend] and (n, backend) not in UNEMITTED]
    assert not missing, f"{backend} does not know {', '.join(missing)}"


@pytest.mark.parametrize("backend", TABLES)
def test_no_backend_knows_an_op_that_is_not_declared(backend):
    assert set(TABLES[backend]) <= set(OPS)


def test_reasons_for_ops_are_still_needed():
    assert not [op for op, backend in UNEMITTED if op in TABLES[backend]]
