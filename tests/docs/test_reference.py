"""The reference pages list exactly what the language declares."""

from __future__ import annotations

import re
import sys

import pytest

import tilewright as tw
from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import reference

DOCUMENTED = [topic for topic in reference.PAGES if reference.page(topic).exists()]


@pytest.mark.parametrize("topic", DOCUMENTED)
def test_table_of_functions(topic, request):
    page = reference.page(topic)
    text = page.read_text(encoding="utf-8")
    if request.config.getoption("--accept"):
        page.write_text(reference.rewritten(topic), encoding="utf-8")
        return
    assert text == reference.rewritten(topic), f"{page.name} is behind; see `pytest --accept`"
    listed = reference.BEGIN in text
    assert listed or not reference.functions(topic), f"{page.name} has no table of functions"


def test_every_public_name_stands_on_the_host_page():
    page = (reference.FOLDER / "host.md").read_text(encoding="utf-8")
    missing = [name for name in tw.__all__ if not re.search(rf"\b{name}\b", page)]
    assert not missing, f"host.md does not mention {', '.join(missing)}"


def test_every_function_stands_on_one_page():
    listed = [f.__name__ for topic in reference.PAGES for f in reference.functions(topic)]
    declared = [f.__name__ for m in reference.TOPICS for f in reference.declared(m)]
    written = (reference.STDLIB, reference.COOPERATIVE)
    composed = [f.__name__ for topic in written for f in reference.functions(topic)]
    assert sorted(listed) == sorted(declared + composed)


def test_every_topic_has_a_page():
    missing = [f for f in reference.PAGES if f not in DOCUMENTED]
    assert not missing, f"no page for {', '.join(missing)}"
