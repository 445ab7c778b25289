"""A named step of a backend. One runner times, verifies, dumps and reports all of them alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Stage:
    """Turns the result of the stage before into its own; `show` makes it readable for dumps."""

    name: str
    run: Callable[[Any], Any]
    show: Callable[[Any], str]
