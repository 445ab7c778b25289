"""Tiles from nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ..opdef import declare
from ..types import TileType, Type
from .rules import Attrs, need


def _constant(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (TileType(attrs["dtype"], attrs["shape"]),)


def _iota(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(attrs["dtype"].is_int, "iota makes integers")
    return (TileType(attrs["dtype"], (attrs["size"],)),)


OPS = (
    declare("constant", "core", "", _constant,
            "A tile whose elements all are `value`, already exact in `dtype`.",
            attrs={"value": 0, "dtype": None, "shape": ()}),
    declare("iota", "tile", "", _iota, "0, 1, ..., size - 1, wrapping in `dtype`.",
            attrs={"size": 1, "dtype": None}),
)  # fmt: skip
