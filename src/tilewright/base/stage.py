"""A named stage of a backend. One runner times, verifies, dumps and caches all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from .source import Span

# -------------------------------------------------------------------------------------------------
# Texts of compilation stages, with the places in the source that each line comes from.


class Place(NamedTuple):
    """A line of a source file; the column counts from 1, and is 0 where it is not known."""

    file: str
    line: int
    column: int = 0


Places: TypeAlias = tuple[Place, ...]
"""Where something comes from: its own place, then the calls that inlined it, innermost first."""


def places_of(span: Span | None) -> Places:
    """Return the place of a span and those of the calls that led there."""
    return tuple(_chain(span))


def _chain(span: Span | None) -> Iterator[Place]:
    while span is not None:
        yield Place(span.file.name, span.line, span.column + 1)
        span = span.caller


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of text, and the places that each of them comes from."""

    lines: tuple[str, ...]
    places: tuple[Places, ...]

    @classmethod
    def plain(cls, text: str) -> Listing:
        """Return a text of which no places are known."""
        lines = tuple(text.splitlines())
        return cls(lines, ((),) * len(lines))

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(f"{line}\n" for line in self.lines)


class ListingWriter:
    """A listing that is written line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Places] = []

    def add(self, text: str, span: Span | None = None) -> None:
        """Append a line that comes from a span."""
        self.lines.append(text)
        self.places.append(places_of(span))

    @property
    def listing(self) -> Listing:
        """What has been written."""
        return Listing(tuple(self.lines), tuple(self.places))


def joined(parts: Sequence[Listing]) -> Listing:
    """Return listings one after the other."""
    lines = tuple(line for part in parts for line in part.lines)
    return Listing(lines, tuple(places for part in parts for places in part.places))


Fact: TypeAlias = str | int | list[str] | None
Facts: TypeAlias = Mapping[str, Fact]
"""The inputs of a result, by name; readable, so that a difference can be reported."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A result as it is cached on disk: code, and metadata as JSON."""

    metadata: Mapping[str, object]
    code: bytes


@dataclass(frozen=True, slots=True)
class ArtifactCodec:
    """The encoding of a stage's result, and of all later ones, for the disk cache."""

    facts: Callable[[Any], Facts | None]
    """From the stage's argument to everything that can change a byte of the result; None where
    that cannot be said."""
    save: Callable[[Any, Any], Saved]
    """From the stage's argument and the last result to what is kept of it."""
    restore: Callable[[Any, Saved], Any]
    """From the stage's argument and what was kept to the result; ValueError for what is wrong."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A function from the previous stage's result to its own; `show` formats it for dumps."""

    name: str
    run: Callable[[Any], Any]
    show: Callable[[Any], str | Listing]
    codec: ArtifactCodec | None = None
    """Where given, this stage and all after it are skipped when the result is found on disk."""
    also: Callable[[Any, Any], Mapping[str, Listing]] | None = None
    """From the argument and the result to more texts, by name: such as the assembly of an object
    file. They cost time, so they are made only for those who look at a compilation."""
