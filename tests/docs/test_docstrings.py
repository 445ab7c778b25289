"""Every example in a docstring is run; docstrings of functions begin with a verb."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from source_tree import SOURCES, modules, relative
from tilewright import ops

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

KNOWN = {"np": np, "ops": ops}
"""Names that examples need not import."""

WITH_EXAMPLES = [
    name for name, m in modules().items() if ">>> " in m.path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    # Declared functions wrap the written ones; the finder must not take them for foreign.
    failed, tried = doctest.testmod(module, optionflags=OPTIONS, extraglobs=KNOWN)
    assert tried > 0, f"{name} has examples that are not found"
    assert failed == 0


# --- imperative mood ------------------------------------------------------------------------------

NO_VERBS = frozenset(
    re.findall(
        r"\w+",
        "a all along an another any apart as at both by each every everything for from how if in it"
        " its memory more never no nobody none not nothing of one only other our several so some"
        " something that the there these they this those to two until what when where whether which"
        " who whom whose why without",
    )
)
"""Words that begin a noun phrase or a clause."""

NO_THIRD_PERSON = re.compile(
    r"(?!pass|process|express|discuss|access|address)[a-z]+s|[a-z]*[^a-z].*", re.IGNORECASE
)
"""Words like `returns`, plurals, and words that are no words: `x`, `2^x`."""


def summaries(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the location and the first line of each function's docstring.

    Properties are left out: like an attribute, a property is described by a noun phrase.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
            continue
        if text := ast.get_docstring(node):
            yield f"{relative(path)}:{node.lineno}", text.splitlines()[0]


def begins_with_a_verb(summary: str) -> bool:
    """Return whether the first word may be an imperative verb."""
    word = summary.split()[0].rstrip(".,;:")
    is_capital = word[:1].isupper()
    return is_capital and word.lower() not in NO_VERBS and not NO_THIRD_PERSON.fullmatch(word)


def test_docstrings_of_functions_begin_with_a_verb():
    paths = (*sorted(SOURCES.rglob("*.py")), SOURCES / "_core.pyi")
    found = [(where, text) for path in paths for where, text in summaries(path)]
    assert len(found) > 4000
    wrong = [f"{where}: {text}" for where, text in found if not begins_with_a_verb(text)]
    assert not wrong, "begin with an imperative verb (Return, Emit, ...):\n" + "\n".join(wrong)


def test_what_is_no_verb_is_found():
    for text in ("The tile.", "Returns a tile.", "Whether it is so.", "x + y.", "2^x", "`a`: b"):
        assert not begins_with_a_verb(text), text
    for text in ("Return a tile.", "Pass it on.", "Do nothing.", "Add."):
        assert begins_with_a_verb(text), text
