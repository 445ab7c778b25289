"""Build the book: what MkDocs calls for its files and for each page.

Pages of docs/ are plain Markdown that other viewers show too. Here they get what only the book has:
pictures that follow its colours, sections for each function, pages for files of the repository, and
fences and links that Markdown for Python understands.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from mkdocs.structure.files import File, Files

import reference
from book import contents, functions, gallery, measured, pictures
from book.drawing import DARK, LIGHT, RULES, variables
from book.locate import PROJECT, relinked

ROOT = Path(__file__).parents[2]
ORIGIN: dict[str, str] = {}
"""The file of the repository that a page is from, where it is not in docs/."""

FENCE = re.compile(r"^(?P<ticks>```+)(?P<words>[^\n`]*)$", re.MULTILINE)
PICTURE = re.compile(
    r"^!\[(?P<words>[^\]]*)\]\((?:[./\w]*/)?pictures/(?P<name>\w+)\.svg\)$", re.MULTILINE
)
LIST_BEGINS = re.compile(r"^(?P<before>(?![-*\d>|#`\s]).*\S)\n(?=(?:[-*] |1\. ))", re.MULTILINE)
ROW = re.compile(r"^\| `(?P<call>(?P<name>\w+)\([^`]*)` \|", re.MULTILINE)
"""A row of a table of functions, which are described below."""
LONG = re.compile(r"<code>(?=[^<]{56})")
"""Code that may be broken in a table."""
SHARED_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_pre_build(config: Any) -> None:
    """Draw the pictures again, so that they are those of the sources."""
    pictures.write()


def on_files(files: Files, config: Any) -> Files:
    """Add pages and files that are not in docs/."""
    _add(files, config, "assets/pictures.css", _style())
    for origin, page in PROJECT.items():
        path = ROOT / origin
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            text = f"# License\n\n```text\n{text}\n```\n" if origin == "LICENSE" else text
            _add(files, config, page, text, origin)
    for name in sorted(gallery.names()):
        _add(files, config, f"examples/{name}.md", gallery.source_page(name), f"examples/{name}.py")
    _add(
        files, config, "benchmarks/README.md", _read("benchmarks/README.md"), "benchmarks/README.md"
    )
    _add(files, config, "benchmarks/plots.md", measured.page(), "benchmarks/results/plots.md")
    for path in sorted((ROOT / "benchmarks" / "results").glob("*")):
        to = f"benchmarks/results/{path.name}"
        if path.suffix == ".md":
            _add(files, config, to, path.read_text(encoding="utf-8"), to)
        elif path.suffix == ".png":
            files.append(File.generated(config, to, content=path.read_bytes()))
    return files


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _add(files: Files, config: Any, page: str, text: str, origin: str = "") -> None:
    ORIGIN[page] = origin
    files.append(File.generated(config, page, content=text))


def _style() -> str:
    return (
        f":root{{{variables(LIGHT)}}}\n"
        f'[data-md-color-scheme="slate"]{{{variables(DARK)}}}\n{RULES}\n'
    )


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn the text of a page into what the book shows."""
    uri: str = page.file.src_uri
    topic = Path(uri).stem
    markdown = contents.NEXT.sub("\n", markdown)  # every page of the book leads to the next one
    listed = uri.startswith("reference/") and reference.END in markdown
    if listed and topic in reference.PAGES:
        before, table = markdown.split(reference.BEGIN)
        table, after = table.split(reference.END)
        linked = ROW.sub(r"| [`\g<call>`](#\g<name>) |", table)
        markdown = f"{before}{linked}{after}\n## Each function\n\n{functions.details(topic)}\n"
    if uri == functions.HOST_PAGE:
        markdown += f"\n## Each function\n\n{functions.host_details()}\n"
    elif uri == functions.OPS_PAGE:
        markdown += f"\n## Each operation\n\n{functions.ops_details()}\n"
    markdown = measured.with_plots(markdown, uri)
    markdown = relinked(markdown, ORIGIN.get(uri) or f"docs/{uri}", uri)
    pieces = SHARED_CODE.split(markdown)
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = FENCE.sub(_fence, piece, count=1)
        else:
            spaced = LIST_BEGINS.sub(lambda found: f"{found['before']}\n\n", piece)
            pieces[i] = PICTURE.sub(_picture, spaced)
    return "".join(pieces)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Mark what may be broken into lines."""
    return LONG.sub('<code class="long">', html)


def _fence(found: re.Match[str]) -> str:
    words = found["words"].split()
    if words[:1] == ["output"]:
        return f"{found['ticks']} {{.text .output}}"
    return found["ticks"] + (words[0] if words else "text")


def _picture(found: re.Match[str]) -> str:
    drawn = pictures.PICTURES[found["name"]]().inline()
    flat = drawn.replace("\n", "")
    return f'<figure class="picture" data-search-exclude>{flat}</figure>'
