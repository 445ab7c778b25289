"""Reductions and scans: their bodies are regions here too."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..program.core import Identity, Val
from ..program.types import tile_of
from .bits import number_bits
from .emitter import Emitter, Rule


def _identities(op: Op) -> tuple[Identity, ...]:
    kinds = [tile_of(v.type).scalar for v in op.all("inputs")]
    pairs = zip(kinds, op.attrs["identities"], strict=True)
    return tuple(Identity(kind, number_bits(value, kind)) for kind, value in pairs)


def _reduce(em: Emitter, op: Op) -> Sequence[Val]:
    kinds = [tile_of(v.type) for v in op.results]
    body = em.region(op.regions[0])
    return em.op(
        "reduce", kinds, em.all(op), regions=(body,),
        dim=op.attrs["axis"], identities=_identities(op),
    )  # fmt: skip


def _scan(em: Emitter, op: Op) -> Sequence[Val]:
    kinds = [tile_of(v.type) for v in op.results]
    body = em.region(op.regions[0])
    return em.op(
        "scan", kinds, em.all(op), regions=(body,),
        dim=op.attrs["axis"], reverse=op.attrs["reverse"], identities=_identities(op),
    )  # fmt: skip


RULES: dict[str, Rule] = {"reduce": _reduce, "scan": _scan}
