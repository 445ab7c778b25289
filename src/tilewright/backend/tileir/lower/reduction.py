"""Reductions and scans: their bodies are regions in Tile IR too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....analysis.structure import identities_of
from ....ir.core import Op
from ....ir.ops.reduction import SCAN
from ..bytecode.program import Identity, InstructionRegion, Val
from ..bytecode.types import tile_of
from .conversion import note_reduction
from .emitter import Rule, TileEmitter, number_bits


def _identities(op: Op) -> tuple[Identity, ...]:
    kinds = [tile_of(v.type).scalar for v in op.all("inputs")]
    pairs = zip(kinds, identities_of(op), strict=True)
    return tuple(Identity(kind, number_bits(value, kind)) for kind, value in pairs)


COMMUTATIVE = frozenset(("addf", "mulf", "maxf", "minf", "addi", "muli", "maxi", "mini"))


def _body(em: TileEmitter, op: Op) -> InstructionRegion:
    """Return the body of a reduction or scan, in the form the assembler looks for.

    It knows a sum or an extreme by the order of its operands; of another one it makes slower code,
    and does not overlap the products around it.
    """
    body = em.region(op.regions[0])
    if op.is_a(SCAN):
        # The assembler passes the sum of the elements before, then the element.
        pairs = zip(body.args[1::2], body.args[::2], strict=True)
        body = InstructionRegion(tuple(arg for pair in pairs for arg in pair), body.code)
    first = body.code[0]
    if len(body.code) == 2 and first.op.name in COMMUTATIVE and first.operands == body.args[::-1]:
        body.code[0] = replace(first, operands=body.args)
    return body


def _reduce(em: TileEmitter, op: Op) -> Sequence[Val]:
    kinds = [tile_of(v.type) for v in op.results]
    body = _body(em, op)
    results = em.op(
        "reduce", kinds, em.all(op), regions=(body,),
        dim=op.attrs["axis"], identities=_identities(op),
    )  # fmt: skip
    note_reduction(em, op, results)
    return results


def _scan(em: TileEmitter, op: Op) -> Sequence[Val]:
    kinds = [tile_of(v.type) for v in op.results]
    body = _body(em, op)
    return em.op(
        "scan", kinds, em.all(op), regions=(body,),
        dim=op.attrs["axis"], reverse=op.attrs["reverse"], identities=_identities(op),
    )  # fmt: skip


RULES: dict[str, Rule] = {"reduce": _reduce, "scan": _scan}
