"""Branches: conditions, `if`, `and`, `or`, and the merge of values at their ends."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ...base.dtypes import DTypeMeta
from ...base.errors import Code
from ...base.trees import children, leaves, replace_leaves
from ...ir.core import Block, Value
from ...ir.types import I1, TileType
from ..semantics import promotion
from ..semantics.builder import SemanticBuilder
from ..semantics.values import Memory, OwnedIndex, describe
from .interpreter import Flow, Interpreter

# -------------------------------------------------------------------------------------------------
# Merging of values from several paths, at the end of branches and loops (SSA phi nodes).
#
# Values are trees, and only leaves are merged. A leaf that is the same static object on all paths
# stays static; numbers become dynamic; tensors must agree.


def same_structure(a: Any, b: Any) -> bool:
    """Return whether two values have the same tree."""
    x, y = children(a), children(b)
    if x is None or y is None:
        return x is None and y is None
    if _kind(a) is not _kind(b) or len(x) != len(y):
        return False
    return all(same_structure(p, q) for p, q in zip(x, y, strict=True))


def _kind(x: Any) -> type:
    """Return the class of a structured value; a carried index is a plain tuple."""
    return tuple if isinstance(x, OwnedIndex) else type(x)


def is_number(x: Any) -> bool:
    """Return whether x is a static number, which may become dynamic."""
    return isinstance(x, bool | int | float) or (
        isinstance(type(x), DTypeMeta) and not isinstance(x, type)
    )


def same_static(a: Any, b: Any) -> bool:
    """Return whether two static leaves are the same."""
    if a is b:
        return True
    if isinstance(a, Value) or isinstance(b, Value) or type(a) is not type(b):
        return False
    return (is_number(a) and repr(a) == repr(b)) or (isinstance(a, str) and a == b)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two leaves that cannot be merged, as text for the user."""

    code: Code
    first: str
    second: str


def merge_type(a: Any, b: Any) -> TileType | Conflict | None:
    """Return the type of a leaf that is `a` on one path and `b` on another; None if static."""
    if same_static(a, b):
        return None
    if not _joinable(a) or not _joinable(b):
        return Conflict(Code.SELECT, _say(a), _say(b))
    if isinstance(a, TileType | Value) and isinstance(b, TileType | Value):
        x, y = _type(a), _type(b)
        return x if x == y else Conflict(Code.BRANCH_TYPE, _say(a), _say(b))
    if isinstance(a, TileType | Value):
        return _with_number(_type(a), b) or Conflict(Code.BRANCH_TYPE, _say(a), describe(b))
    if isinstance(b, TileType | Value):
        return _with_number(_type(b), a) or Conflict(Code.BRANCH_TYPE, describe(a), _say(b))
    return _of_numbers(a, b)


def _of_numbers(a: Any, b: Any) -> TileType | Conflict:
    """Return the common type of two static numbers: an int beside a float becomes a float."""
    x, y = promotion.natural_dtype(a), promotion.natural_dtype(b)
    if x is y:
        return TileType(x)
    weak = promotion.is_weak(a) and promotion.is_weak(b) and x.kind in "if" and y.kind in "if"
    both = x if x.is_float else y
    return TileType(both) if weak else Conflict(Code.BRANCH_TYPE, describe(a), describe(b))


def _with_number(tile: TileType, number: Any) -> TileType | None:
    """Return the type of a scalar that absorbs a Python number of its kind; None if it does not."""
    if tile.rank or tile.is_pointer or not promotion.is_weak(number):
        return None
    dtype, own = tile.dtype, promotion.natural_dtype(number)
    fits = (
        dtype.kind == own.kind
        or (dtype.is_float and own.kind == "i")
        or (dtype.kind == "u" and own.kind == "i")
    )
    return tile if fits else None


def _joinable(x: Any) -> bool:
    return (
        isinstance(x, TileType)
        or is_number(x)
        or (isinstance(x, Value) and isinstance(x.type, TileType))
    )


def _type(x: TileType | Value) -> TileType:
    return x if isinstance(x, TileType) else x.tile


def _say(x: Any) -> str:
    return describe(Value(x) if isinstance(x, TileType) else x)


def coerce(em: SemanticBuilder, leaf: Any, type_: TileType) -> Value:
    """Return a leaf as a Value of the joined type, emitted at the end of its path."""
    if isinstance(leaf, Value):
        return leaf
    return em.number(leaf, type_.dtype)


