"""The reference pages list exactly what the language declares."""

from __future__ import annotations

import re
import sys

import pytest

import tilewright as tw
from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import reference

DOCUMENTED = [family for family in reference.PAGES if reference.page(family).exists()]


@pytest.mark.parametrize("family", DOCUMENTED)
def test_table_of_functions(family, request):
    page = reference.page(family)
    text = page.read_text(encoding="utf-8")
    if request.config.getoption("--accept"):
        page.write_text(reference.rewritten(family), encoding="utf-8")
        return
    assert text == reference.rewritten(family), f"{page.name} is behind; see `pytest --accept`"
    listed = reference.BEGIN in text
    assert listed or not reference.functions(family), f"{page.name} has no table of functions"


def test_every_public_name_stands_on_the_host_page():
    page = (reference.FOLDER / "host.md").read_text(encoding="utf-8")
    missing = [name for name in tw.__all__ if not re.search(rf"\b{name}\b", page)]
    assert not missing, f"host.md does not mention {', '.join(missing)}"


def test_every_function_stands_on_a_page():
    missing = [f for f in reference.PAGES if f not in DOCUMENTED and f != "token"]
    assert not missing, f"no page for {', '.join(missing)}"
