"""One running function of the kernel: what its names stand for, and where it was called from."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.source import Span
from .sources import FunctionNode, FunctionSource


@dataclass(eq=False, slots=True)
class Frame:
    """Names of one activation. `unsure` says why a name may be unbound."""

    source: FunctionSource
    caller: Span | None = None
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    unsure: dict[str, str] = field(default_factory=dict[str, str])
    outer: Frame | None = None
    """The frame a nested function or lambda was written in."""

    def span(self, node: ast.AST) -> Span:
        """The place of a node, with the chain of calls that led here."""
        return self.source.span(node, self.caller)

    def bind(self, name: str, value: Any) -> None:
        """Bind a name; from here it is surely bound."""
        self.names[name] = value
        self.unsure.pop(name, None)

    def unbind(self, name: str, why: str) -> None:
        """Make a name unsure."""
        self.names.pop(name, None)
        self.unsure[name] = why

    def snapshot(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The bindings as they are now."""
        return dict(self.names), dict(self.unsure)

    def restore(self, state: tuple[Mapping[str, Any], Mapping[str, str]]) -> None:
        """Go back to a snapshot."""
        self.names, self.unsure = dict(state[0]), dict(state[1])


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """A function or lambda written inside a kernel."""

    node: FunctionNode
    frame: Frame
    signature: inspect.Signature

    @property
    def __name__(self) -> str:
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


def closure(node: FunctionNode, frame: Frame, evaluate: Callable[[ast.expr], Any]) -> Closure:
    """A function as it is being written: its defaults are evaluated now, as Python does."""
    a, kinds = node.args, inspect.Parameter
    defaults = [kinds.empty] * (len(a.posonlyargs) + len(a.args) - len(a.defaults))
    defaults += [evaluate(d) for d in a.defaults]
    parameters: list[inspect.Parameter] = []
    for k, arg in enumerate((*a.posonlyargs, *a.args)):
        kind = kinds.POSITIONAL_ONLY if k < len(a.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD
        parameters.append(kinds(arg.arg, kind, default=defaults[k]))
    if a.vararg:
        parameters.append(kinds(a.vararg.arg, kinds.VAR_POSITIONAL))
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        value = kinds.empty if default is None else evaluate(default)
        parameters.append(kinds(arg.arg, kinds.KEYWORD_ONLY, default=value))
    return Closure(node, frame, inspect.Signature(parameters))


def assigned_names(nodes: list[ast.stmt]) -> list[str]:
    """The names that statements may bind, in order of appearance; nested functions excluded."""
    found: dict[str, None] = {}
    pending: list[ast.AST] = list(reversed(nodes))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
            continue
        if not isinstance(node, ast.Lambda):
            pending += reversed(list(ast.iter_child_nodes(node)))
    return list(found)
