"""Memory order made explicit: ops that take and give tokens, made by insert_tokens only."""

from __future__ import annotations

from collections.abc import Sequence

from ..opdef import Effect, OpDef, Operand, declare
from ..types import TOKEN, Type
from . import atomics, memory, pointer
from .rules import Attrs, need


def _tokens(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(all(t == TOKEN for t in types), "expected tokens")
    return (TOKEN,)


def ordered(defn: OpDef) -> OpDef:
    """The twin of a memory op with a token operand at the end and a token result at the end."""

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        plain = tuple(t for t in types if t != TOKEN)
        need(len(types) - len(plain) <= 1, "at most one token")
        return (*defn.rule(plain, attrs), TOKEN)

    return OpDef(
        f"{defn.name}_tko", defn.dialect, (*defn.operands, Operand("token", "?")), defn.attrs,
        rule, f"{defn.doc} After `token`.", defn.effects,
    )  # fmt: skip


PLAIN = tuple(
    op
    for op in (*memory.OPS, *pointer.OPS, *atomics.OPS)
    if op.effects & (Effect.READ | Effect.WRITE)
)

OPS = (
    declare("make_token", "tile", "", _tokens, "A token that waits for nothing."),
    declare("join_tokens", "tile", "tokens*", _tokens, "A token that waits for all of these."),
    *(ordered(op) for op in PLAIN),
)
