"""The regions of reduce and scan: made from one op, or from a function of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.dtypes import AnyDType
from ..base.errors import Code
from ..ir.core import Block, Value
from ..ir.types import TileType
from .describe import describe
from .emit import Emitter
from .operands import parts


class Body:
    """A combiner's region: its block arguments are (element, accumulator) pairs of scalars."""

    def __init__(self, dtypes: Sequence[AnyDType]) -> None:
        types = [TileType(d) for d in dtypes]
        self.elements = tuple(Value(t) for t in types)
        self.accumulators = tuple(Value(t) for t in types)
        pairs = zip(self.elements, self.accumulators, strict=True)
        self.block = Block(tuple(v for pair in pairs for v in pair))


def op_body(em: Emitter, name: str, dtype: AnyDType) -> Block:
    """A region that combines with one binary op."""
    body = Body((dtype,))
    with em.at(body.block):
        em.op("yield", [em.emit(name, body.accumulators[0], body.elements[0])])
    return body.block


def user_body(em: Emitter, combiner: Any, dtypes: Sequence[AnyDType], what: str) -> Block:
    """A region that runs a function of the user's: accumulated parts first, then the next ones."""
    body = Body(dtypes)
    span = em.span
    with em.at(body.block):
        result = em.inline(combiner, [*body.accumulators, *body.elements])
        em.span = span
        em.op("yield", _results(em, result, dtypes, what))
    _only_computes(em, body.block, what)
    return body.block


def _results(em: Emitter, result: Any, dtypes: Sequence[AnyDType], what: str) -> list[Value]:
    given = parts(result)
    wanted = ", ".join(f"a scalar {d.name}" for d in dtypes)
    if len(given) != len(dtypes):
        em.fail(
            Code.TYPE,
            f"the combiner of `{what}` must return {len(dtypes)} values",
            expected=wanted,
            got=describe(result),
        )
    values = [em.tile(part, dtype) for part, dtype in zip(given, dtypes, strict=True)]
    for value, dtype in zip(values, dtypes, strict=True):
        if value.type != TileType(dtype):
            em.fail(
                Code.TYPE,
                f"the combiner of `{what}` must return the types that it takes",
                expected=wanted,
                got=describe(value),
                hint=f"convert the result: x.astype(tilewright.{dtype.__name__})",
            )
    return values


def _only_computes(em: Emitter, block: Block, what: str) -> None:
    for op in block.walk():
        if not op.defn.pure and op.name != "yield":
            em.fail(
                Code.CALL,
                f"the combiner of `{what}` may only compute, but this one contains `{op.name}`",
                hint="use tl.where instead of if; load, store, print and check outside",
                span=op.span,
            )
