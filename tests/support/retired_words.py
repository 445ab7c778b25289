"""Phrases that the project's prose no longer uses, and the field's term for each.

`docs/glossary.md` shows this list under "Retired words". A pattern is precise: it names a phrase in
the sense that was retired, so that ordinary English does not match.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from source_tree import nodes_of, tree_of


@dataclass(frozen=True)
class Retired:
    """A retired phrase as the glossary shows it, its replacement, and the patterns that find it."""

    phrase: str
    instead: str
    patterns: tuple[str, ...]
    summaries_only: bool = False
    """Whether the patterns are searched in the first line of docstrings alone."""

    def found_in(self, text: str) -> list[str]:
        """Return every match in a text, on one line each."""
        return [" ".join(match[0].split()) for match in self._expression.finditer(text)]

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        """Match whole words; a space in a pattern matches any whitespace: prose is wrapped."""
        either = "|".join(self.patterns).replace(" ", r"\s+")
        start = r"\A" if self.summaries_only else r"\b"
        return re.compile(rf"{start}(?:{either})\b", re.IGNORECASE)


_LIBRARY = "(?:the CPU|CUDA(?!:)|JAX|PyTorch|torch|Triton|Numba|CuPy|NumPy)"
_OBJECT = "(?:streams?|launch(?:es)?|graphs?|events?|kernels?|operators?|arrays?|tensors?)"
_SOME = r"(?:first|last|next|many|most|few|several|which|\d+)"
_A_STREAM = "(?:a|its|the|their|our|that|any|XLA's) (?:own )?streams?"
_NO_NOUN = "(?:and|or|in|for|with|to|at|on|that|which|where|after|before|as|is|are)"
_SOMEWHERE = "(?:where|there|here|beside|behind|before|under|at|on|in(?! for\\b))"

RETIRED = (
    Retired("look closer", "take the slow path", ("look(?:s|ed|ing)? closer", "closer look")),
    Retired("is there twice", "is multi-versioned", ("(?:is|are|be) there twice",)),
    Retired("made again", "rematerialized; rebuilt", ("ma(?:de|ke|kes|king) again",)),
    Retired(
        "of its own",
        "its own X; a separate X; a custom X",
        (f"of (?:its|their|one's) own(?= {_NO_NOUN}|[^\\w ]|$)",),
    ),
    Retired("of others", "foreign", ("of others", "others' (?:kernels|code)")),
    Retired(
        "from round to round, one round",
        "iteration",
        (
            "from round to round",
            "(?:per|each|every|one) round",
            f"{_SOME} rounds",
            "rounds? of (?:a|the|its|their) loops?",
            "counts its rounds",
        ),
    ),
    Retired("threads part", "threads diverge", ("(?:threads|they) (?:may )?part",)),
    Retired("threads meet", "threads synchronize; threads race", ("threads (?:that )?meet",)),
    Retired("asked once", "guarded once; one bounds test", ("asked once", "one question")),
    Retired("whole tile, wholly inside", "full tile; in bounds", ("whole tiles?", "wholly inside")),
    Retired("past the caches", "non-temporal store", ("past the caches?",)),
    Retired("fetch ahead", "prefetch", ("fetch(?:ed|es|ing)? ahead",)),
    Retired("turned grid", "reversed grid axes", ("turned grids?",)),
    Retired("twin", "unchecked variant", ("twins?",)),
    Retired("rung, ladder", "stage (of a bounds check)", ("rungs?", "ladder")),
    Retired("minted", "owned index", ("minted",)),
    Retired("kept on disk", "cached on disk", ("kept on disk",)),
    Retired("from phase to phase", "live across barriers", ("from phase to phase",)),
    Retired("put work on a stream", "enqueue", (rf"put(?:s|ting)?(?: \w+){{0,3}} on {_A_STREAM}",)),
    Retired("told, tells of", "reported; known", ("told", "tells? of")),
    Retired(
        "in words, without a word, in silence",
        "with an error; silently",
        ("in words", "without a word", "in silence"),
    ),
    Retired(
        "these words are, words of NumPy",
        "functions; names; ops",
        ("these words are", "this word is", "table of words", f"words of {_LIBRARY}"),
    ),
    Retired("in turns with", "interleaved with", ("in turns",)),
    Retired("surely", "must; always", ("surely",)),
    Retired(
        "nobody, everybody, whoever",
        "no other reference; each user; the caller",
        ("nobody", "everybody", "whoever"),
    ),
    Retired("means nothing here", "unsupported", ("means nothing here",)),
    Retired("do not settle", "do not converge", ("do(?:es)? not settle",)),
    Retired("wish", "hint; request", ("wish(?:es)?",)),
    Retired("stands in, stands where", "is; is located", (f"stands? {_SOMEWHERE}",)),
    Retired(
        "kernels of CUDA, arrays of NumPy",
        "CUDA kernels, NumPy arrays",
        (f"{_OBJECT} of {_LIBRARY}",),
    ),
    Retired("Give X (docstring)", "Return X", ("gives?",), summaries_only=True),
    Retired("Tell X (docstring)", "Return X", ("tells?",), summaries_only=True),
)


def table() -> str:
    """Return the rows of the glossary's list of retired words."""
    rows = [f"| {word.phrase} | {word.instead} |" for word in RETIRED]
    return "\n".join(["| retired | instead |", "|---|---|", *rows]) + "\n"


