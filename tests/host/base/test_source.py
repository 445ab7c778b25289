"""Source files give lines by their number in the file; places print as editors read them."""

from __future__ import annotations

from tilewright.base.source import HostLocation, SourceFile, Span, where


def test_lines_are_counted_as_in_the_file():
    file = SourceFile("k.py", "first\nsecond\n", first_line=10)
    assert [file.line(n) for n in (9, 10, 11, 12)] == [None, "first", "second", None]


def test_a_span_prints_its_place_with_columns_from_one():
    assert Span(SourceFile("k.py", "x"), 3, 0, 3, 1).place == "k.py:3:1"


def test_the_text_stays_out_of_the_repr():
    assert "secret" not in repr(SourceFile("k.py", "secret"))


def test_a_place_shows_its_source_where_known():
    assert str(HostLocation("host.py", 3)) == "host.py:3"
    assert str(HostLocation("host.py", 3, "k(z)")) == "host.py:3: k(z)"


def test_a_line_ends_with_a_place_where_it_is_known():
    span = Span(SourceFile("k.py", "x"), 3, 0, 3, 1)
    assert f"keep it{where(span)}" == "keep it (k.py:3:1)"
    assert where(None) == ""
