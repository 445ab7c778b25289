"""Functions of floats: one to one."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..program.core import Val
from .arithmetic import ROUNDINGS, plain, rounded
from .emitter import Emitter, Rule


def _how(em: Emitter, op: Op) -> Sequence[Val]:
    """A function with a choice between two roundings."""
    return (em.same(op.name, *em.all(op), rounding_mode=ROUNDINGS[op.attrs["rounding"]]),)


def _flushing(em: Emitter, op: Op) -> Sequence[Val]:
    return (em.same(op.name, *em.all(op), flush_to_zero=op.attrs["ftz"]),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("ceil", "floor", "sin", "cos", "tan", "sinh", "cosh", "log", "log2", "pow", "atan2"), plain
    ),
    **dict.fromkeys(("exp", "tanh"), _how),
    **dict.fromkeys(("exp2", "rsqrt"), _flushing),
    "sqrt": rounded,
}
