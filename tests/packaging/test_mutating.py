"""The mistakes that mutation testing makes: where, which, and that they are programs still."""

from __future__ import annotations

import ast
import sys

import pytest

from source_tree import ROOT, SOURCES

sys.path.insert(0, str(ROOT / "tools"))
import mutating

PYTHON = '''"""A module, with 1 < 2 in its docstring."""

LIMIT: int = 3
Pair: TypeAlias = tuple[int | None]
TABLE = {"least": lambda a, b: min(a, b)}


def f(a: int | None, b: int = 4) -> bool:
    """Compare: a < b."""
    assert a != b
    if a is None or not ready(a):
        raise ValueError(f"{a} < 1")
    note(a)
    total = -a
    total += b
    return a <= b and isinstance(a, int | float)
'''

EDITS = [
    "LIMIT: int = 4",
    "max(a, b)",
    "b: int = 5",
    "a is not None",
    "None and not ready",
    "or  ready(a)",
    "        pass\n    note",
    "    pass\n    total",
    "total = a",
    "    pass\n    return",
    "a < b and",
    "b or isinstance",
]


def edited(tmp_path, name: str, text: str) -> list[str]:
    path = tmp_path / name
    path.write_text(text)
    return [m.applied(text) for m in mutating.mutants(path)]


def test_every_mistake_of_a_module(tmp_path):
    found = edited(tmp_path, "sample.py", PYTHON)
    assert len(found) == len(EDITS)
    for edit in EDITS:
        assert sum(edit in text and edit not in PYTHON for text in found) == 1, edit


def test_mistakes_of_the_native_core_are_not_in_comments_and_strings(tmp_path):
    text = '#include <map>\n// a < b\nif (a < b && c) log("x == y");\n'
    assert edited(tmp_path, "sample.cpp", text) == [
        text.replace("(a < b", "(a <= b"),
        text.replace("&&", "||"),
    ]


def test_a_mistake_is_shown_with_its_line_and_function(tmp_path):
    path = tmp_path / "sample.py"
    path.write_text(PYTHON)
    mutant = next(m for m in mutating.mutants(path) if m.before == "<=")
    assert (mutant.line, mutant.function) == (16, "f")
    whole = "`return a <= b and isinstance(a, int | float)`"
    assert mutant.shown(PYTHON) == f"{whole} -> {whole.replace('<=', '<')}"


@pytest.mark.parametrize("folder", ["ir", "analysis", "passes", "backend/tileir/lower"])
def test_mutants_are_programs(folder):
    """A file, since all take long."""
    path = max((SOURCES / folder).glob("*.py"), key=lambda p: p.stat().st_size)
    source = path.read_text()
    found = mutating.mutants(path)
    assert len(found) > 20
    for mutant in found[::5]:
        ast.parse(mutant.applied(source))
        assert mutant.applied(source) != source
