"""The page for people who know Rust says of ownership what the judged programs say."""

from __future__ import annotations

import re
import sys

from ownership.lazy_programs import ALL
from source_tree import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import snippets

PAGE = ROOT / "docs" / "guide" / "coming_from_rust.md"
DIFFERENT = {name: p for name, p in ALL.items() if p.why}


def sections():
    """The parts of the page that show one difference each."""
    parts = re.split(r"^##+ .*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [part for part in parts if "```rust" in part]


def rust_of(section):
    """The Rust line of a section, and the verdict in its comment."""
    (block,) = [b for b in snippets.blocks(section) if b.language == "rust"]
    code, verdict = block.lines[0].split("  // ")
    return code, verdict


def table():
    head = "| program | in Rust | rustc | here | because |\n|---|---|---|---|---|\n"
    rows = [
        f"| {name} | `{p.rust}` | {p.rustc} | {'refused' if p.refused else 'runs'} | {p.why} |\n"
        for name, p in DIFFERENT.items()
    ]
    return head + "".join(rows)


def test_each_section_shows_a_judged_program_and_its_reason():
    judged = {p.rust: p for p in DIFFERENT.values()}
    for section in sections():
        code, verdict = rust_of(section)
        program = judged[code]
        assert verdict == program.rustc
        prose = " ".join(section.split()).lower()
        assert program.why.lower() in prose, f"the reason for `{code}` reads otherwise"


def test_every_reason_has_a_section():
    shown = {rust_of(section)[0] for section in sections()}
    reasons = {p.why for p in DIFFERENT.values()}
    assert {p.why for p in DIFFERENT.values() if p.rust in shown} == reasons


def test_the_table_lists_all_differences(request):
    text = PAGE.read_text(encoding="utf-8")
    found = re.compile(r"^\| program \|.*\n(\|.*\n)+", re.MULTILINE)
    fresh = found.sub(lambda _: table(), text)
    if request.config.getoption("--accept"):
        PAGE.write_text(fresh, encoding="utf-8")
        return
    assert text == fresh, "the verdicts have changed; see `pytest --accept`"
