"""The list of claims says what the tests say, the page for people from Rust each difference."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from source_tree import ROOT

HERE = Path(__file__).parent
LIST = HERE / "claims.md"
PAGE = ROOT / "docs" / "guide" / "coming_from_rust.md"
LINK = "../../docs/guide/coming_from_rust.md"
DOCUMENTS = {
    "a": "Interoperability",
    "b": "The host API",
    "c": "The introduction",
    "d": "Tile and SIMT kernels in one program",
}
HEAD = """# Claims

What the four documents of cuTile Rust and cuda-oxide that define the system say, and what follows
from it, claim by claim and in our own words; and whether it holds as documented or differs on
purpose. Each claim has a test of its number. This list is written by `pytest --accept
tests/seeds/test_claims.py`.
"""
DIFFERENT_PARTS = (
    "Names and arguments", "Tensors and devices", "Running and sharing",
    "Graphs and foreign kernels",
)  # fmt: skip
"""Parts of the page with nothing but differences that a claim is about."""


@dataclass(frozen=True)
class Claim:
    """What a test shows, by its name and docstring."""

    name: str
    file: str
    text: str
    difference: str

    @property
    def number(self) -> str:
        return self.name.split("_")[1]


@cache
def claims() -> tuple[Claim, ...]:
    """Those of all tests, in order."""
    found = []
    for path in HERE.glob("test_*.py"):
        if path.name == Path(__file__).name:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.append(_claim(node, path))
    return tuple(sorted(found, key=lambda claim: claim.number))


def _claim(node: ast.FunctionDef, path: Path) -> Claim:
    where = f"{path.name}: {node.name}"
    assert re.match(r"test_([acd]\d\d|b\d\d\d)_\w", node.name), f"{where} names no claim"
    text, _, difference = (ast.get_docstring(node) or "").partition("\n\nDiffers: ")
    assert text, f"{where} does not say what is claimed"
    return Claim(node.name, path.name, " ".join(text.split()), difference.strip())


def slug(heading: str) -> str:
    """The anchor of a heading, as Markdown viewers make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@cache
def headings() -> dict[str, str]:
    """The anchors of the page, with the part that each is in."""
    found, part = {}, ""
    for marks, heading in re.findall(r"^(##+) (.*)$", PAGE.read_text(encoding="utf-8"), re.M):
        part = heading if marks == "##" else part
        found[slug(heading)] = part
    return found


def listed() -> str:
    """The list as the tests have it."""
    lines = [HEAD]
    for letter, document in DOCUMENTS.items():
        mine = [claim for claim in claims() if claim.number[0] == letter]
        lines.append(f"\n## {document}\n\n| | claim | verdict | test |\n|---|---|---|---|\n")
        lines += [_row(claim) for claim in mine]
    return "".join(lines)


def _row(claim: Claim) -> str:
    anchor = claim.difference
    verdict = f"[differs]({LINK}#{anchor})" if anchor else "as documented"
    return f"| {claim.number.upper()} | {claim.text} | {verdict} | `{claim.file}` |\n"


def test_the_list_is_that_of_the_tests(request):
    fresh = listed()
    if request.config.getoption("--accept"):
        LIST.write_text(fresh, encoding="utf-8")
        return
    assert LIST.read_text(encoding="utf-8") == fresh, "claims have changed; see `pytest --accept`"


def test_each_claim_has_a_number_of_its_own_and_one_test():
    numbers = [claim.number for claim in claims()]
    assert len(set(numbers)) == len(numbers)
    for letter in DOCUMENTS:
        mine = [int(number[1:]) for number in numbers if number[0] == letter]
        assert mine == list(range(1, len(mine) + 1)), f"numbers of {letter} are missing"


@pytest.mark.parametrize("claim", [c for c in claims() if c.difference], ids=lambda c: c.number)
def test_each_difference_has_its_paragraph(claim):
    assert claim.difference in headings(), f"{claim.name}: the page has no such heading"


def test_each_paragraph_about_a_difference_has_its_claim():
    told = {anchor for anchor, part in headings().items() if part in DIFFERENT_PARTS}
    told -= {slug(part) for part in DIFFERENT_PARTS}
    assert told <= {claim.difference for claim in claims()}