# -------------------------------------------------------------------------------------------------
# Conditions: `if`, conditional expressions, `and`, `or`, `not`.


@dataclass(eq=False, slots=True)
class Branch:
    """One branch that was run: its block, its bindings, whether its end is reachable."""

    block: Block
    names: dict[str, Any]
    unsure: dict[str, str]
    flow: Flow


CHOOSE = "choose per element with tl.where(cond, a, b), or reduce with tl.any or tl.all"


COMBINE = "combine masks with `&` and `|`, in parentheses: (x > 0) & (x < n)"


def truth(it: Interpreter, x: Any, hint: str = CHOOSE) -> bool | Value:
    """Return a condition: a static bool, or a scalar that is true or false at run time."""
    if isinstance(x, Memory):
        it.em.fail(
            Code.TRUTH,
            f"{describe(x)} has no truth value",
            expected="a scalar",
            got=describe(x),
            hint="load a tile and reduce it: tl.any(tile), tl.all(tile)",
        )
    if not isinstance(x, Value):
        return bool(it.observe("bool", bool, x))
    if not isinstance(x.type, TileType) or x.type.rank or x.type.is_pointer:
        it.em.fail(
            Code.TRUTH,
            "the truth of a tile is ambiguous",
            expected="a scalar",
            got=describe(x),
            hint=hint,
        )
    return it.em.cast(x, I1.dtype)


def run_if(it: Interpreter, node: ast.If) -> Flow:
    """Run `if`: one branch if the condition is static, else both."""
    cond = truth(it, it.eval(node.test))
    it.mark(node)
    if isinstance(cond, bool):
        it.em.left_out |= bool(node.orelse if cond else node.body)
        return it.run(node.body if cond else node.orelse)
    before = it.frame.snapshot()
    then = _branch(it, node.body)
    it.frame.restore(before)
    if then.flow is Flow.ENDED:
        # A guard clause: what follows is the other branch, so it need not be nested.
        it.mark(node)
        _emit_if(it, cond, then.block, _yield_block(it))
        return it.run(node.orelse)
    other = _branch(it, node.orelse)
    it.frame.restore(before)
    it.mark(node)
    _merge(it, node, cond, then, other)
    return Flow.NEXT


def _branch(it: Interpreter, body: list[ast.stmt]) -> Branch:
    with it.inside(Block()) as block:
        flow = it.run(body)
    names, unsure = it.frame.snapshot()
    return Branch(block, names, unsure, flow)


def _yield_block(it: Interpreter) -> Block:
    block = Block()
    with it.em.at(block):
        it.em.op("yield")
    return block


def _emit_if(
    it: Interpreter, cond: Value, then: Block, other: Block, types: tuple[TileType, ...] = ()
) -> tuple[Value, ...]:
    return it.em.op("if", cond, regions=(then, other), types=types).results


def _merge(it: Interpreter, node: ast.If, cond: Value, then: Branch, other: Branch) -> None:
    """Bind each name to the value on which both branches agree, or to a result of the `if`."""
    frame = it.frame
    live = [b for b in (then, other) if b.flow is Flow.NEXT]
    changed = _changed(frame.names, live)
    joined: dict[str, list[Any]] = {}
    for name in changed:
        if all(name in b.names for b in live):
            joined[name] = [b.names[name] for b in live]
        else:
            frame.unbind(name, f"bound in only one branch of the `if` at line {node.lineno}")
    for branch in live:
        for name, why in branch.unsure.items():
            frame.unbind(name, why)
            joined.pop(name, None)
    templates = {name: _join(it, f"`{name}`", values) for name, values in joined.items()}
    types = [t for tree in templates.values() for t in leaves(tree) if isinstance(t, TileType)]
    for branch in live:
        with it.em.at(branch.block):
            it.em.op("yield", _yielded(it, templates, branch.names))
    results = list(_emit_if(it, cond, then.block, other.block, tuple(types)))
    for name, tree in templates.items():
        frame.bind(name, fill(tree, results))


def _changed(before: dict[str, Any], live: list[Branch]) -> list[str]:
    names = dict.fromkeys(name for b in live for name in b.names)
    missing = object()
    return [
        n for n in names if any(b.names.get(n, missing) is not before.get(n, missing) for b in live)
    ]


def fill(tree: Any, results: list[Value]) -> Any:
    """Return a template with its TileType leaves replaced by results, taken from the front."""
    values = [results.pop(0) if isinstance(t, TileType) else t for t in leaves(tree)]
    return replace_leaves(tree, values)