@dataclass(frozen=True)
class Prose:
    """One piece of prose and where it is: a paragraph of a page, a docstring, a message."""

    where: str
    text: str
    is_summary: bool = False


def faults(pieces: Iterable[Prose]) -> list[str]:
    """Return one line for each retired phrase in the pieces: where, which, and what to write."""
    return [
        f"{piece.where}: {match!r}; write: {word.instead}"
        for piece in pieces
        for word in RETIRED
        if piece.is_summary or not word.summaries_only
        for match in word.found_in(piece.text)
    ]


def prose_of_page(text: str, where: str) -> Iterator[Prose]:
    """Split a Markdown page into paragraphs, without code and without the list of retired words."""
    text = text.replace(table(), "")
    text = re.sub(r"^```.*?^```$", _blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)", _blank, text)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip():
            yield Prose(f"{where}:{line}", paragraph)
        line += paragraph.count("\n")


def _blank(code: re.Match[str]) -> str:
    """Keep the lines of code, so that line numbers hold, and one word in its place."""
    return "X" + "\n" * code[0].count("\n")


def public_docstrings(path: Path, where: str) -> Iterator[Prose]:
    """Read the docstrings of a module and of its public functions, classes and methods."""
    tree = tree_of(path)
    yield Prose(f"{where}:1", ast.get_docstring(tree) or "")
    for owner, node in _documented(tree):
        summary, _, rest = (ast.get_docstring(owner) or "").partition("\n")
        yield Prose(f"{where}:{node.lineno}", summary, is_summary=True)
        yield Prose(f"{where}:{node.lineno}", rest)


def prose_of_source(path: Path, where: str) -> Iterator[Prose]:
    """Read every docstring and every comment of a module, those of private names included."""
    text = path.read_text(encoding="utf-8")
    for node in _docstring_nodes(path):
        summary, _, rest = str(node.value).strip().partition("\n")
        yield Prose(f"{where}:{node.lineno}", summary, is_summary=True)
        yield Prose(f"{where}:{node.lineno}", rest)
    for line, block in _comments(text):
        yield Prose(f"{where}:{line}", block)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield each run of adjacent comment lines with its first line number."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    starts = [line for line in lines if line - 1 not in lines]
    for start in starts:
        run = itertools.takewhile(lines.__contains__, itertools.count(start))
        yield start, "\n".join(lines[line].lstrip("# ") for line in run)


def messages(path: Path, where: str) -> Iterator[Prose]:
    """Read the strings of more than one word that are no docstrings: errors, hints, reports."""
    docstrings = set(_docstring_nodes(path))
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and node not in docstrings:
            text = node.value if isinstance(node.value, str) else ""
            if len(text.split()) > 1:
                yield Prose(f"{where}:{node.lineno}", re.sub(r"`[^`]*`", "X", text))


def _docstring_nodes(path: Path) -> Iterator[ast.Constant]:
    """Find every string that is a statement: docstrings, and those behind attributes."""
    for node in nodes_of(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _documented(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, ast.Expr]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            first = node.body[0]
            if isinstance(first, ast.Expr) and ast.get_docstring(node):
                yield node, first
            if isinstance(node, ast.ClassDef):
                yield from _documented(node)
