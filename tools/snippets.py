"""Takes the Markdown pages, gives their Python blocks as modules that can be run and type-checked.

    python tools/snippets.py build/snippets

A page is one program: its blocks, in order, become one file in which every line keeps its number,
so that a checker's or a traceback's line is the line of the page. A block marked ```python skip
(a fragment, or a kernel that is wrong on purpose) is left out; so is one marked with the name of a
library that need not be installed, such as ```python torch, or ```python gpu, which needs one.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(.*)$")


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    """One fenced block: what stands after the fence, and its lines, numbered from 0."""

    language: str
    first: int
    lines: tuple[str, ...]


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found: list[Block] = []
    language, first, lines = "", -1, text.splitlines()
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and first < 0:
            language, first = fence[1].strip(), number + 1
        elif fence:
            found.append(Block(language, first, tuple(lines[first:number])))
            first = -1
    return found


def extract(text: str) -> str:
    """Keep the lines inside Python blocks; every other line becomes empty."""
    return lines_of(text, [block for block in blocks(text) if block.language == "python"])


def lines_of(text: str, kept: Iterable[Block]) -> str:
    """Keep the lines inside some blocks; every other line becomes empty."""
    lines = [""] * len(text.splitlines())
    for block in kept:
        lines[block.first : block.first + len(block.lines)] = block.lines
    return "\n".join(lines) + "\n"


def module_name(page: Path) -> str:
    """`docs/guide/errors.md` is the module `docs_guide_errors`."""
    parts = page.relative_to(ROOT).with_suffix("").parts
    return "_".join(parts).lower().replace("-", "_")


def write(folder: Path) -> list[Path]:
    """Write one module per page that has Python in it; the folder is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    written: list[Path] = []
    for page in pages():
        code = extract(page.read_text(encoding="utf-8"))
        if code.strip():
            target = folder / f"{module_name(page)}.py"
            target.write_text(code, encoding="utf-8")
            written.append(target)
    return written


def main(arguments: list[str]) -> int:
    """Write the modules into the folder given."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    written = write(Path(arguments[0]))
    print(f"{len(written)} pages with Python in {arguments[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
