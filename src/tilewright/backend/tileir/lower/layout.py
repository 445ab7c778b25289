"""Creation of tiles, and rearrangement of their elements."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op, Value
from ..bytecode.program import Val
from ..bytecode.types import I32, INDEX, tile_of
from .emitter import Rule, TileEmitter

# -------------------------------------------------------------------------------------------------
# Creation: constants, ranges, broadcasts.


def _constant(em: TileEmitter, op: Op) -> Sequence[Val]:
    return (em.number(op.attrs["value"], tile_of(op.result.type)),)


def _iota(em: TileEmitter, op: Op) -> Sequence[Val]:
    kind = tile_of(op.result.type)
    if kind.size <= 1 << kind.scalar.width:
        return (em.one("iota", kind),)
    # It wraps, which Tile IR's own does not.
    return (em.one("trunci", kind, em.one("iota", kind.of(I32))),)


# -------------------------------------------------------------------------------------------------
# Rearrangement: one to one, except ops without effect, which Tile IR does not accept.


def _rearranged(name: str) -> Rule:
    def rule(em: TileEmitter, op: Op) -> Sequence[Val]:
        (arg,) = em.all(op)
        kind = tile_of(op.result.type)
        return (arg if kind == arg.kind else em.one(name, kind, arg),)

    return rule


def _permute(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    order: tuple[int, ...] = op.attrs["order"]
    if order == tuple(range(len(order))):
        return (arg,)
    return (em.one("permute", tile_of(op.result.type), arg, permutation=order),)


def _cat(em: TileEmitter, op: Op) -> Sequence[Val]:
    return (em.one("cat", tile_of(op.result.type), *em.all(op), dim=op.attrs["axis"]),)


def _extract(em: TileEmitter, op: Op) -> Sequence[Val]:
    source = op.one("arg")
    counts = [n // m for n, m in zip(source.tile.shape, op.attrs["shape"], strict=True)]
    pairs = zip(op.all("index"), counts, strict=True)
    index = [_wrapped(em, value, count) for value, count in pairs]
    return (em.one("extract", tile_of(op.result.type), em.get(source), index),)


def _wrapped(em: TileEmitter, index: Value, count: int) -> Val:
    """Return an index modulo the number of parts, which is a power of two."""
    found = em.ranges.of(index)
    if found.low >= 0 and found.high < count:
        return em.get(index)
    return em.one("andi", INDEX, em.get(index), em.index(count - 1))


RULES: dict[str, Rule] = {
    "constant": _constant,
    "iota": _iota,
    "reshape": _rearranged("reshape"),
    "broadcast": _rearranged("broadcast"),
    "permute": _permute,
    "cat": _cat,
    "extract": _extract,
}
