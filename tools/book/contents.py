"""Keep the order of the pages: the table of contents of mkdocs.yml, and what follows from it.

    python tools/book/contents.py

adds pages that are missing to the table of contents, at the end of the section of their folder, and
writes the line `Next: ...` at the end of each page, and the table in docs/index.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from posixpath import relpath

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ITEM = re.compile(r"^(?P<indent> *)- (?:(?P<title>[^:]+): )?(?P<path>\S+\.md)$")
SECTION = re.compile(r"^(?P<indent> *)- (?P<title>[^:]+):$")
NEXT = re.compile(r"\n+Next: \[[^\n]*(?:\n[^\n]+)*\n*\Z")
BEGIN, END = "<!-- contents: written by tools/book/contents.py -->\n", "<!-- end of contents -->\n"


SECTIONS = {
    "guide": "Concepts", "tutorials": "Tutorials", "recipes": "Recipes", "reference": "Reference",
    "help": "Help",
}  # fmt: skip
"""Where new pages of a folder go; those of no folder are help."""


@dataclass(frozen=True)
class Entry:
    """A page in the table of contents, and the section that it belongs to."""

    section: str
    path: str

    @property
    def file(self) -> Path:
        """Where the page is, if it is one of docs/."""
        return DOCS / self.path

    @property
    def title(self) -> str:
        """The page's first heading."""
        return self.file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def entries() -> list[Entry]:
    """Return all pages of the table of contents, in its order."""
    _, _, nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    found: list[Entry] = []
    section = ""
    for line in nav.splitlines():
        if named := SECTION.match(line):
            section = named["title"]
        elif item := ITEM.match(line):
            found.append(Entry(item["title"] or section, item["path"]))
    return found


def pages() -> list[Entry]:
    """Return the pages that are files of docs/: the others are made when the book is built."""
    return [entry for entry in entries() if entry.file.exists()]


def with_next(text: str, entry: Entry, after: Entry | None) -> str:
    """Return a page that ends with a link to the next one."""
    body = NEXT.sub("", text).rstrip() + "\n"
    if after is None:
        return body
    to = relpath(after.path, str(Path(entry.path).parent))
    return f"{body}\nNext: [{after.title}]({to}).\n"


def rewritten() -> dict[Path, str]:
    """Return what each page should be."""
    ordered = pages()
    texts = {
        entry.file: with_next(entry.file.read_text(encoding="utf-8"), entry, after)
        for entry, after in zip(ordered, [*ordered[1:], None], strict=True)
    }
    index = DOCS / "index.md"
    texts[index] = with_table(texts[index])
    return texts


def with_table(text: str) -> str:
    """Return the index with its table of all pages."""
    sections: dict[str, list[str]] = {}
    for entry in pages()[1:]:
        sections.setdefault(entry.section, []).append(f"[{entry.title}]({entry.path})")
    rows = [f"| {section} | {', '.join(links)} |" for section, links in sections.items()]
    table = "\n".join(["| | |", "|---|---|", *rows]) + "\n"
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def with_missing(settings: str, paths: list[str]) -> str:
    """Return the text of mkdocs.yml with pages that its table of contents lacks."""
    listed = {found["path"] for found in map(ITEM.match, settings.splitlines()) if found}
    for path in sorted(set(paths) - listed):
        section = SECTIONS.get(path.partition("/")[0], "Help")
        begin = settings.index(f"\n  - {section}:\n") + 1
        end = settings.find("\n  - ", begin)
        settings = f"{settings[:end]}\n      - {path}{settings[end:]}"
    return settings


def main() -> None:
    """Write the table of contents, and all pages."""
    settings = ROOT / "mkdocs.yml"
    paths = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
    text = settings.read_text(encoding="utf-8")
    settings.write_text(with_missing(text, paths), encoding="utf-8")
    for path, text in rewritten().items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
