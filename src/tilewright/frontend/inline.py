"""Runs Python functions that a kernel calls in place of the call, early returns included."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from ..base.errors import Code
from ..ir.core import Block, Value
from ..ir.types import TileType
from .branches import fill
from .describe import describe
from .frame import Frame
from .interpret import MAX_DEPTH, Exit, Flow, Interpreter, Target
from .merge_values import Conflict, coerce, merge_type, same_structure
from .sources import FunctionNode, FunctionSource, function_source, is_library, library_source
from .trees import leaves, replace_leaves

Args = Sequence[Any]
Kwargs = Mapping[str, Any]
DEFAULTS: dict[Any, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "__defaults__",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "__defaults__",
    inspect.Parameter.KEYWORD_ONLY: "__kwdefaults__",
}
"""Where a function keeps the defaults of its parameters."""


def call_function(it: Interpreter, function: FunctionType, args: Args, kwargs: Kwargs) -> Any:
    """Call a function from outside, or one of the standard library."""
    signature = inspect.signature(function, follow_wrapped=False)
    if is_library(function):
        source = library_source(function)
    else:
        _watch_function(it, function, signature, args, kwargs)
        source = function_source(function)
    return inline(it, source.node, source, None, args, kwargs, signature)


def _watch_function(
    it: Interpreter,
    function: FunctionType,
    signature: inspect.Signature,
    args: Args,
    kwargs: Kwargs,
) -> None:
    """Remember the code and the used defaults, which may be others at a later launch."""
    watch_part(it, function, "__code__")
    names = list(signature.parameters)[len(args) :]
    left_out = [signature.parameters[n] for n in names if n not in kwargs]
    kinds = {p.kind for p in left_out if p.default is not inspect.Parameter.empty}
    for part in sorted({DEFAULTS[kind] for kind in kinds}):
        watch_part(it, function, part)
    if function.__kwdefaults__ and inspect.Parameter.KEYWORD_ONLY in kinds:
        it.watch_items(function.__kwdefaults__)


def watch_part(it: Interpreter, function: FunctionType, part: str) -> None:
    """Remember what a function has: its code, its defaults."""
    name = f"{function.__name__}.{part}"
    it.note(id(function), name, partial(getattr, function, part), getattr(function, part))


def inline(
    it: Interpreter,
    node: FunctionNode,
    source: FunctionSource,
    outer: Frame | None,
    args: Args,
    kwargs: Kwargs,
    signature: inspect.Signature,
) -> Any:
    """Run a Python function on values in place of the call."""
    frame = Frame(source, it.em.span, outer=outer)
    _enter(it, node)
    _bind(it, frame, node, args, kwargs, signature)
    saved, left, it.frame = it.frame, it.em.left, frame
    span = it.em.span
    it.depth += 1
    it.active.append(node)
    try:
        result = _run_body(it, node)
    finally:
        # A return leaves this function only: what follows the call runs as before.
        it.frame, it.em.left, it.em.span = saved, left, span
        it.depth -= 1
        it.active.pop()
    return result


def _enter(it: Interpreter, node: FunctionNode) -> None:
    name = "a lambda" if isinstance(node, ast.Lambda) else f"`{node.name}`"
    if node in it.active:
        it.em.fail(
            Code.RECURSION,
            f"{name} calls itself",
            expected="functions without recursion",
            hint="functions are inlined: use a loop",
        )
    if it.depth >= MAX_DEPTH:
        it.em.fail(
            Code.RECURSION,
            f"calls are nested too deeply: {name} would be inlined into {it.depth} other functions",
            expected=f"at most {MAX_DEPTH} nested functions",
            hint="functions are inlined: reduce the depth of calls",
        )


def _bind(
    it: Interpreter,
    frame: Frame,
    node: FunctionNode,
    args: Args,
    kwargs: Kwargs,
    signature: inspect.Signature,
) -> None:
    label = "the lambda" if isinstance(node, ast.Lambda) else f"`{node.name}`"
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        it.em.fail(
            Code.CALL, f"{label} cannot be called like this: {error}", expected=_plain(signature)
        )
    given = set(bound.arguments)
    bound.apply_defaults()
    for name, value in bound.arguments.items():
        if name not in given:
            it.watch(name, value)
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            it.em.fail(Code.SYNTAX, f"`**{name}` is not supported in functions that kernels call")
        frame.bind(name, value)


def _plain(signature: inspect.Signature) -> str:
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))


def _run_body(it: Interpreter, node: FunctionNode) -> Any:
    if isinstance(node, ast.Lambda):
        return it.eval(node.body)
    target, block = Target("scope"), Block()
    it.targets.append(target)
    try:
        with it.em.at(block):
            if it.run(node.body) is Flow.NEXT:
                target.exits.append(Exit("leave", block, None, it.em.span))
    finally:
        it.targets.pop()
    return _leave_scope(it, node, block, target.exits)


def _leave_scope(it: Interpreter, node: ast.FunctionDef, block: Block, exits: list[Exit]) -> Any:
    if len(exits) == 1 and exits[0].block is block:
        # One way out, at the end: the body simply stands in place of the call.
        it.em.block.ops += block.ops
        return exits[0].values
    template = _join_all(it, node, exits)
    types_ = tuple(t for t in leaves(template) if isinstance(t, TileType))
    for exit_ in exits:
        it.em.span = exit_.span
        with it.em.at(exit_.block):
            pairs = zip(leaves(template), leaves(exit_.values), strict=True)
            it.em.op("leave", [coerce(it.em, v, t) for t, v in pairs if isinstance(t, TileType)])
    it.mark(node)
    results = it.em.op("scope", regions=(block,), types=types_).results
    return fill(template, list(results))


def _join_all(it: Interpreter, node: ast.FunctionDef, exits: list[Exit]) -> Any:
    first = exits[0].values
    template = replace_leaves(first, [v.type if isinstance(v, Value) else v for v in leaves(first)])
    for exit_ in exits[1:]:
        if not same_structure(template, exit_.values):
            _differ(it, node, describe(first), describe(exit_.values), exit_)
        flat = []
        for a, b in zip(leaves(template), leaves(exit_.values), strict=True):
            joined = merge_type(a, b)
            if isinstance(joined, Conflict):
                _differ(it, node, joined.first, joined.second, exit_)
            flat.append(a if joined is None else joined)
        template = replace_leaves(template, flat)
    return template


def _differ(it: Interpreter, node: ast.FunctionDef, first: str, second: str, exit_: Exit) -> None:
    it.em.fail(
        Code.BRANCH_TYPE,
        f"`{node.name}` returns different types",
        span=exit_.span,
        expected=first,
        got=second,
        hint="return the same type on every path",
    )


def run_return(it: Interpreter, node: ast.Return) -> Flow:
    """`return`: ends this block of the grid, or gives an inlined function's result."""
    value = it.eval(node.value) if node.value is not None else None
    it.mark(node)
    it.em.left = True
    scope = next((t for t in reversed(it.targets) if t.kind == "scope"), None)
    if scope is not None:
        scope.exits.append(Exit("leave", it.em.block, value, it.em.span))
    elif value is not None:
        it.em.fail(
            Code.TYPE,
            "a kernel returns nothing",
            got=describe(value),
            hint="write results with out.store(tile)",
        )
    else:
        it.em.op("return")
    return Flow.ENDED
