"""Expressions and statements: from syntax to values and effects, one function per kind of node."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from tilewright import lang

from ...base.dtypes import DType
from ...base.errors import Code
from ...base.trees import leaves, part_names
from ...ir.core import Value
from ...lang.device_global import Global
from ..capture.sources import IMMUTABLE, is_written
from ..rules import PROPERTIES, RULES
from ..rules.control import assert_condition
from ..semantics.values import FormatString, Indexed, OwnedIndex, describe, receiver_class
from . import advice
from .branches import eval_boolop, eval_ifexp, eval_not, run_if
from .calls import Method, binary, call, eval_call, is_structure, run_return, unary
from .interpreter import Closure, Evaluate, Flow, Interpreter, Run, assign, assign_element
from .loops import RangeOf, run_break, run_for, run_while

# -------------------------------------------------------------------------------------------------
# Comparisons of numbers and tiles, of tuples, and membership in tuples and ranges.

COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}


def eval_compare(it: Interpreter, node: ast.Compare) -> Any:
    """Evaluate one comparison, or a chain `a < b < c`."""
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
    """Evaluate `a < b < c`: both comparisons hold, element by element for tiles."""
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
    """Evaluate `x.shape == y.shape`: all items are equal; known items may decide."""
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
    """Evaluate `item in (a, b)`: a constant if all are, else a scalar comparison with each."""
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


# -------------------------------------------------------------------------------------------------
# Expressions: from syntax to values, one function per kind of node.

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}


def _constant(it: Interpreter, node: ast.Constant) -> Any:
    if isinstance(node.value, complex | bytes):
        it.em.fail(
            Code.SYNTAX, f"{type(node.value).__name__} literals are not supported in kernels"
        )
    return node.value


def _name(it: Interpreter, node: ast.Name) -> Any:
    return it.lookup(node.id)


def _binop(it: Interpreter, node: ast.BinOp) -> Any:
    left, right = it.eval(node.left), it.eval(node.right)
    it.mark(node)
    return binary(it, BINARY[type(node.op)], left, right)


def _unaryop(it: Interpreter, node: ast.UnaryOp) -> Any:
    value = it.eval(node.operand)
    it.mark(node)
    if isinstance(node.op, ast.Not):
        return eval_not(it, value)
    return unary(it, UNARY[type(node.op)], value)


def _tuple(it: Interpreter, node: ast.Tuple | ast.List) -> Any:
    items: list[Any] = []
    for part in node.elts:
        if isinstance(part, ast.Starred):
            items += list(it.eval(part.value))
        else:
            items.append(it.eval(part))
    return tuple(items) if isinstance(node, ast.Tuple) else items


def _lambda(it: Interpreter, node: ast.Lambda) -> Closure:
    return it.closure(node)


def _namedexpr(it: Interpreter, node: ast.NamedExpr) -> Any:
    value = it.eval(node.value)
    assign(it, node.target, value)
    return value


def _comprehension(it: Interpreter, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
    """Evaluate a comprehension over static items: it is unrolled."""
    (generator, *more) = node.generators
    over = it.eval(generator.iter)
    it.mark(node)
    if more or generator.is_async or not isinstance(over, tuple | list | range | RangeOf):
        it.em.fail(
            Code.SYNTAX,
            "this comprehension is not supported in kernels",
            expected="one `for` over compile-time items",
            got=describe(over),
        )
    if isinstance(over, RangeOf):
        over = over.static(it)
    before, items = it.frame.snapshot(), []
    for item in it.unroll(over):
        assign(it, generator.target, item)
        if all(it.eval(test) for test in generator.ifs):
            items.append(it.eval(node.elt))
    it.frame.restore(before)
    return items


# --- attributes and subscripts ---------------------------------------------------------------


def _attribute(it: Interpreter, node: ast.Attribute) -> Any:
    owner = it.eval(node.value)
    it.mark(node)
    # A typed scalar from outside has what scalars have; in the library all constants do.
    weak = it.frame.source.library and type(owner) in (int, float, bool)
    if isinstance(owner, DType) or (weak and f"Tile.{node.attr}" in RULES):
        owner = it.em.number(owner)
    # An index is a tuple in all but its attributes.
    cls = "PartitionIndex" if isinstance(owner, OwnedIndex) else receiver_class(owner)
    if isinstance(owner, Value) and owner in it.em.witnesses and f"Index.{node.attr}" in RULES:
        cls = "Index"
    if cls is not None:
        return _member(it, cls, owner, node.attr)
    if isinstance(owner, types.ModuleType):
        return _of_module(it, owner, node.attr)
    if is_structure(owner):
        return _of_structure(it, owner, node.attr)
    if not hasattr(owner, node.attr):
        hint = "it may be None: test it first, `if x is not None`" if owner is None else None
        it.em.fail(Code.ATTRIBUTE, f"{describe(owner)} has no attribute `{node.attr}`", hint=hint)
    if type(owner) in IMMUTABLE or (isinstance(owner, type) and not is_written(owner)):
        return getattr(owner, node.attr)
    return it.attribute(owner, node.attr)


def _of_structure(it: Interpreter, owner: Any, name: str) -> Any:
    """Return a field of a structure, or an attribute of its class, which may change."""
    if name in part_names(owner):
        return getattr(owner, name)
    said = it.attribute(type(owner), name) if hasattr(type(owner), name) else None
    holds_values = any(isinstance(leaf, Value) for leaf in leaves(owner))
    if isinstance(said, property) and holds_values:
        return call(it, said.fget, [owner], {})
    if not hasattr(owner, name):
        it.em.fail(Code.ATTRIBUTE, f"{describe(owner)} has no attribute `{name}`")
    if holds_values or isinstance(said, FunctionType | MethodType):
        return getattr(owner, name)
    return it.observe(name, getattr, owner, name)


def _of_module(it: Interpreter, module: types.ModuleType, name: str) -> Any:
    if not hasattr(module, name):
        it.em.fail(
            Code.ATTRIBUTE,
            f"module `{module.__name__}` has no `{name}`",
            hint=advice.for_function(name) if module is lang else advice.near(name, dir(module)),
        )
    return it.capture(id(module), name, partial(getattr, module, name))


def _member(it: Interpreter, cls: str, owner: Any, name: str) -> Any:
    key = f"{cls}.{name}"
    if key in PROPERTIES:
        return it.apply(key, [owner])
    if key in RULES:
        return Method(key, owner)
    read_only = name in ("store", "store_at", "partition_mut") and cls in ("Tensor", "Partition")
    if read_only:
        it.em.fail(
            Code.READ_ONLY,
            f"{describe(owner)} is read-only",
            expected="an output (tl.TensorMut)",
            got=f"{cls}.{name}",
            hint="annotate the parameter tl.TensorMut and pass a partition",
        )
    it.em.fail(
        Code.ATTRIBUTE,
        f"{describe(owner)} has no attribute `{name}`",
        hint=advice.for_member(cls, name),
    )


def _subscript(it: Interpreter, node: ast.Subscript) -> Any:
    owner = it.eval(node.value)
    index = it.eval(node.slice)
    it.mark(node)
    if receiver_class(owner) in ("Tile", "PointerTile"):
        return it.apply("operator.getitem", [owner, index])
    if isinstance(owner, Indexed):
        return it.apply(f"{receiver_class(owner)}.__getitem__", [owner, index])
    if receiver_class(owner) is not None:
        it.em.fail(
            Code.TYPE,
            f"{describe(owner)} cannot be indexed",
            hint="load it: g.load(), or access elements with tl.gather(tl.get_global(g), offsets)"
            if isinstance(owner, Global)
            else "load a tile: partition.load([i, j]), tensor.load_tile(shape, index) or"
            " tl.load_tile_like(tensor, out)",
        )
    if isinstance(index, Value):
        it.em.fail(
            Code.NOT_STATIC,
            "a tuple index must be a constant",
            got=describe(index),
            hint="unroll the loop with tl.static_range",
        )
    try:
        return it.observe("[...]", operator.getitem, owner, index)
    except (TypeError, IndexError, KeyError) as error:
        it.em.fail(Code.INDEX, f"this constant index fails: {error}", got=describe(owner))


def _slice(it: Interpreter, node: ast.Slice) -> slice:
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if p is None else it.eval(p) for p in parts))


# --- f-strings -------------------------------------------------------------------------------


def _joinedstr(it: Interpreter, node: ast.JoinedStr) -> Any:
    """Return an f-string: text while compiling, a format for print where parts are dynamic."""
    parts: list[Any] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            parts.append(_formatted(it, part))
    if all(isinstance(p, str) for p in parts):
        return "".join(parts)
    return FormatString(tuple(parts))


def _formatted(it: Interpreter, node: ast.FormattedValue) -> Any:
    value = it.eval(node.value)
    spec = "" if node.format_spec is None else it.eval(node.format_spec)
    it.mark(node)
    if not isinstance(spec, str):
        it.em.fail(Code.NOT_STATIC, "a format specification must be a constant")
    if receiver_class(value) is not None:
        if spec and node.conversion in CONVERSIONS:
            it.em.fail(
                Code.CALL,
                f"the format {spec!r} applies to a string, which kernels do not have",
                expected="a format of the value itself",
                got=f"!{chr(node.conversion)}:{spec}",
                hint=f"leave out !{chr(node.conversion)}",
            )
        return (value, spec)
    convert = CONVERSIONS.get(node.conversion)
    return format(value if convert is None else convert(value), spec)


CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("a"): ascii, ord("s"): str}
"""`!r`, `!a` and `!s` in an f-string."""


EXPRESSIONS: dict[type[ast.AST], Evaluate] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binop,
    ast.UnaryOp: _unaryop,
    ast.BoolOp: eval_boolop,
    ast.Compare: eval_compare,
    ast.IfExp: eval_ifexp,
    ast.Call: eval_call,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Lambda: _lambda,
    ast.NamedExpr: _namedexpr,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.JoinedStr: _joinedstr,
}


# --- statements --------------------------------------------------------------------------------


def _assign(it: Interpreter, node: ast.Assign) -> Flow:
    value = it.eval(node.value)
    for target in node.targets:
        assign(it, target, value)
    return Flow.NEXT


def _annassign(it: Interpreter, node: ast.AnnAssign) -> Flow:
    """Run `x: f32 = 0`, which converts the value; other annotations only help type checkers."""
    if node.value is not None:
        assign(it, node.target, it.eval(node.value))
    return Flow.NEXT


def _augassign(it: Interpreter, node: ast.AugAssign) -> Flow:
    target = node.target
    if isinstance(target, ast.Subscript):
        owner, index = it.eval(target.value), it.eval(target.slice)
        if isinstance(owner, Indexed):
            _augment_element(it, node, target, owner, index)
            return Flow.NEXT
    if not isinstance(target, ast.Name):
        assign(it, target, None)  # complains: nothing but names can be assigned
        return Flow.NEXT
    current = it.lookup(target.id)
    value = it.eval(node.value)
    it.mark(node)
    assign(it, target, binary(it, BINARY[type(node.op)], current, value))
    return Flow.NEXT


def _augment_element(
    it: Interpreter, node: ast.AugAssign, target: ast.Subscript, owner: Indexed, index: Any
) -> None:
    """Run `out[i] += x`: evaluate the index once, as Python does."""
    it.mark(target)
    current = it.apply(f"{receiver_class(owner)}.__getitem__", [owner, index])
    value = it.eval(node.value)
    it.mark(node)
    assign_element(it, target, owner, index, binary(it, BINARY[type(node.op)], current, value))


def _expr(it: Interpreter, node: ast.Expr) -> Flow:
    it.eval(node.value)
    return Flow.NEXT


def _assert(it: Interpreter, node: ast.Assert) -> Flow:
    """Run `assert a and b` as two assertions: the launch may know one, and a block the other."""
    message = it.eval(node.msg) if node.msg is not None else None
    if it.frame.source.library:
        return _require(it, node, message)
    for part in _conjuncts(node.test):
        condition = it.eval(part)
        it.mark(node)
        if not isinstance(message, str | None):
            it.em.fail(Code.NOT_STATIC, "the message of an assert must be a constant text")
        assert_condition(it.em, condition, ast.unparse(part) if message is None else message)
    return Flow.NEXT


def _require(it: Interpreter, node: ast.Assert, message: Any) -> Flow:
    """Reject a library call whose static arguments violate an assertion; check others at launch."""
    if not isinstance(message, str):
        it.em.fail(
            Code.NOT_STATIC,
            f"an argument of `tl.{it.frame.source.name}` must be a compile-time constant",
            hint="use a literal, a shape, or a keyword-only `tl.Const[int]` parameter",
        )
    condition = it.eval(node.test)
    if isinstance(condition, Value):
        assert_condition(it.em, condition, message)
    elif not condition:
        it.em.fail(Code.CALL, message)
    return Flow.NEXT


def _conjuncts(test: ast.expr) -> Iterator[ast.expr]:
    if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
        yield test
        return
    for part in test.values:
        yield from _conjuncts(part)


def _functiondef(it: Interpreter, node: ast.FunctionDef) -> Flow:
    if node.decorator_list:
        it.em.fail(Code.SYNTAX, "decorators are not supported in kernels")
    it.frame.bind(node.name, it.closure(node))
    return Flow.NEXT


def _pass(it: Interpreter, node: ast.Pass) -> Flow:
    return Flow.NEXT


def _with(it: Interpreter, node: ast.With) -> Flow:
    """Run `with tw.unsafe():`, the only context manager of kernels."""
    for item in node.items:
        if not _is_unsafe(it, item):
            it.mark(item.context_expr)
            it.em.fail(Code.SYNTAX, "only `with tw.unsafe():` is supported in kernels")
    it.em.unsafe_depth += 1
    try:
        return it.run(node.body)
    finally:
        it.em.unsafe_depth -= 1


def _is_unsafe(it: Interpreter, item: ast.withitem) -> bool:
    call: Any = item.context_expr
    if not isinstance(call, ast.Call) or item.optional_vars is not None:
        return False
    return getattr(it.eval(call.func), "__tilewright_unsafe__", False) is True


STATEMENTS: dict[type[ast.AST], Run] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annassign,
    ast.AugAssign: _augassign,
    ast.Expr: _expr,
    ast.Assert: _assert,
    ast.If: run_if,
    ast.For: run_for,
    ast.While: run_while,
    ast.Break: run_break,
    ast.Continue: run_break,
    ast.Return: run_return,
    ast.FunctionDef: _functiondef,
    ast.Pass: _pass,
    ast.With: _with,
}