def _join(it: Interpreter, what: str, values: list[Any]) -> Any:
    """Return a template: TileType where the value is dynamic, the static itself elsewhere."""
    if len(values) == 1:
        flat = [v.type if _is_tile(v) else v for v in leaves(values[0])]
        return replace_leaves(values[0], flat)
    first, second = values
    if not same_structure(first, second):
        _refuse(it, what, Conflict(Code.BRANCH_TYPE, describe(first), describe(second)))
    flat = []
    for a, b in zip(leaves(first), leaves(second), strict=True):
        if a is b and _is_tile(a):
            flat.append(a)  # untouched by both branches: no result needed
            continue
        joined = merge_type(a, b)
        if isinstance(joined, Conflict):
            _refuse(it, what, joined)
        flat.append(a if joined is None else joined)
    return replace_leaves(first, flat)


def _is_tile(x: Any) -> bool:
    return isinstance(x, Value) and isinstance(x.type, TileType)


def _refuse(it: Interpreter, what: str, conflict: Conflict) -> None:
    if conflict.code is Code.SELECT:
        it.em.fail(
            Code.SELECT,
            f"{what} would select at run time what is neither a tile nor a number",
            expected="two tiles, or two numbers",
            got=f"{conflict.first} or {conflict.second}",
            hint="make the condition a constant, or load in both branches",
        )
    it.em.fail(
        Code.BRANCH_TYPE,
        f"{what} has different types in the two branches",
        expected=conflict.first,
        got=conflict.second,
        hint="convert one side, for instance with .astype(...) or tl.full(...)",
    )


def _yielded(it: Interpreter, templates: dict[str, Any], names: dict[str, Any]) -> list[Value]:
    values = []
    for name, tree in templates.items():
        for t, leaf in zip(leaves(tree), leaves(names[name]), strict=True):
            if isinstance(t, TileType):
                values.append(coerce(it.em, leaf, t))
    return values


def choose(
    it: Interpreter, node: ast.expr, cond: Value, first: ast.expr, second: ast.expr | bool
) -> Any:
    """Return the value of one of two expressions; only the chosen one runs."""
    sides: list[tuple[Block, Any]] = []
    for side in (first, second):
        with it.inside(Block()) as block:
            sides.append((block, side if isinstance(side, bool) else it.eval(side)))
    it.mark(node)
    template = _join(it, "the conditional expression", [value for _, value in sides])
    types = tuple(t for t in leaves(template) if isinstance(t, TileType))
    for block, value in sides:
        with it.em.at(block):
            it.em.op("yield", _yielded(it, {"": template}, {"": value}))
    return fill(template, list(_emit_if(it, cond, sides[0][0], sides[1][0], types)))


def eval_ifexp(it: Interpreter, node: ast.IfExp) -> Any:
    """Evaluate `a if cond else b`."""
    cond = truth(it, it.eval(node.test))
    it.mark(node)
    if isinstance(cond, bool):
        return it.eval(node.body if cond else node.orelse)
    return choose(it, node, cond, node.body, node.orelse)


def eval_boolop(it: Interpreter, node: ast.BoolOp) -> Any:
    """Evaluate `and` and `or` with short circuit; on tiles an error."""
    stops_at = isinstance(node.op, ast.Or)
    return _chain(it, node, node.values, stops_at)


def _chain(it: Interpreter, node: ast.BoolOp, values: list[ast.expr], stops_at: bool) -> Any:
    first = it.eval(values[0])
    if len(values) == 1:
        return truth(it, first, COMBINE) if isinstance(first, Value) else first
    it.mark(node)
    cond = truth(it, first, COMBINE)
    if isinstance(cond, bool):
        return first if cond is stops_at else _chain(it, node, values[1:], stops_at)
    rest = (
        values[1] if len(values) == 2 else ast.copy_location(ast.BoolOp(node.op, values[1:]), node)
    )
    truthy = ast.copy_location(ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), rest)), rest)
    ast.fix_missing_locations(truthy)
    if stops_at:
        return choose(it, node, it.em.emit("noti", cond), truthy, True)
    return choose(it, node, cond, truthy, False)


def eval_not(it: Interpreter, x: Any) -> Any:
    """Evaluate `not x`."""
    cond = truth(it, x)
    return not cond if isinstance(cond, bool) else it.em.emit("noti", cond)
