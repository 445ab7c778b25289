"""Tokens; the accesses that take and give them stand with their plain twins."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ..program.core import Val
from ..program.types import TOKEN
from . import atomics, memory, pointer
from .emitter import Emitter, Rule


def _make_token(em: Emitter, op: Op) -> Sequence[Val]:
    return (em.one("make_token", TOKEN),)


def _join_tokens(em: Emitter, op: Op) -> Sequence[Val]:
    tokens = em.all(op)
    return tokens if len(tokens) == 1 else (em.one("join_tokens", TOKEN, tokens),)


RULES: dict[str, Rule] = {
    "make_token": _make_token, "join_tokens": _join_tokens,
    **memory.ORDERED, **pointer.ORDERED, **atomics.ORDERED,
}  # fmt: skip
