"""Comparisons: of numbers and tiles, of tuples, and of what lies in a tuple or a range."""

from __future__ import annotations

import ast
from typing import Any

from ..base.errors import Code
from ..ir.core import Value
from .branches import eval_not
from .calls import binary
from .describe import describe
from .interpret import Interpreter
from .loops import RangeOf
from .values import receiver_class

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


def eval_compare(it: Interpreter, node: ast.Compare) -> Any:
    """One comparison or several, `a < b < c`."""
    left = it.eval(node.left)
    result: Any = None
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = it.eval(right_node)
        it.mark(node)
        part = _compare_one(it, op, left, right)
        result = part if result is None else _both(it, result, part)
        left = right
    return result


def _both(it: Interpreter, a: Any, b: Any) -> Any:
    """`a < b < c`: both comparisons hold, element by element for tiles."""
    if isinstance(a, bool) and isinstance(b, bool):
        return a and b
    if isinstance(a, bool):
        return b if a else a
    if isinstance(b, bool):
        return a if b else b
    return it.apply("operator.and_", [a, b])


def _compare_one(it: Interpreter, op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Is | ast.IsNot):
        same = left is right
        return same if isinstance(op, ast.Is) else not same
    if isinstance(op, ast.In | ast.NotIn):
        return _contains(it, left, right) if isinstance(op, ast.In) else _not_in(it, left, right)
    if isinstance(op, ast.Eq | ast.NotEq) and _sequences(left, right):
        same = _equal(it, left, right)
        return same if isinstance(op, ast.Eq) else eval_not(it, same)
    return binary(it, COMPARE[type(op)], left, right)


def _sequences(left: Any, right: Any) -> bool:
    return isinstance(left, tuple | list) and isinstance(right, tuple | list)


def _equal(it: Interpreter, left: Any, right: Any) -> Any:
    """`x.shape == y.shape`: all items are equal; what is known of them may decide."""
    if isinstance(left, tuple) != isinstance(right, tuple) or len(left) != len(right):
        return False
    result: Any = True
    for a, b in zip(left, right, strict=True):
        same = _equal(it, a, b) if _sequences(a, b) else _same(it, a, b)
        result = _both(it, result, same)
    return result


def _same(it: Interpreter, a: Any, b: Any) -> Any:
    same = binary(it, "eq", a, b)
    if isinstance(same, Value) and same.tile.rank:
        it.em.fail(
            Code.TYPE,
            "tuples of tiles have no equality",
            expected="tuples of constants and scalars",
            got=f"{describe(a)} and {describe(b)}",
            hint="compare tiles element by element: (x == a) & (y == b)",
        )
    return same


def _contains(it: Interpreter, item: Any, among: Any) -> Any:
    """`item in (a, b)`: a constant where all are, else whether a scalar equals one of them."""
    if isinstance(among, RangeOf):
        return _in_range(it, item, among)
    scalars = [x for x in (item, *among) if isinstance(x, Value)] if _items(among) else [item]
    if not _items(among) or any(receiver_class(x) != "Tile" or x.tile.rank for x in scalars):
        it.em.fail(
            Code.TYPE,
            "`in` tests whether a tuple contains a constant or a scalar",
            got=f"{describe(item)} in {describe(among)}",
            hint="compare tiles element by element: (x == a) | (x == b)",
        )
    if not scalars:
        return item in among
    found: Any = False
    for other in among:
        same = binary(it, "eq", item, other)
        found = same if found is False else binary(it, "or_", found, same)
    return found


def _in_range(it: Interpreter, item: Any, among: RangeOf) -> Any:
    if isinstance(among.step, int) and among.step == 1:
        return _both(it, binary(it, "le", among.start, item), binary(it, "lt", item, among.stop))
    return _contains(it, item, it.unroll(among.static(it)))


def _items(among: Any) -> bool:
    return isinstance(among, tuple | list | str | range)


def _not_in(it: Interpreter, item: Any, among: Any) -> Any:
    return eval_not(it, _contains(it, item, among))
