"""Prose uses the field's terms: no page, public docstring or message has a retired phrase.

The test reads every page, and every docstring, comment and message of `src/tilewright`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from source_tree import ROOT, SOURCES, relative
from support.retired_words import (
    RETIRED,
    Prose,
    faults,
    messages,
    prose_of_page,
    prose_of_source,
    public_docstrings,
    table,
)

GLOSSARY = ROOT / "docs" / "glossary.md"
COVERED_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")
BAD_SENTENCES = (
    "Whatever needs a closer look is left to Python.",
    "The kernel is there twice.",
    "A long row is made again, not kept.",
    "Tiles inside have a way of their own.",
    "Kernels of others are ops, too.",
    "Variables are carried from round to\nround.",
    "Unrolled loops have 65536 rounds at most.",
    "The condition on which they part is shown.",
    "Threads that meet share memory.",
    "It is asked once per tile whether it lies inside.",
    "Whole tiles are copied in bulk.",
    "Streams of CUDA count work.",
    "Work that somebody puts on a stream is ordered.",
    "A warning is told once.",
    "The types in this loop do not settle.",
)
GOOD_SENTENCES = (
    "`load` rounds each element to nearest even; each rounds once.",
    "Kernels compile again after an edit.",
    "The stage is made of two passes, and each has its own file.",
    "A symbol stands for an extent; a partition stands in for the tensor.",
    "CUDA streams count work, and a launch is enqueued on a stream.",
    "The threads of a block are part of a warp; a function of JAX arrays is pure.",
    "Integers are widened by the sign of their own type.",
    "Round to nearest; the tensor gives its memory back.",
)


@cache
def covered_prose() -> tuple[Prose, ...]:
    """Read every page, public docstring and message that the test covers."""
    return tuple(_covered_prose())


def _covered_prose() -> Iterator[Prose]:
    for pattern in COVERED_PAGES:
        for page in sorted(ROOT.glob(pattern)):
            yield from prose_of_page(page.read_text(encoding="utf-8"), relative(page))
    for path in sorted(SOURCES.rglob("*.py")):
        yield from prose_of_source(path, relative(path))
        yield from messages(path, relative(path))


def test_no_retired_words():
    found = faults(covered_prose())
    assert not found, "see docs/glossary.md:\n" + "\n".join(found)


def test_all_that_is_covered_exists():
    assert all(list(ROOT.glob(pattern)) for pattern in COVERED_PAGES)
    assert len(covered_prose()) > 3000


@pytest.mark.parametrize("sentence", BAD_SENTENCES)
def test_a_retired_phrase_is_found(sentence):
    assert faults(prose_of_page(f"# Title\n\n{sentence}\n", "page"))


@pytest.mark.parametrize("sentence", GOOD_SENTENCES)
def test_ordinary_sentences_pass(sentence):
    assert not faults(prose_of_page(f"# Title\n\n{sentence}\n", "page"))


def test_code_on_pages_is_not_prose():
    page = "Text `is there twice`.\n\n```python\n# a closer look\n```\n\nIt looks\ncloser.\n"
    assert faults(prose_of_page(page, "page")) == [
        "page:7: 'looks closer'; write: take the slow path"
    ]


def test_docstrings_and_messages_are_prose(tmp_path):
    source = tmp_path / "module.py"
    source.write_text(
        'def public():\n    """Give it."""\n    raise ValueError(f"{x} is there twice")\n\n\n'
        'def _private():\n    """Give what nobody reads."""\n    return "gives a number"\n'
    )
    assert faults(public_docstrings(source, "module")) == ["module:2: 'Give'; write: Return X"]
    assert faults(messages(source, "module")) == [
        "module:3: 'is there twice'; write: is multi-versioned"
    ]


def test_comments_and_private_docstrings_are_prose(tmp_path):
    source = tmp_path / "module.py"
    source.write_text(
        'def _private():\n    """Tell it."""\n'
        "    x = 1  # is there\n    # twice, or\n    # is there twice\n"
    )
    assert faults(prose_of_source(source, "module")) == [
        "module:2: 'Tell'; write: Return X",
        "module:3: 'is there twice'; write: is multi-versioned",
        "module:3: 'is there twice'; write: is multi-versioned",
    ]


def test_every_row_of_the_glossary_is_found():
    for word in RETIRED:
        shown = word.phrase.removesuffix(" (docstring)").split(", ")
        assert all(word.found_in(phrase) for phrase in shown), word.phrase


def test_the_glossary_lists_the_retired_words(request):
    text = GLOSSARY.read_text(encoding="utf-8")
    fresh = re.sub(r"^\| retired \|.*\n(\|.*\n)+", lambda _: table(), text, flags=re.MULTILINE)
    if request.config.getoption("--accept"):
        GLOSSARY.write_text(fresh, encoding="utf-8")
        return
    assert text == fresh, "the retired words have changed; see `pytest --accept`"
    assert table() in text
