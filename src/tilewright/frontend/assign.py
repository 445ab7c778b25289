"""Binds the targets of assignments: names, and tuples of names."""

from __future__ import annotations

import ast
from typing import Any

from ..base.errors import Code
from ..ir.core import Value
from .describe import describe
from .interpret import Interpreter
from .values import Indexed, SharedRef, receiver_class


def assign(it: Interpreter, target: ast.expr, value: Any) -> None:
    """Bind a target: a name, or a tuple of targets unpacked from a static sequence."""
    if isinstance(target, ast.Name):
        if isinstance(value, Value) and not value.name:
            value.name = target.id
        if isinstance(value, SharedRef) and not value.value.name:
            value.value.name = target.id
        it.frame.bind(target.id, value)
        return
    if isinstance(target, ast.Tuple | ast.List):
        _unpack(it, target, value)
        return
    it.mark(target)
    if isinstance(target, ast.Subscript) and isinstance(owner := it.eval(target.value), Indexed):
        assign_element(it, target, owner, it.eval(target.slice), value)
        return
    it.mark(target)
    if isinstance(target, ast.Subscript | ast.Attribute):
        it.em.fail(
            Code.SYNTAX,
            "values in kernels cannot be changed in place",
            hint="tiles are immutable: make a new one with tl.where or tl.cat; write memory with"
            " out.store(tile)",
        )
    it.unsupported(target)


def assign_element(
    it: Interpreter, target: ast.Subscript, owner: Indexed, index: Any, value: Any
) -> None:
    """Write one element of a slice, or of shared memory."""
    it.mark(target)
    it.apply(f"{receiver_class(owner)}.__setitem__", [owner, index, value])


def _unpack(it: Interpreter, target: ast.Tuple | ast.List, value: Any) -> None:
    it.mark(target)
    if not isinstance(value, tuple | list | range):
        it.em.fail(Code.TYPE, f"{describe(value)} cannot be unpacked", expected="a tuple")
    items, names = list(value), target.elts
    stars = [k for k, n in enumerate(names) if isinstance(n, ast.Starred)]
    if len(stars) == 1:
        k = stars[0]
        rest = len(items) - (len(names) - 1)
        items = [*items[:k], tuple(items[k : k + rest]), *items[k + rest :]] if rest >= 0 else items
    if len(items) != len(names):
        it.em.fail(
            Code.TYPE,
            f"cannot unpack {len(value)} values into {len(names)} names",
            expected=f"{len(names)} values",
            got=describe(value),
        )
    for part, item in zip(names, items, strict=True):
        assign(it, part.value if isinstance(part, ast.Starred) else part, item)
