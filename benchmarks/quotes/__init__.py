"""Figures that pages quote, generated from `benchmarks/results`.

A page marks what is generated, and by which block:

    <!-- figures: cpu -->
    ...
    <!-- end of figures -->

`python -m benchmarks.quotes` writes all of them again; a test compares them, and finds figures that
stand outside. A block reads one file of results, so it never mixes commits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from . import corpus, cpu, gpu, host, reliability
from .reading import Block

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = ("README.md", "benchmarks/README.md", "docs/**/*.md")

BLOCKS: dict[str, Block] = {
    **cpu.BLOCKS, **host.BLOCKS, **gpu.BLOCKS, **corpus.BLOCKS, **reliability.BLOCKS,
}  # fmt: skip

MARKED = re.compile(
    r"^(?P<indent> *)<!-- figures: (?P<name>[\w-]+) -->\n(?P<text>.*?)^ *<!-- end of figures -->$",
    re.MULTILINE | re.DOTALL,
)


def pages(root: Path = ROOT) -> list[Path]:
    """The pages that may quote figures."""
    return sorted(path for pattern in PAGES for path in root.glob(pattern))


def rendered(name: str, results: Path = RESULTS) -> str:
    """Return the text of one block."""
    if name not in BLOCKS:
        raise ValueError(f"no block of figures is named {name!r}; there are {', '.join(BLOCKS)}")
    return "\n".join(BLOCKS[name](results)) + "\n"


def quoted(text: str, results: Path = RESULTS) -> str:
    """Return a page with every block generated again."""

    def block(found: re.Match[str]) -> str:
        indent, name = found["indent"], found["name"]
        lines = rendered(name, results).splitlines()
        inner = "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)
        return f"{indent}<!-- figures: {name} -->\n{inner}{indent}<!-- end of figures -->"

    return MARKED.sub(block, text)


def outside(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page that no block has generated, with their numbers."""
    blanked = MARKED.sub(lambda found: "\n" * found[0].count("\n"), text)
    yield from enumerate(blanked.splitlines(), 1)
