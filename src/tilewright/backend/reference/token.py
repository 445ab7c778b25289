"""Memory ops with tokens: program order already is what the tokens ask for."""

from __future__ import annotations

from ...ir.core import Op
from ...ir.ops.token import PLAIN
from . import atomics, memory, pointer
from .machine import Frame, Results, Rule, TokenData

_RULES_OF_PLAIN = memory.RULES | pointer.RULES | atomics.RULES


def _token(frame: Frame, op: Op) -> Results:
    return (TokenData(),)


def _ordered(plain: Rule) -> Rule:
    """The rule of a twin: what the plain op does, and a token."""

    def rule(frame: Frame, op: Op) -> Results:
        results = plain(frame, op)
        assert isinstance(results, tuple), "a memory op neither waits nor ends a region"
        return (*results, TokenData())

    return rule


RULES: dict[str, Rule] = {
    "make_token": _token,
    "join_tokens": _token,
    **{f"{op.name}_tko": _ordered(_RULES_OF_PLAIN[op.name]) for op in PLAIN},
}
