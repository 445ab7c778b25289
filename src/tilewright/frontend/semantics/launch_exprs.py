"""Translate a scalar of the kernel to a launch expression, if the host can compute it.

A condition that has one becomes a launch check instead of code in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...base.errors import Code
from ...ir.attrs import Predicate, Rounding, ThreadCoordinate
from ...ir.core import Op, Value
from ...ir.launch_expr import Expr, LaunchCheck, LaunchFacts, conjuncts, evaluate, leaves, show
from .builder import SemanticBuilder

NOTHING = LaunchFacts({}, {}, ())

MAX_STEPS = 200
"""Expressions are trees: a value used twice at each of many steps must not grow without end."""


def expression(em: SemanticBuilder, value: Value) -> Expr | None:
    """Return the launch expression of an integer or bool scalar; None if a block decides it."""
    found = _LaunchExprWalk(em)(value)
    return found if found is None or leaves(found) else ("const", evaluate(found, NOTHING))


class _LaunchExprWalk:
    """A backward walk from a value to launch values."""

    def __init__(self, em: SemanticBuilder) -> None:
        self.em = em
        self.steps = 0

    def __call__(self, value: Value) -> Expr | None:
        self.steps += 1
        tile = value.tile
        if self.steps > MAX_STEPS or tile.rank or tile.is_pointer or tile.dtype.is_float:
            return None
        if value in self.em.scalars:
            return ("scalar", self.em.scalars[value])
        op = self.em.defining.get(value)
        translate = _TRANSLATE.get(op.name) if op is not None else None
        return translate(self, op) if op is not None and translate is not None else None


Translate: TypeAlias = Callable[[_LaunchExprWalk, Op], Expr | None]


def _constant(walk: _LaunchExprWalk, op: Op) -> Expr:
    return ("const", op.attrs["value"])


def _extent(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    param = op.operands[0].tensor.param
    return None if param is None else ("extent", param, op.attrs["axis"])


def _length(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    param = op.operands[0].tensor.param
    return None if param is None else ("length", param)


def _grid(walk: _LaunchExprWalk, op: Op) -> Expr:
    return ("grid", op.attrs["axis"])


def _place(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    axis: int = op.attrs["axis"]
    match ThreadCoordinate(op.attrs["what"]):
        case ThreadCoordinate.BLOCK_SIZE:
            return ("given", f"block_dim({axis})", walk.em.signature.block_dims[axis])
        case ThreadCoordinate.GRID_SIZE:
            return ("grid_dim", axis)
        case _:
            return None


def _tiles(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    view = op.operands[0].view
    axis: int = op.attrs["axis"]
    dim: int = view.dim_map[axis]
    step: int = (view.step or view.tile)[axis]
    if view.frame is not None:
        return ("const", -(-view.frame[dim] // step))
    if view.tensor.param is None:
        return None
    return ("ceildiv", ("extent", view.tensor.param, dim), ("const", step))


def _binary(name: str) -> Translate:
    def translate(walk: _LaunchExprWalk, op: Op) -> Expr | None:
        a, b = (walk(v) for v in op.operands)
        return None if a is None or b is None else (name, a, b)

    return translate


def _logic(name: str) -> Translate:
    """Return the translation of `&`, `|`, `^` on booleans; integers have no launch form."""
    binary = _binary(name)

    def translate(walk: _LaunchExprWalk, op: Op) -> Expr | None:
        return binary(walk, op) if op.result.tile.dtype.is_bool else None

    return translate


def _not(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    inner = walk(op.operands[0]) if op.result.tile.dtype.is_bool else None
    return None if inner is None else ("not", inner)


def _minus(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    # The host has no unsigned wrap: 0 - 1 would be -1 there.
    return _binary("sub")(walk, op) if op.result.tile.dtype.is_signed else None


def _negative(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    inner = walk(op.operands[0]) if op.result.tile.dtype.is_signed else None
    return None if inner is None else ("sub", ("const", 0), inner)


def _same(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    return walk(op.operands[0])


# Rounding toward zero has no launch form; `//` and `%` in a kernel round down.
_DIVISIONS = {Rounding.NEG_INF: _binary("floordiv"), Rounding.POS_INF: _binary("ceildiv")}
_REMAINDERS = {Rounding.NEG_INF: _binary("mod")}


def _divide(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    translate = _DIVISIONS.get(op.attrs["rounding"])
    return translate(walk, op) if translate else None


def _remainder(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    translate = _REMAINDERS.get(op.attrs["rounding"])
    return translate(walk, op) if translate else None


def _compare(walk: _LaunchExprWalk, op: Op) -> Expr | None:
    return _binary(Predicate(op.attrs["predicate"]).value)(walk, op)


_TRANSLATE: dict[str, Translate] = {
    "constant": _constant,
    "extent": _extent,
    "length": _length,
    "num_blocks": _grid,
    "place": _place,
    "num_tiles": _tiles,
    "addi": _binary("add"),
    "subi": _minus,
    "muli": _binary("mul"),
    "mini": _binary("min"),
    "maxi": _binary("max"),
    "divi": _divide,
    "remi": _remainder,
    "negi": _negative,
    "exti": _same,
    "cmpi": _compare,
    "andi": _logic("and"),
    "ori": _logic("or"),
    "xori": _logic("ne"),
    "noti": _not,
}


# -------------------------------------------------------------------------------------------------
# Conditions that the host evaluates before a launch.


def ask_at_launch(em: SemanticBuilder, condition: Value, message: str) -> list[LaunchCheck] | None:
    """Add a launch check; return its expression, or None if the host cannot evaluate it."""
    known = expression(em, condition) if em.surely_runs else None
    if known is None:
        return None
    asked: list[LaunchCheck] = []
    # One check for each part, so that an error can name the one that fails.
    for part in conjuncts(known):
        if part[0] == "const":
            reject_false(em, bool(part[1]), message)
        else:
            text = message if message else f"assertion failed: {show(part)}"
            asked.append(LaunchCheck(part, text, em.span))
            em.require_at_launch(asked[-1])
    return asked


def reject_false(em: SemanticBuilder, holds: bool, message: str) -> None:
    """Reject an assertion that is known to be false."""
    if not holds:
        em.fail(Code.ASSERTION, f"this assertion is false: {message}")
