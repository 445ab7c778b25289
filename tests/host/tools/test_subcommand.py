"""Sizes and tables as people read them."""

from __future__ import annotations

import pytest

from tilewright.tools.subcommand import aligned, in_bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 50, "1024.0 TiB")],
)
def test_sizes(count, text):
    assert in_bytes(count) == text


def test_columns():
    assert aligned([("a", "bb", "c"), ("aaa", "b", "")], ". ") == [". a    bb  c", ". aaa  b"]
