"""The commands that pages show are commands: each is understood."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from source_tree import ROOT, relative
from tilewright.tools.command import SUBCOMMANDS, make_parser

sys.path.insert(0, str(ROOT / "tools"))
import snippets

SHOWN = [
    (page, line)
    for page in snippets.pages()
    for block in snippets.blocks(page.read_text(encoding="utf-8"))
    if block.language == "text"
    for line in block.lines
    if line.startswith("tilewright ")
]


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=[f"{relative(p)}:{n}" for p, n in SHOWN])
def test_a_command_is_understood(page, line):
    command = re.split(r"\s{2,}", line)[0]  # what follows explains it
    given = make_parser().parse_args(shlex.split(command)[1:])
    assert given.subcommand in SUBCOMMANDS


def test_every_subcommand_is_shown():
    text = (ROOT / "docs" / "guide" / "command.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `tilewright (\w+)", text, re.MULTILINE)) == {
        subcommand.name for subcommand in SUBCOMMANDS
    }
