"""What an entry of the disk cache was made from: named facts as JSON, whose hash is its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeGuard, cast

from ...base.stage import Fact, Facts

FORMAT = 1
"""Counts up when records are written differently, so that old names are never asked for again."""
SHOWN = 60
"""Most characters of a fact that a difference shows."""


@dataclass(frozen=True, slots=True)
class Record:
    """The facts as canonical text, and the name that follows from them: 64 hex digits."""

    text: bytes
    name: str

    @classmethod
    def of(cls, facts: Facts) -> Record:
        """The record of some facts; their order does not matter."""
        lines = [
            f"{json.dumps(key)}: {_lines(value)}"
            for key, value in sorted({"format": FORMAT, **facts}.items())
        ]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        encoded = text.encode("ascii")
        return cls(encoded, sha256(encoded).hexdigest())

    @property
    def digest(self) -> bytes:
        """The name as bytes."""
        return bytes.fromhex(self.name)


def _lines(value: Fact) -> str:
    """One line per item of a list, so that people can read it."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(item)}" for item in value) + "\n]"
    return json.dumps(value)


def is_name(text: str) -> bool:
    """Whether a text can be the name of an entry."""
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def facts_of(text: bytes) -> dict[str, object]:
    """The facts of a record's text; ValueError where it is none."""
    try:
        parsed: object = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(parsed, dict):
        raise ValueError("not a record")
    return cast("dict[str, object]", parsed)


def differences(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """Each fact in which two records differ, as `what: old -> new`."""
    found: list[str] = []
    for key in sorted(old.keys() | new.keys()):
        if (difference := _difference(old.get(key), new.get(key))) is not None:
            found.append(f"{key}{difference}")
    return found


def _difference(old: object, new: object) -> str | None:
    if old == new:
        return None
    if _is_list(old) and _is_list(new):
        return _of_lists(old, new)
    return f": {_short(old)} -> {_short(new)}"


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _of_lists(old: list[object], new: list[object]) -> str:
    for number, (a, b) in enumerate(zip(old, new, strict=False), 1):
        if a != b:
            return f" line {number}: {_short(a)} -> {_short(b)}"
    return f": {len(old)} -> {len(new)} lines"


def _short(value: object) -> str:
    text = str(value).strip()
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
