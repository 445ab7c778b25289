"""Emit events for debuggers: before statements, and around inlined functions."""

from __future__ import annotations

import ast
from typing import Any

from ...base.shapes import Shape
from ...base.trees import leaves, replace_leaves
from ...ir.attrs import DebugEvent, DebuggedFunction, OperandRef, Scene
from ...ir.core import Value
from ...ir.types import TensorType, TileType
from ..capture.sources import FunctionSource
from ..semantics.values import AccumulatorRef, MappedRef, OutputRef, SliceRef, TensorRef
from .interpreter import Interpreter

RESULT = "result"
HIDDEN = object()
"""Stands for what has no value that could be shown: partitions, pointers, modules of ours."""


def tell(it: Interpreter, event: DebugEvent, names: dict[str, Any] | None = None) -> None:
    """Emit an event at the current place, with the names of the running function."""
    if not it.stepped or it.frame.source.library:
        return
    operands: list[Value] = []
    shown: dict[str, Any] = {}
    for name, value in (it.frame.names if names is None else names).items():
        tree = replace_leaves(value, [_leaf(leaf, operands) for leaf in leaves(value)])
        if not any(leaf is HIDDEN for leaf in leaves(tree)):
            shown[name] = tree
    scene = Scene(_function(it), tuple(shown), tuple(shown.values()))
    it.em.op("breakpoint", operands, event=event, scene=scene)


def tell_line(it: Interpreter, node: ast.stmt) -> None:
    """Emit the event of a statement, but not of a docstring: Python has none there either."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if it.stepped and not is_text:
        tell(it, DebugEvent.LINE)


def tell_again(it: Interpreter, node: ast.stmt | ast.Lambda) -> None:
    """Emit the event of a loop that comes back to its head, or of a lambda."""
    before = it.em.span
    it.mark(node)
    tell(it, DebugEvent.LINE)
    it.em.span = before


def _leaf(x: Any, operands: list[Value]) -> Any:
    """Return a part of a value as a debugger gets it: a constant, or the operand that has it."""
    tile: Shape | None = None
    if isinstance(x, OutputRef):
        tile = x.tile
    if isinstance(x, TensorRef | OutputRef | MappedRef | AccumulatorRef | SliceRef):
        x = x.value
    if not isinstance(x, Value):
        return HIDDEN if type(x).__module__.startswith("tilewright.frontend") else x
    if isinstance(x.type, TensorType) or (isinstance(x.type, TileType) and not x.type.is_pointer):
        operands.append(x)
        return OperandRef(len(operands) - 1, tile)
    return HIDDEN


def _function(it: Interpreter) -> DebuggedFunction:
    source = it.frame.source
    if source not in it.debugged:
        it.debugged[source] = _described(source)
    return it.debugged[source]


def _described(source: FunctionSource) -> DebuggedFunction:
    node = source.node
    statements = [n.lineno for n in ast.walk(node) if isinstance(n, ast.stmt)]
    lines = tuple(sorted({node.lineno, *statements}))
    name = "<lambda>" if isinstance(node, ast.Lambda) else source.name
    return DebuggedFunction(source.file.name, name, node.lineno, lines, source.globals)
