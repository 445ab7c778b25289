"""Statements: from syntax to effects, one function per kind of node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...base.errors import Code
from ...ir.core import Value
from ..rules.control import assert_condition
from ..semantics.values import Indexed, receiver_class
from .branches import run_if
from .calls import binary, run_return
from .expressions import BINARY
from .interpreter import Flow, Interpreter, Run, assign, assign_element
from .loops import run_break, run_for, run_while


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
    """Refuse a call of the standard library whose static arguments do not fit; check others."""
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
