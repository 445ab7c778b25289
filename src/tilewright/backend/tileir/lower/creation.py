"""Tiles from nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..program.core import Val
from ..program.types import I32, tile_of
from .emitter import Emitter, Rule


def _constant(em: Emitter, op: Op) -> Sequence[Val]:
    return (em.number(op.attrs["value"], tile_of(op.result.type)),)


def _iota(em: Emitter, op: Op) -> Sequence[Val]:
    kind = tile_of(op.result.type)
    if kind.size <= 1 << kind.scalar.width:
        return (em.one("iota", kind),)
    # It wraps, which Tile IR's own does not.
    return (em.one("trunci", kind, em.one("iota", kind.of(I32))),)


RULES: dict[str, Rule] = {"constant": _constant, "iota": _iota}
