"""Declarations of ops: operands, attributes, the rule for result types, effects, traits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, TypeAlias, TypeVar

from ..base.dtypes import AnyDType, bool_
from .attrs import AtomicMode
from .types import PtrType, TensorType, TileType, Type, ViewType

# --- declarations of ops -----------------------------------------------------------------------


class Effect(Flag):
    """Effects of an op besides computing its results."""

    NONE = 0
    READ = auto()
    WRITE = auto()
    CHECK = auto()
    """May record a failed check; only a check that provably holds, or an equal one, may go."""
    PRINT = auto()
    STOP = auto()
    """A debugger stops here."""
    CONTROL = auto()
    """Transfers control: loops, branches, terminators."""
    SYNC = auto()
    """Threads synchronize here: all of them, or those of a warp. It is not moved or merged."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A declared operand: exactly one, optional (`?`), or any number (`*`)."""

    name: str
    arity: str = ""


class Trait(Flag):
    """What holds of an op for all operands and attributes; who asks need not know its name."""

    NONE = 0
    ELEMENTWISE = auto()
    """Each element of the result follows from those at the same place of the operands."""
    REARRANGES = auto()
    """The elements of the result are elements of the first operand."""
    COMMUTATIVE = auto()
    """The operands may be swapped; only the bits of a NaN may differ then."""
    ASSOCIATIVE = auto()
    """Terms may be grouped in any way, for which a reduction of floats allows other rounding."""
    LOOP = auto()
    """Runs its region again and again; carries values from one iteration to the next."""
    BRANCH = auto()
    """Runs one of its regions, or a part of one."""
    TERMINATOR = auto()
    """Ends a block."""
    ATOMIC = auto()
    """Reads and writes memory in one step, of which other threads see all or nothing."""
    WARP = auto()
    """Lanes of a warp exchange values."""
    MATH = auto()
    """An elementary function of floats: a call, or a long sequence of instructions."""
    REMATERIALIZABLE = auto()
    """Costs next to nothing by itself: it is computed again rather than kept."""
    OF_THREAD = auto()
    """Allowed in a SIMT kernel: it computes with the scalars of one thread."""
    NONNEGATIVE = auto()
    """No element of the result is below zero."""


CARRIES = Trait.LOOP | Trait.BRANCH
"""Ops whose results are what the terminators of their regions pass on."""

REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Attr:
    """A declared attribute; REQUIRED as default means it must be given."""

    name: str
    default: Any = REQUIRED


Rule: TypeAlias = Callable[[Sequence[Type], Mapping[str, Any]], tuple[Type, ...]]
"""From operand types and attributes to result types; raises TypeRuleError when they do not fit."""


Neutral: TypeAlias = Callable[[AnyDType], int | float]


class TypeRuleError(Exception):
    """Raised for operand types or attributes that an op does not accept."""


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """The declaration of an op, compared by identity. `doc` is one line saying what it computes.

    `cost` weighs one element of its result against an addition, for code generators. `neutral` is
    the number of a type that, as one operand, leaves the other as it is. `conditions` are condition
    numbers, one for each operand: a relative error of the operand is at most so many times as large
    in the result. Without them it may be of any size.
    """

    name: str
    dialect: str
    operands: tuple[Operand, ...]
    attrs: tuple[Attr, ...]
    rule: Rule
    doc: str
    effects: Effect = Effect.NONE
    regions: int = 0
    traits: Trait = Trait.NONE
    cost: int = 1
    neutral: Neutral | None = None
    conditions: tuple[float, ...] = ()

    def has(self, traits: Trait) -> bool:
        """Return whether the op has one of these traits."""
        return self.traits._value_ & traits._value_ != 0  # `&` of flags makes an object

    @property
    def terminator(self) -> bool:
        """Whether the op ends a block."""
        return self.has(Trait.TERMINATOR)

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
    traits: Trait = Trait.NONE,
    cost: int = 1,
    neutral: Neutral | None = None,
    conditions: tuple[float, ...] = (),
) -> OpDef:
    """Declare an op; `operands` is written as "view index* guard?"."""
    specs = tuple(
        Operand(word.rstrip("*?"), word[-1] if word[-1] in "*?" else "")
        for word in operands.split()
    )
    fields = tuple(Attr(key, default) for key, default in (attrs or {}).items())
    return OpDef(
        name, dialect, specs, fields, rule, doc, effects, regions, traits, cost, neutral, conditions
    )


