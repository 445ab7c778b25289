"""Expressions over values known at launch, in which launch checks state their conditions.

Forms (nested tuples): ("const", n), ("extent", param, axis), ("length", param), ("scalar", param),
("grid", axis), ("grid_dim", axis), which counts axes from x as SIMT kernels do,
("given", text, n), a number that all launches of one signature share,
("add" | "sub" | "mul" | "floordiv" | "mod" | "ceildiv" | "min" | "max", a, b),
("lt" | "le" | "gt" | "ge" | "eq" | "ne" | "and" | "or", a, b), ("not", a).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .attrs import Predicate, Rounding
from .semantics import divide, remainder

if TYPE_CHECKING:
    from ..base.source import Span

Expr = tuple[Any, ...]

BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "floordiv": ("//", partial(divide, rounding=Rounding.NEG_INF)),
    "mod": ("%", partial(remainder, rounding=Rounding.NEG_INF)),
    "ceildiv": ("ceil_div", partial(divide, rounding=Rounding.POS_INF)),
    "min": ("min", min),
    "max": ("max", max),
    "lt": ("<", Predicate.LT.apply),
    "le": ("<=", Predicate.LE.apply),
    "gt": (">", Predicate.GT.apply),
    "ge": (">=", Predicate.GE.apply),
    "eq": ("==", Predicate.EQ.apply),
    "ne": ("!=", Predicate.NE.apply),
    "and": ("and", lambda a, b: a and b),
    "or": ("or", lambda a, b: a or b),
}


COMPARISONS = tuple(predicate.value for predicate in Predicate)


@dataclass(frozen=True, slots=True)
class LaunchCheck:
    """A condition over launch-known values, evaluated on the host before each launch.

    It must hold `where` all these hold; one that stands for checks `of_blocks` need not hold for a
    launch that runs no block. `hint` says what to do where it does not hold.
    """

    expr: Expr
    message: str
    span: Span | None
    where: tuple[Expr, ...] = ()
    of_blocks: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """Values known at launch: extents by parameter, scalars by parameter, the logical grid."""

    extents: Mapping[str, tuple[int, ...]]
    scalars: Mapping[str, float]
    grid: tuple[int, ...]


def evaluate(expr: Expr, facts: LaunchFacts) -> Any:
    """Return the value of an expression for one launch."""
    name, args = expr[0], expr[1:]
    if name in BINARY:
        return BINARY[name][1](evaluate(args[0], facts), evaluate(args[1], facts))
    match name:
        case "const" | "given":
            return args[-1]
        case "extent":
            return facts.extents[args[0]][int(args[1])]
        case "length":
            return facts.extents[args[0]][0]
        case "scalar":
            return facts.scalars[args[0]]
        case "grid":
            return facts.grid[int(args[0])]
        case "grid_dim":
            return facts.grid[-1 - int(args[0])]
        case "not":
            return not evaluate(args[0], facts)
        case _:
            raise ValueError(f"not a launch expression: {expr!r}")


def show(expr: Expr) -> str:
    """Return the expression as Python-like text."""
    name, args = expr[0], expr[1:]
    match name:
        case "const" | "scalar" | "given":
            return str(args[0])
        case "extent":
            return f"{args[0]}.shape[{args[1]}]"
        case "length":
            return f"len({args[0]})"
        case "grid":
            return f"num_tile_blocks({args[0]})"
        case "grid_dim":
            return f"grid_dim({args[0]})"
        case "not":
            return f"not {_wrap(args[0])}"
        case _:
            return _show_binary(BINARY[name][0], *args)


def _show_binary(symbol: str, a: Expr, b: Expr) -> str:
    if symbol.isidentifier() and symbol not in ("and", "or"):
        return f"{symbol}({show(a)}, {show(b)})"
    return f"{_wrap(a)} {symbol} {_wrap(b)}"


def _wrap(expr: Expr) -> str:
    """Return an operand, parenthesized if it has an operator."""
    symbol = BINARY[expr[0]][0] if expr[0] in BINARY else ""
    infix = symbol in ("and", "or") or not symbol.isidentifier()
    return f"({show(expr)})" if symbol and infix else show(expr)


LEAVES = ("extent", "length", "scalar", "grid", "grid_dim", "given")


def parts(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression."""
    return () if expr[0] in ("const", *LEAVES) else expr[1:]


def conjuncts(expr: Expr) -> Iterator[Expr]:
    """Yield the conditions that a conjunction is made of; any other condition is the only one."""
    if expr[0] != "and":
        yield expr
        return
    for part in expr[1:]:
        yield from conjuncts(part)


def leaves(expr: Expr) -> list[Expr]:
    """Return the launch-known atoms an expression speaks of, each once, in order."""
    if expr[0] in LEAVES:
        return [expr]
    if expr[0] == "const":
        return []
    found: list[Expr] = []
    for part in expr[1:]:
        found += [leaf for leaf in leaves(part) if leaf not in found]
    return found
