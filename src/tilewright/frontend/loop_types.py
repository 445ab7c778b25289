"""Infers the types of loop-carried names by iteration to a fixpoint, and passes their values.

A name that a loop assigns and that was bound before is carried. Its type at the head of the loop is
found by trying: the body is compiled with what is known so far; where it ends with something else,
the head is widened and the body compiled again. A static number that changes becomes i32 or f32.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..base.errors import Code, CompileError
from ..ir.core import Block, Value
from ..ir.types import TileType
from .branches import fill
from .describe import describe
from .frame import assigned_names
from .interpret import Exit, Interpreter, Target
from .merge_values import Conflict, coerce, is_number, merge_type, same_structure
from .promote import natural_dtype
from .trees import leaves, replace_leaves

MAX_TRIALS = 8


@dataclass(eq=False, slots=True)
class Trial:
    """One attempt at a loop: the region it made and the places where control leaves it."""

    block: Block
    target: Target
    skipped: bool = False


Head = dict[str, Any]
"""Per carried name a template: TileType leaves are dynamic, the others static."""

Attempt = Callable[[Head], Trial]


def infer_types(
    it: Interpreter, node: ast.AST, carried: list[str], attempt: Attempt
) -> tuple[Head, Trial]:
    """Compile a loop until the types at its head are right; give them and the result."""
    initial = {name: it.frame.names[name] for name in carried}
    key = (node, it.frame.caller, tuple(_fingerprint(v) for v in initial.values()))
    head: Head = it.loop_memory.get(key) or {n: _template(v) for n, v in initial.items()}
    before = it.frame.snapshot()
    for _ in range(MAX_TRIALS):
        marks = [len(t.exits) for t in it.targets]
        try:
            trial = attempt(head)
        except CompileError:
            # With static numbers at the head the body may fail where the real loop would not.
            dynamic = {n: _all_dynamic(tree) for n, tree in head.items()}
            if dynamic == head:
                raise
            try:
                _undo(it, before, marks)
                attempt(dynamic)
            except CompileError:
                dynamic = {}
            if not dynamic:
                raise
            _undo(it, before, marks)
            head = dynamic
            continue
        widened = _widen(it, head, trial)
        if widened == head:
            it.loop_memory[key] = head
            it.frame.restore(before)
            return head, trial
        _undo(it, before, marks)
        head = widened
    it.em.fail(Code.LOOP_TYPE, "cannot find a fixed type for the variables of this loop")


def _undo(it: Interpreter, before: Any, marks: list[int]) -> None:
    """Forget a trial: bindings, and exits it added to enclosing loops and scopes."""
    it.frame.restore(before)
    for target, mark in zip(it.targets, marks, strict=True):
        del target.exits[mark:]


def _fingerprint(value: Any) -> tuple[Any, ...]:
    return tuple(v.type if isinstance(v, Value) else repr(v) for v in leaves(value))


def _template(value: Any) -> Any:
    flat = [v.type if isinstance(v, Value) else v for v in leaves(value)]
    return replace_leaves(value, flat)


def _all_dynamic(tree: Any) -> Any:
    flat = [
        TileType(natural_dtype(v)) if is_number(v) and not isinstance(v, TileType) else v
        for v in leaves(tree)
    ]
    return replace_leaves(tree, flat)


def _widen(it: Interpreter, head: Head, trial: Trial) -> Head:
    result = dict(head)
    for exit_ in trial.target.exits:
        for name, tree in result.items():
            result[name] = _widen_one(it, name, tree, exit_)
    return result


def _widen_one(it: Interpreter, name: str, tree: Any, exit_: Exit) -> Any:
    if name not in exit_.values:
        it.em.fail(
            Code.UNBOUND,
            f"`{name}` may be unbound at the end of the loop body",
            span=exit_.span,
            hint=f"give `{name}` a value on every path",
        )
    value = exit_.values[name]
    if not same_structure(tree, value):
        _refuse(it, name, Conflict(Code.LOOP_TYPE, describe(_shown(tree)), describe(value)), exit_)
    flat = []
    for a, b in zip(leaves(tree), leaves(value), strict=True):
        joined = merge_type(a, b)
        if isinstance(joined, Conflict):
            _refuse(it, name, joined, exit_)
        flat.append(a if joined is None else joined)
    return replace_leaves(tree, flat)


def _shown(tree: Any) -> Any:
    flat = [Value(v) if isinstance(v, TileType) else v for v in leaves(tree)]
    return replace_leaves(tree, flat)


def _refuse(it: Interpreter, name: str, conflict: Conflict, exit_: Exit) -> None:
    if conflict.code is Code.SELECT:
        it.em.fail(
            Code.SELECT,
            f"`{name}` cannot change in a loop",
            span=exit_.span,
            expected=conflict.first,
            got=conflict.second,
            hint="tensors, partitions and functions stay the same in a loop; carry an index",
        )
    it.em.fail(
        Code.LOOP_TYPE,
        f"`{name}` changes its type in the loop",
        span=exit_.span,
        expected=conflict.first,
        got=conflict.second,
        hint=f"give `{name}` its final type before the loop, for instance with tl.zeros or .astype",
    )


def bind_head(it: Interpreter, head: Head) -> list[Value]:
    """Bind the carried names to block arguments (or their statics) and give the arguments."""
    args = []
    for name, tree in head.items():
        mine = [Value(t, name) for t in leaves(tree) if isinstance(t, TileType)]
        args += mine
        it.frame.bind(name, fill(tree, list(mine)))
    return args


def leave(it: Interpreter, kind: str, target: Target) -> None:
    """Note that control leaves the loop here, with the carried names as they are."""
    names = {n: it.frame.names[n] for n in target.carried if n in it.frame.names}
    target.exits.append(Exit(kind, it.em.block, names, it.em.span))


def values(it: Interpreter, head: Head, names: dict[str, Any]) -> list[Value]:
    """The dynamic leaves of the carried names, of the types of the head."""
    values = []
    for name, tree in head.items():
        for t, leaf in zip(leaves(tree), leaves(names[name]), strict=True):
            if isinstance(t, TileType):
                values.append(coerce(it.em, leaf, t))
    return values


def close(it: Interpreter, head: Head, trial: Trial) -> None:
    """Add the terminators that were waiting for the types."""
    for exit_ in trial.target.exits:
        it.em.span = exit_.span
        with it.em.at(exit_.block):
            it.em.op(exit_.kind, values(it, head, exit_.values))


def finish(
    it: Interpreter, node: ast.For | ast.While, head: Head, results: tuple[Value, ...]
) -> None:
    """Bind the names that the loop assigned to what they are after it."""
    pending = list(results)
    for name, tree in head.items():
        it.frame.bind(name, fill(tree, pending))
    for name in _assigned(node):
        if name not in head:
            it.frame.unbind(name, f"bound only inside the loop at line {node.lineno}")


def _assigned(node: ast.For | ast.While) -> list[str]:
    own = [ast.Expr(node.target)] if isinstance(node, ast.For) else []
    return assigned_names([*own, *node.body])


def carried_names(it: Interpreter, node: ast.For | ast.While) -> list[str]:
    """The names a loop assigns that were bound before it."""
    return [n for n in _assigned(node) if n in it.frame.names]
