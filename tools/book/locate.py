"""Map files of the repository to pages of the book: their links, and examples in docstrings."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[2]

PROJECT = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "LICENSE": "project/license.md",
    "examples": "examples/index.md",
    "examples/README.md": "examples/index.md",
    "benchmarks/results": "benchmarks/plots.md",
}
"""Pages of the book that are files elsewhere in the repository."""

LINK = re.compile(r"(?P<before>!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<target>[^()\s]+)(?P<after>\))")
FENCED = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)


def fenced(docstring: str) -> str:
    """Return a docstring as Markdown: its examples get fences.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2\\n").splitlines()[2:]
    ['```pycon', '>>> 1 + 1', '2', '```']
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", docstring)


def book_path(repository_path: str) -> str | None:
    """Return the page of the book that shows a file of the repository, or None.

    >>> book_path("docs/guide/errors.md"), book_path("examples/softmax.py"), book_path("Makefile")
    ('guide/errors.md', 'examples/softmax.md', None)
    """
    if repository_path in PROJECT:
        return PROJECT[repository_path]
    parts = PurePosixPath(repository_path).parts
    if parts[0] == "docs":
        return "/".join(parts[1:])
    if parts[0] == "examples" and repository_path.endswith(".py"):
        return f"{repository_path.removesuffix('.py')}.md"
    if parts[0] == "benchmarks" and repository_path.endswith((".md", ".png")):
        return repository_path
    return None


def relinked(markdown: str, origin: str, page: str) -> str:
    """Return Markdown whose links lead from a page of the book to others.

    `origin` is the file that the text is from. Links to files without a page keep their words.
    """
    pieces = FENCED.split(markdown)
    for i in range(0, len(pieces), 2):
        pieces[i] = LINK.sub(lambda found: _link(found, origin, page), pieces[i])
    text = "".join(pieces)
    return _around_code(text, origin, page)


def _around_code(text: str, origin: str, page: str) -> str:
    """Rewrite links whose words contain code, which splitting by code cuts in two."""
    with_code = re.compile(
        r"(?P<before>\[[^\[\]\n]*`[^`\n]+`[^\[\]\n]*\]\()(?P<target>[^()\s]+)(?P<after>\))"
    )
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(blocks), 2):
        blocks[i] = with_code.sub(lambda found: _link(found, origin, page), blocks[i])
    return "".join(blocks)


def _link(found: re.Match[str], origin: str, page: str) -> str:
    target, _, anchor = found["target"].partition("#")
    if "://" in target or not target or target.startswith("mailto:"):
        return found[0]
    repository_path = normpath(str(PurePosixPath(origin).parent / target))
    here = book_path(repository_path)
    if here is None:
        return found["before"].removesuffix("](").lstrip("!").removeprefix("[")
    to = relpath(here, str(PurePosixPath(page).parent))
    return f"{found['before']}{to}{'#' + anchor if anchor else ''}{found['after']}"
