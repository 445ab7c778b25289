"""References to lines of functions."""

from __future__ import annotations

from pathlib import Path

from tilewright.base.source import SourceFile, Span
from tilewright.base.stage import Place
from tilewright.tools.explore.sources import Sources

TEXT = """import x

@entry
def outer(a):
    b = inner(a)
    return b

def inner(c):
    return c * 2
"""
FILE = SourceFile("/srv/kernels.py", TEXT)
CALL = Span(FILE, 5, 8, 5, 16, "outer")
INSIDE = Span(FILE, 9, 11, 9, 16, "inner", CALL)


def learned():
    sources = Sources(Path("/srv"))
    sources.learn([INSIDE, CALL, None])
    return sources


def test_a_place_refers_to_its_line_and_to_the_calls_around_it():
    sources = learned()
    references = sources.of_span(INSIDE)
    data = sources.data()
    lines = [data["references"][r] for r in references]
    assert lines == [[0, 9], [1, 5]]
    inner, outer = data["functions"]
    assert (inner["first"], outer["first"]) == (8, 3)
    assert outer["lines"][0] == "@entry" and inner["lines"] == ["def inner(c):", "    return c * 2"]
    assert inner["file"] == "kernels.py"


def test_texts_that_know_no_calls_get_those_of_the_ir():
    sources = learned()
    whole = sources.of_span(INSIDE)
    assert sources.references((Place("/srv/kernels.py", 9, 12),)) == whole
    assert sources.references((Place("/srv/kernels.py", 9),)) == whole, "without a column"


def test_lines_of_no_function_have_no_reference():
    sources = learned()
    assert sources.references((Place("/elsewhere.py", 9),)) == []
    assert sources.reference("/srv/kernels.py", 99) is None
    assert sources.references(()) == []


def test_names_are_short():
    sources = learned()
    assert sources.shortened("error in /srv/kernels.py:5") == "error in kernels.py:5"
    assert sources.name("/other/place/f.py") == "f.py"


def test_half_a_file_has_lines_but_no_functions():
    part = SourceFile("/srv/cell", "    y = 1\n    z = 2", 11)
    sources = Sources(Path("/srv"))
    sources.add(part)
    assert sources.reference("/srv/cell", 12) == 0
    data = sources.data()
    assert data["references"] == [[0, 12]] and data["functions"][0]["lines"] == ["    z = 2"]
