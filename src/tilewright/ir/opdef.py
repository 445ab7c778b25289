"""Declarations of ops: operands, attributes, the rule for result types, effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, TypeAlias

from .types import Type


class Effect(Flag):
    """Effects of an op besides computing its results."""

    NONE = 0
    READ = auto()
    WRITE = auto()
    CHECK = auto()
    """May record a failed check; only a check that provably holds, or an equal one, may go."""
    PRINT = auto()
    CONTROL = auto()
    """Transfers control: loops, branches, terminators."""
    SYNC = auto()
    """Threads synchronize here: all of them, or those of a warp. It is not moved or merged."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A declared operand: exactly one, optional (`?`), or any number (`*`)."""

    name: str
    arity: str = ""


REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Attr:
    """A declared attribute; REQUIRED as default means it must be given."""

    name: str
    default: Any = REQUIRED


Rule: TypeAlias = Callable[[Sequence[Type], Mapping[str, Any]], tuple[Type, ...]]
"""From operand types and attributes to result types; raises TypeRuleError when they do not fit."""


class TypeRuleError(Exception):
    """Operand types or attributes that an op does not accept."""


@dataclass(frozen=True, slots=True)
class OpDef:
    """The declaration of an op. `doc` is one line saying what it computes."""

    name: str
    dialect: str
    operands: tuple[Operand, ...]
    attrs: tuple[Attr, ...]
    rule: Rule
    doc: str
    effects: Effect = Effect.NONE
    regions: int = 0
    terminator: bool = False

    @property
    def pure(self) -> bool:
        """Whether the op may be removed, merged and moved freely."""
        return self.effects is Effect.NONE


def declare(
    name: str,
    dialect: str,
    operands: str,
    rule: Rule,
    doc: str,
    *,
    attrs: Mapping[str, Any] | None = None,
    effects: Effect = Effect.NONE,
    regions: int = 0,
    terminator: bool = False,
) -> OpDef:
    """Declare an op; `operands` is written as "view index* guard?"."""
    specs = tuple(
        Operand(word.rstrip("*?"), word[-1] if word[-1] in "*?" else "")
        for word in operands.split()
    )
    fields = tuple(Attr(key, default) for key, default in (attrs or {}).items())
    return OpDef(name, dialect, specs, fields, rule, doc, effects, regions, terminator)
