"""Merge tables of several families by name; a name belongs to one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def merged(families: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Return one table of all that families have; ValueError for a name that two of them have."""
    owners: dict[str, str] = {}
    whole: dict[str, T] = {}
    for family, table in families.items():
        for name, entry in table.items():
            if name in owners:
                raise ValueError(f"{name} is in the tables of {owners[name]} and of {family}")
            owners[name], whole[name] = family, entry
    return whole
