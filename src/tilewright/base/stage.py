"""A named stage of a backend. One runner times, verifies, dumps and caches all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .listing import Listing

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
