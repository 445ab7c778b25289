"""What the host tests share: texts of errors without the places of this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def without_places():
    """Make a text independent of files and line numbers, so that golden texts stay."""

    def without(text):
        text = re.sub(r"\S+\.py:\d+(:\d+)?", "FILE:LINE", text)
        return re.sub(r"(?m)^\d+ \|", lambda m: "N" * (len(m[0]) - 2) + " |", text)

    return without


@pytest.fixture
def places(without_places):
    """The text of an error, with its places made independent of line numbers."""
    return lambda error: without_places(f"{type(error).__name__}: {error}")
