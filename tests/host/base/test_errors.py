"""The picture of a diagnostic, and what every exception of the tree can do."""

from __future__ import annotations

import pickle

import pytest

from tilewright.base import errors
from tilewright.base.errors import Code, CompileError, Error, picture
from tilewright.base.source import HostLocation, SourceFile, Span

TEXT = """\
def scale(x, out):
    y = load(x) * größe + "ß"
\tz = call(
        y)
    return z
"""
FILE = SourceFile("kernels.py", TEXT, first_line=40)


def span(line, column, end_column, **more):
    return Span(FILE, line, column, more.pop("end_line", line), end_column, **more)


def underlined(where):
    """The characters of the source line that the caret stands under."""
    _, _, source, caret = picture(where)
    return "".join(c for c, mark in zip(source, caret, strict=False) if mark == "^")


def test_the_whole_picture(golden):
    caller = span(42, 5, 9, function="main", caller=span(44, 11, 12, function="entry"))
    where = span(41, 8, 15, function="scale", caller=caller)
    places = (("built", HostLocation("host.py", 7, "k(z)")), ("used", HostLocation("host.py", 9)))
    golden(
        str(
            CompileError(
                "a tile cannot be used here",
                expected="a scalar",
                got="tile<8xf32>",
                hint="reduce it first",
                places=places,
                span=where,
                code=Code.TYPE,
            )
        )
    )


def test_the_smallest_picture():
    assert str(Error("no more memory")) == "no more memory"


def test_the_place_counts_columns_from_one():
    assert picture(span(40, 0, 3))[0] == "  --> kernels.py:40:1"


def test_caret_stands_under_the_expression():
    assert underlined(span(41, 8, 15)) == "load(x)"


def test_caret_counts_characters_not_bytes():
    start = TEXT.splitlines()[1].encode().index("größe".encode())
    assert underlined(span(41, start, start + len("größe".encode()))) == "größe"


def test_caret_after_a_tab_keeps_the_tab():
    _, _, source, caret = picture(span(42, 5, 9))
    assert caret.startswith("   | \t")
    assert source[caret.index("^") :].startswith("call")
    assert caret.count("^") == 4


def test_caret_of_an_expression_over_several_lines_ends_with_its_first():
    assert underlined(span(42, 5, 10, end_line=43)) == "call("


def test_an_empty_expression_still_has_a_caret():
    assert picture(span(40, 4, 4))[-1].count("^") == 1


def test_a_line_outside_the_captured_text_shows_the_place_alone():
    assert picture(span(99, 0, 1)) == ["  --> kernels.py:99:1"]


def test_lines_of_different_width_keep_the_gutter_straight():
    lines = picture(Span(SourceFile("k.py", "x = 1\n", 1000), 1000, 0, 1000, 1))
    assert {line.index("|") for line in lines[1:]} == {5}


ALL_ERRORS = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Error)
]


@pytest.mark.parametrize("cls", ALL_ERRORS)
def test_errors_survive_pickling(cls):
    places = (("built", HostLocation("host.py", 7, "k(z)")),)
    before = cls("message", expected="a", got="b", hint="c", places=places,
                 span=span(41, 8, 15, function="scale"), code=Code.TYPE)  # fmt: skip
    after = pickle.loads(pickle.dumps(before))
    assert type(after) is cls
    assert str(after) == str(before)
    assert (after.expected, after.got, after.hint, after.places) == ("a", "b", "c", places)


def test_errors_can_be_caught_as_what_python_calls_them():
    assert issubclass(errors.ShapeError, ValueError)
    assert issubclass(errors.BorrowError, RuntimeError)
    assert issubclass(errors.LaunchError, errors.DeviceError)
    assert issubclass(CompileError, errors.KernelCacheError)
    assert issubclass(errors.KernelCacheError, errors.DeviceError)


def test_errors_of_devices_know_their_number():
    assert errors.ContextError("message").device_id is None
    after = pickle.loads(pickle.dumps(errors.ContextError("message", hint="c", device_id=3)))
    assert (after.device_id, after.hint) == (3, "c")


def test_the_tree_in_the_docstring_is_the_tree():
    for cls in ALL_ERRORS:
        assert f" {cls.__name__} " in errors.__doc__.replace("\n", " "), cls


def test_codes_are_kebab_case_and_different():
    assert len({str(c) for c in Code}) == len(Code)
    assert all(str(c) == str(c).lower() and " " not in str(c) for c in Code)
