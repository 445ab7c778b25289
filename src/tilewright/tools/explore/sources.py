"""The functions that a kernel was made from, and references to their lines from other texts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...base.source import SourceFile, Span
from ...base.stage import Place, Places, places_of

PACKAGE = str(Path(__file__).parents[2])
"""Our own folder: functions of the library itself are shown, but no user has written them."""


class Sources:
    """Functions in the order in which they were met, and numbers for their lines."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[tuple[str, int], SourceFile] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        """From a function and a line of its file to a number."""
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        """The lines of the functions of each file."""
        self._chains: dict[tuple[str, int, int], Places] = {}
        """Of each place of the typed IR: the calls that led there. Other texts have no calls."""

    def add(self, file: SourceFile) -> int:
        """Return the number of a function."""
        key = file.name, file.first_line
        self._files.setdefault(key, file)
        return list(self._files).index(key)

    def learn(self, spans: Iterable[Span | None]) -> None:
        """Remember functions, and which calls led to which place."""
        for span in spans:
            chain = places_of(span)
            if chain:
                self._chains.setdefault(chain[0], chain)
            while span is not None:
                self.add(span.file)
                span = span.caller

    def references(self, places: Places) -> list[int]:
        """Return the numbers of lines: those of the place itself, and of the calls around it."""
        if len(places) == 1:
            places = self._chains.get(places[0]) or self._near(places[0])
        found = (self.reference(place.file, place.line) for place in places)
        return [number for number in dict.fromkeys(found) if number is not None]

    def _near(self, place: Place) -> Places:
        """Return the calls that led to a line, where the column is not known."""
        for known, chain in self._chains.items():
            if known[:2] == place[:2]:
                return chain
        return (place,)

    def reference(self, file: str, line: int) -> int | None:
        """Return the number of a line; None where no function has it."""
        for number, (key, source) in enumerate(self._files.items()):
            if key[0] == file and source.line(line) is not None:
                return self._numbers.setdefault((number, line), len(self._numbers))
        return None

    def of_span(self, span: Span | None) -> list[int]:
        """Return the references of a span."""
        return self.references(places_of(span))

    def name(self, file: str) -> str:
        """Return the name of a file for people: from the folder of the program on."""
        path = Path(file)
        for root in (self._root, Path(PACKAGE).parent):
            if path.is_relative_to(root):
                return str(path.relative_to(root))
        return path.name

    def shortened(self, text: str) -> str:
        """Return a text in which files have their short names."""
        for file, _ in self._files:
            text = text.replace(file, self.name(file))
        return text

    def data(self) -> dict[str, Any]:
        """Return the functions that are referred to, and where each reference leads."""
        functions: dict[tuple[int, int, int], int] = {}
        found: list[list[int]] = []
        for number, line in self._numbers:
            first, last = self._around(number, line)
            found.append([functions.setdefault((number, first, last), len(functions)), line])
        return {
            "functions": [self._function(*key) for key in functions],
            "references": found,
        }

    def _around(self, number: int, line: int) -> tuple[int, int]:
        """Return the first and the last line of the outermost function around a line."""
        source = list(self._files.values())[number]
        if number not in self._ranges:
            self._ranges[number] = list(_functions(source))
        found = (span for span in self._ranges[number] if span[0] <= line <= span[1])
        return next(found, (line, line))

    def _function(self, number: int, first: int, last: int) -> dict[str, Any]:
        (name, _), source = list(self._files.items())[number]
        lines = source.text.splitlines()[first - source.first_line : last - source.first_line + 1]
        library = name.startswith(PACKAGE)
        return {"file": self.name(name), "first": first, "lines": lines, "library": library}


def _functions(source: SourceFile) -> Iterator[tuple[int, int]]:
    """Yield the lines of each function of a file, outer ones first, with their decorators."""
    try:
        tree = ast.parse(source.text)
    except SyntaxError:  # part of a file, indented as it was there
        return
    before = source.first_line - 1
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            yield before + first, before + node.end_lineno
