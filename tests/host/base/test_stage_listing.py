"""Texts with the places of their lines."""

from __future__ import annotations

from tilewright.base.source import SourceFile, Span
from tilewright.base.stage import Listing, ListingWriter, Place, joined, places_of

FILE = SourceFile("kernels.py", "a\nb\nc")
CALL = Span(FILE, 3, 4, 3, 6)
INSIDE = Span(FILE, 1, 0, 1, 1, "inner", CALL)


def test_a_place_and_the_calls_around_it():
    assert places_of(INSIDE) == (Place("kernels.py", 1, 1), Place("kernels.py", 3, 5))
    assert places_of(None) == ()


def test_lines_with_places():
    out = ListingWriter()
    out.add("one", INSIDE)
    out.add("two")
    listing = out.listing
    assert listing.text == "one\ntwo\n"
    assert listing.places == (places_of(INSIDE), ())
    assert joined([listing, Listing.plain("three\n")]).lines == ("one", "two", "three")