# --- result rules shared by op declarations ----------------------------------------------------

Attrs = Mapping[str, Any]


def need(ok: bool, message: str, *about: object) -> None:
    """Reject with a message unless ok. What it is about takes the places of its `{}` only then:
    rules run for each op that is made, and types take longer to print than to compare."""
    if not ok:
        raise TypeRuleError(message.format(*about) if about else message)


def tile(t: Type) -> TileType:
    """Reject anything that is not a tile."""
    if not isinstance(t, TileType):
        raise TypeRuleError(f"expected a tile, got {t}")
    return t


def view(t: Type) -> ViewType:
    """Reject anything that is not a view."""
    if not isinstance(t, ViewType):
        raise TypeRuleError(f"expected a view, got {t}")
    return t


def tensor(t: Type) -> TensorType:
    """Reject anything that is not a tensor."""
    if not isinstance(t, TensorType):
        raise TypeRuleError(f"expected a tensor, got {t}")
    return t


def number(t: Type) -> TileType:
    """Reject anything that is not a tile of numbers."""
    result = tile(t)
    need(not result.is_pointer, "expected numbers, got {}", t)
    return result


def is_float(d: AnyDType) -> bool:
    """Return whether elements are floats with arithmetic."""
    return d.is_float and d.has_arithmetic


def is_int(d: AnyDType) -> bool:
    """Return whether elements are integers."""
    return d.is_int


def is_bits(d: AnyDType) -> bool:
    """Return whether elements are integers or booleans."""
    return d.is_int or d.is_bool


def same(accepts: Callable[[AnyDType], bool]) -> Rule:
    """Require operands of one accepted type; return it as the type of the result."""

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        first = number(types[0])
        need(accepts(first.dtype), "elements of {} are not accepted", first)
        if any(t != first for t in types):
            raise TypeRuleError(f"operands differ: {', '.join(map(str, types))}")
        return (first,)

    return rule


def compare(accepts: Callable[[AnyDType], bool]) -> Rule:
    """Require two operands of one type; return booleans of the same shape."""
    base = same(accepts)

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        return (tile(base(types, attrs)[0]).with_elem(bool_),)

    return rule


def convert(source: Callable[[AnyDType], bool], target: Callable[[AnyDType], bool]) -> Rule:
    """Require one operand; return its shape with element type `to`."""

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        arg, to = number(types[0]), attrs["to"]
        need(source(arg.dtype), "cannot convert from {}", arg)
        need(target(to), "cannot convert to {}", to)
        return (arg.with_elem(to),)

    return rule


def combines(mode: AtomicMode, d: AnyDType) -> None:
    """Reject elements that an atomic of this mode has no meaning for."""
    if mode in (AtomicMode.AND, AtomicMode.OR, AtomicMode.XOR):
        need(is_bits(d), "atomic {} takes integers and booleans, got {}", mode, d.name)
    elif mode != AtomicMode.XCHG:
        need(d.has_arithmetic, "atomic {} takes numbers with arithmetic, got {}", mode, d.name)


def none(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    """Return no results."""
    return ()


def scalar(t: Type, dtype: AnyDType) -> None:
    """Reject anything that is not a scalar of this dtype."""
    need(t == TileType(dtype), "expected a scalar {}, got {}", dtype.name, t)


def pointer(t: Type) -> PtrType:
    """Return the pointer type of a tile of pointers."""
    elem = tile(t).elem
    if not isinstance(elem, PtrType):
        raise TypeRuleError(f"expected pointers, got {t}")
    return elem


# -------------------------------------------------------------------------------------------------
# Tables of several families by name; a name belongs to one of them.


T = TypeVar("T")


def merged(families: Mapping[str, Mapping[str, T]]) -> dict[str, T]:
    """Return one table of all that families have; ValueError for a name that two of them have."""
    owners: dict[str, str] = {}
    whole: dict[str, T] = {}
    for family, table in families.items():
        for name, entry in table.items():
            if name in owners:
                raise ValueError(f"{name} is in the tables of {owners[name]} and of {family}")
            owners[name], whole[name] = family, entry
    return whole
