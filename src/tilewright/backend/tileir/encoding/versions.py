"""Versions of the bytecode, oldest first; each reads the files of those before it."""

from __future__ import annotations

from typing import TypeAlias

Version: TypeAlias = tuple[int, int]

V13_1, V13_2, V13_3, V13_4 = VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4))
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]


def version_text(version: Version) -> str:
    """A version as people write it: `13.3`."""
    return f"{version[0]}.{version[1]}"
