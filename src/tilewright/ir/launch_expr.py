"""Expressions over values known at launch: how launch checks say what must hold.

Forms (nested tuples): ("const", n), ("extent", param, axis), ("scalar", param), ("grid", axis),
("add" | "sub" | "mul" | "floordiv" | "mod" | "ceildiv" | "min" | "max", a, b),
("lt" | "le" | "gt" | "ge" | "eq" | "ne" | "and" | "or", a, b), ("not", a).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Expr = tuple[Any, ...]

BINARY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "floordiv": ("//", lambda a, b: a // b if b else 0),
    "mod": ("%", lambda a, b: a % b if b else a),
    "ceildiv": ("ceil_div", lambda a, b: -(-a // b) if b else 0),
    "min": ("min", min),
    "max": ("max", max),
    "lt": ("<", operator.lt),
    "le": ("<=", operator.le),
    "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
    "eq": ("==", operator.eq),
    "ne": ("!=", operator.ne),
    "and": ("and", lambda a, b: a and b),
    "or": ("or", lambda a, b: a or b),
}


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What a launch knows: extents by parameter, scalars by parameter, the logical grid."""

    extents: Mapping[str, tuple[int, ...]]
    scalars: Mapping[str, float]
    grid: tuple[int, ...]


def evaluate(expr: Expr, facts: LaunchFacts) -> Any:
    """The value of an expression for one launch."""
    match expr:
        case ("const", value):
            return value
        case ("extent", param, axis):
            return facts.extents[param][axis]
        case ("scalar", param):
            return facts.scalars[param]
        case ("grid", axis):
            return facts.grid[axis]
        case ("not", a):
            return not evaluate(a, facts)
        case (name, a, b):
            return BINARY[name][1](evaluate(a, facts), evaluate(b, facts))
    raise ValueError(f"not a launch expression: {expr!r}")


def show(expr: Expr) -> str:
    """The expression as Python-like text."""
    match expr:
        case ("const", value):
            return str(value)
        case ("extent", param, axis):
            return f"{param}.shape[{axis}]"
        case ("scalar", param):
            return str(param)
        case ("grid", axis):
            return f"num_tile_blocks({axis})"
        case ("not", a):
            return f"not {show(a)}"
        case (name, a, b):
            symbol = BINARY[name][0]
            if symbol.isidentifier() and symbol not in ("and", "or"):
                return f"{symbol}({show(a)}, {show(b)})"
            return f"{_wrap(a)} {symbol} {_wrap(b)}"
    return repr(expr)


def _wrap(expr: Expr) -> str:
    return f"({show(expr)})" if len(expr) == 3 and expr[0] in BINARY else show(expr)


def leaves(expr: Expr) -> list[Expr]:
    """The launch-known atoms an expression speaks of, each once, in order."""
    if expr[0] in ("extent", "scalar", "grid"):
        return [expr]
    if expr[0] == "const":
        return []
    found: list[Expr] = []
    for part in expr[1:]:
        found += [leaf for leaf in leaves(part) if leaf not in found]
    return found
