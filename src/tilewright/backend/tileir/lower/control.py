"""Structured control flow, as desugared: the only exits left are those that Tile IR has."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..program.core import Val
from .arithmetic import is_signed
from .emitter import Emitter, Rule, kind_of_value, tile

GREATER = 4


def _for(em: Emitter, op: Op) -> Sequence[Val]:
    lower, upper, step = (em.get(op.one(name)) for name in ("lower", "upper", "step"))
    signed = is_signed(op.one("lower"))
    if em.ranges.of(op.one("step")).low <= 0:
        # A step that is not positive means no rounds, and must not mean endless ones.
        kind = tile(step)
        positive = em.compare(GREATER, step, em.number(0, kind), signed=signed)
        upper = em.one("select", kind, positive, upper, lower)
        step = em.one("select", kind, positive, step, em.number(1, kind))
    inits = [em.get(v) for v in op.all("init")]
    kinds = [v.kind for v in inits]
    body = em.region(op.regions[0])
    return em.op("for", kinds, lower, upper, step, inits, regions=(body,), unsigned_cmp=not signed)


def _loop(em: Emitter, op: Op) -> Sequence[Val]:
    inits = em.all(op)
    kinds = [kind_of_value(v) for v in op.results]
    return em.op("loop", kinds, inits, regions=(em.region(op.regions[0]),))


def _if(em: Emitter, op: Op) -> Sequence[Val]:
    condition = em.get(op.one("cond"))
    kinds = [kind_of_value(v) for v in op.results]
    then, otherwise = (em.region(region) for region in op.regions)
    empty = len(otherwise.code) == 1 and not kinds and otherwise.code[0].op.name == "yield"
    return em.op("if", kinds, condition, regions=(then, None if empty else otherwise))


def _jump(em: Emitter, op: Op) -> Sequence[Val]:
    return em.op(op.name, (), em.all(op))


def _return(em: Emitter, op: Op) -> Sequence[Val]:
    return ()  # the last op of the function: `entry` ends it


def _desugared(em: Emitter, op: Op) -> Sequence[Val]:
    raise AssertionError(f"{op.name} is left: desugar comes before this backend")


RULES: dict[str, Rule] = {
    "for": _for, "loop": _loop, "if": _if, "return": _return,
    **dict.fromkeys(("yield", "continue", "break"), _jump),
    **dict.fromkeys(("scope", "leave"), _desugared),
}  # fmt: skip
