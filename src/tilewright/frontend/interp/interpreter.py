"""Abstract interpretation of a kernel's syntax tree over typed values, emitting IR.

Sections: call frames, the interpreter, and assignment targets.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import getitem
from types import MethodType, ModuleType
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from ...base.dtypes import as_dtype
from ...base.errors import Code
from ...base.source import Span
from ...base.trees import is_record, part_names
from ...ir.attrs import DebuggedFunction
from ...ir.core import Block, Value
from ...ir.opdef import TypeRuleError
from ...lang.device_global import Global
from ..capture.sources import (
    BUILTINS,
    Absent,
    Captured,
    FunctionNode,
    FunctionSource,
    frozen,
    is_settled,
    may_change,
    part_of_method,
    there_or_absent,
)
from ..rules import RULES
from ..semantics.builder import SemanticBuilder
from ..semantics.values import Indexed, SharedRef, article, describe, receiver_class
from . import advice

# -------------------------------------------------------------------------------------------------
# Call frames: the bindings of a running function's names, and the location of its call.


@dataclass(eq=False, slots=True)
class CallFrame:
    """The names of one activation. `unsure` has the reason why a name may be unbound."""

    source: FunctionSource
    caller: Span | None = None
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    unsure: dict[str, str] = field(default_factory=dict[str, str])
    outer: CallFrame | None = None
    """The frame a nested function or lambda was written in."""

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node, with the chain of calls that led here."""
        return self.source.span(node, self.caller)

    def bind(self, name: str, value: Any) -> None:
        """Bind a name; from here it is provably bound."""
        self.names[name] = value
        self.unsure.pop(name, None)

    def unbind(self, name: str, why: str) -> None:
        """Mark a name as possibly unbound."""
        self.names.pop(name, None)
        self.unsure[name] = why

    def snapshot(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the bindings as they are now."""
        return dict(self.names), dict(self.unsure)

    def restore(self, state: tuple[Mapping[str, Any], Mapping[str, str]]) -> None:
        """Restore a snapshot."""
        self.names, self.unsure = dict(state[0]), dict(state[1])


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """A function or lambda written inside a kernel."""

    node: FunctionNode
    frame: CallFrame
    signature: inspect.Signature

    @property
    def __name__(self) -> str:
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


def closure(node: FunctionNode, frame: CallFrame, evaluate: Callable[[ast.expr], Any]) -> Closure:
    """Return a function as it is being written: its defaults are evaluated now, as Python does."""
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
    """Return the names that statements may bind, in order; nested functions excluded."""
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


# -------------------------------------------------------------------------------------------------
# The interpreter: static values are computed at compile time, dynamic ones become IR.
#
# Two tables map syntax nodes to functions: `EXPRESSIONS` and `STATEMENTS`. This section has what
# those functions share: the current frame, the captured names, calls into rules.


class Flow(Enum):
    """Whether the statements after this one are reachable."""

    NEXT = "next"
    ENDED = "ended"


@dataclass(eq=False, slots=True)
class FlowExit:
    """An exit from a loop or a scope; its terminator is added once types are known."""

    kind: str
    block: Block
    values: Any
    span: Any


@dataclass(eq=False, slots=True)
class Target:
    """A target of break, continue and return: a loop, a scope, or an unrolled loop."""

    kind: str
    exits: list[FlowExit] = field(default_factory=list[FlowExit])
    carried: tuple[str, ...] = ()
    signal: str | None = None
    """How an iteration of an unrolled loop ended: break, continue, or by itself."""
    depth: int = 0


Evaluate: TypeAlias = Callable[["Interpreter", Any], Any]
Run: TypeAlias = Callable[["Interpreter", Any], Flow]

MAX_DEPTH = 64
MAX_UNROLLED = 1 << 16


class Interpreter:
    """The state of one compilation: emitter, frame, what can be left, what was captured."""

    def __init__(
        self,
        em: SemanticBuilder,
        frame: CallFrame,
        expressions: Mapping[type[ast.AST], Evaluate],
        statements: Mapping[type[ast.AST], Run],
        before: Callable[[Interpreter, ast.stmt], None] = lambda it, node: None,
    ) -> None:
        self.em = em
        self.frame = frame
        self.expressions = expressions
        self.statements = statements
        self.before = before
        """Called before each statement."""
        self.targets: list[Target] = []
        self.captured: dict[tuple[Hashable, str], Captured] = {}
        self.loop_memory: dict[tuple[Any, ...], Any] = {}
        self.depth = 0
        self.unrolled = 0
        self.active: list[ast.AST] = []
        self.stepped = False
        """Whether there is an event for each statement, for a debugger."""
        self.debugged: dict[FunctionSource, DebuggedFunction] = {}
        """The functions in these events."""
        self.closed_over: list[CallFrame] = []

    def closure(self, node: FunctionNode) -> Closure:
        """Return a function that is written here; its frame will refer to it."""
        self.closed_over.append(self.frame)
        return closure(node, self.frame, self.eval)

    def release(self) -> None:
        """End the compilation: break reference cycles.

        The IR is then freed piece by piece as passes replace it. A cycle would keep all of it for
        the garbage collector, which holds the GIL while it visits every object.
        """
        del self.em.inline
        for frame in self.closed_over:
            frame.names.clear()
            frame.unsure.clear()

    # --- walking -----------------------------------------------------------------------------

    def mark(self, node: ast.AST) -> None:
        """Set the node that later ops and errors refer to."""
        self.em.span = self.frame.span(node)

    def eval(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        handler = self.expressions.get(type(node))
        self.mark(node)
        if handler is None:
            self.unsupported(node)
        return handler(self, node)

    def run(self, body: Sequence[ast.stmt]) -> Flow:
        """Run statements in order; what follows an end is never reached and is not compiled."""
        for node in body:
            self.mark(node)
            handler = self.statements.get(type(node))
            if handler is None:
                self.unsupported(node)
            self.before(self, node)
            if handler(self, node) is Flow.ENDED:
                return Flow.ENDED
        return Flow.NEXT

    def unsupported(self, node: ast.AST) -> NoReturn:
        """Reject syntax that kernels do not have."""
        what, hint = SYNTAX.get(type(node), (f"`{type(node).__name__}` syntax", None))
        self.em.fail(Code.SYNTAX, f"{what} is not supported in kernels", hint=hint)

    def unroll(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the items of an unrolled loop or comprehension, if there are not too many."""
        count = _length(items)
        self.unrolled += count
        if self.unrolled > MAX_UNROLLED:
            self.em.fail(
                Code.RESOURCES,
                "too many loop iterations are unrolled",
                expected=f"at most {MAX_UNROLLED} in a kernel",
                got=f"{count} here, {self.unrolled} so far",
                hint="a loop over range(...) is not unrolled: its variable is not a constant",
            )
        return items

    @contextmanager
    def inside(self, block: Block, target: Target | None = None) -> Generator[Block, None, None]:
        """Emit into a block that may not run, or run often; perhaps as something to leave."""
        depth = self.em.depth
        self.em.depth = depth + 1
        if target is not None:
            self.targets.append(target)
        try:
            with self.em.at(block):
                yield block
        finally:
            self.em.depth = depth
            if target is not None:
                self.targets.pop()

    # --- names -------------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """Return the value of a name: local, of an enclosing function, captured, or a builtin."""
        frame: CallFrame | None = self.frame
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            if name in frame.unsure:
                self.em.fail(
                    Code.UNBOUND,
                    f"`{name}` may be unbound here",
                    got=frame.unsure[name],
                    hint=f"give `{name}` a value before, on every path",
                )
            frame = frame.outer
        return self.from_outside(name)

    def from_outside(self, name: str) -> Any:
        """Return the value of a name that no frame binds."""
        source = self.frame.source
        if name in source.cells:
            cell = source.cells[name]
            return self.capture(id(cell), name, partial(getattr, cell, "cell_contents"))
        if name in source.globals:
            scope = source.globals
            return self.capture(id(scope), name, partial(getitem, scope, name))
        if name in BUILTINS:
            read: Callable[[], Any] = partial(there_or_absent, source.globals, name)
            self.note(id(source.globals), name, read, Absent)
            return self.capture(id(BUILTINS), name, partial(getitem, BUILTINS, name))
        if name in assigned_names(self.frame.source.body):
            self.em.fail(
                Code.UNBOUND,
                f"`{name}` is used before it is bound",
                hint=f"give `{name}` a value before this line, on every path",
            )
        known = [*self.frame.names, *source.cells, *source.globals, *BUILTINS]
        self.em.fail(Code.NAME, f"unknown name `{name}`", hint=advice.for_name(name, known))

    def capture(self, owner: int, name: str, read: Callable[[], Any]) -> Any:
        """Read a value from outside the kernel and remember it for later launches."""
        try:
            value = read()
        except (ValueError, AttributeError):  # an empty cell, a module half loaded
            self.em.fail(Code.NAME, f"`{name}` has no value yet")
        self.note(owner, name, read, value)
        self.watch(name, value)
        if isinstance(value, np.generic):
            return _number(value)
        if not isinstance(value, type | ModuleType) and (
            hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")
        ):
            self.em.fail(
                Code.CAPTURE,
                f"`{name}` is an array from outside the kernel",
                expected="a constant",
                got=article(type(value).__name__),
                hint=f"pass it: add a parameter `{name}: tl.Tensor`",
            )
        if isinstance(value, Global):
            self.em.global_names.setdefault(value, name)
        return value

    def note(self, owner: Hashable, name: str, read: Callable[[], Any], value: Any) -> None:
        """Remember that `read` returned this value; `owner` and `name` identify the read."""
        if self.frame.source.library:
            return
        self.captured[owner, name] = Captured(read, value, name)

    def attribute(self, owner: Any, name: str) -> Any:
        """Read an attribute of an object or a class from outside, and remember it."""
        value = getattr(owner, name)
        if not isinstance(value, MethodType):
            return self.capture(id(owner), name, partial(getattr, owner, name))
        for part in ("__func__", "__self__"):
            read = partial(part_of_method, owner, name, part)
            self.note((id(owner), part), name, read, getattr(value, part))
        return value

    def observe(self, name: str, ask: Callable[..., Any], *about: Any) -> Any:
        """Return a property of static values; remember it if outside code computed it."""
        value = ask(*about)
        if not all(map(is_settled, about)):
            self.note(tuple(map(id, about)), name, partial(ask, *about), value)
        return value

    def watch(self, name: str, value: Any) -> None:
        """Remember the contents of captured lists and dicts, for later launches; the fields of
        records too, since `object.__setattr__` changes them.
        """
        if is_record(value):
            for part in part_names(value):
                field = getattr(value, part)
                self.note(id(value), part, partial(getattr, value, part), field)
                self.watch(part, field)
        elif isinstance(value, tuple):
            for part in value:
                self.watch(name, part)
        elif may_change(value):
            self.note(id(value), name, partial(frozen, value), frozen(value))

    def watch_items(self, items: dict[str, Any]) -> None:
        """Remember each item of a captured dict, which is fast to compare."""
        self.note(id(items), "len", partial(len, items), len(items))
        for key, value in items.items():
            self.note(id(items), key, partial(getitem, items, key), value)
            self.watch(key, value)

    # --- rules -------------------------------------------------------------------------------

    def apply(self, key: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
        """Call the rule for an operation on values."""
        rule = RULES[key]
        keywords = dict(kwargs or {})
        label = key.removeprefix("builtins.").removeprefix("operator.")
        try:
            signature(rule).bind(self.em, *args, **keywords)
        except TypeError as error:
            _, *parameters = signature(rule).parameters.values()  # without the builder
            self.em.fail(
                Code.CALL,
                f"`{label}` cannot be called like this: {error}",
                expected=f"{label}{signature_text(parameters)}",
                hint=advice.for_call(key, keywords, signature(rule).parameters),
            )
        try:
            return rule(self.em, *args, **keywords)
        except TypeRuleError as error:
            got = ", ".join(describe(a) for a in args)
            self.em.fail(Code.TYPE, f"`{label}` does not accept these values: {error}", got=got)


WEAK = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool))
"""NumPy's default types."""


def _number(scalar: np.generic) -> Any:
    """Return a NumPy scalar as ours: default int, float and bool are weak, others keep a type."""
    if scalar.dtype in WEAK:
        return scalar.item()
    typed = cast("Callable[[Any], Any]", as_dtype(scalar.dtype))
    return typed(scalar.item())


def _length(items: Sequence[Any]) -> int:
    """Return the number of items; Python's own `len` fails for ranges beyond 64 bits."""
    if isinstance(items, range):
        return max(0, -((items.start - items.stop) // items.step))
    return len(items)


def signature(rule: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a rule."""
    return inspect.signature(rule)


def signature_text(parameters: Iterable[inspect.Parameter]) -> str:
    """Return a signature as messages show it: without annotations."""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(plain)).replace("=Ellipsis", "=...")


SYNTAX: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.ClassDef: ("a class definition", "define it outside the kernel"),
    ast.Try: ("try", "kernels cannot raise; use assert"),
    ast.Raise: ("raise", "use assert condition, message"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.Global: ("global", "return the value instead"),
    ast.Nonlocal: ("nonlocal", "return the value instead"),
    ast.Delete: ("del", None),
    ast.Match: ("match", "use if / elif / else"),
    ast.Dict: ("a dict", "use a tuple, a NamedTuple or a frozen dataclass"),
    ast.Set: ("a set", "use a tuple"),
    ast.DictComp: ("a dict comprehension", "use a for loop"),
    ast.SetComp: ("a set comprehension", "use a for loop"),
    ast.Await: ("await", "await on the host, around the launch"),
    ast.AsyncFor: ("async for", None),
    ast.AsyncWith: ("async with", None),
    ast.AsyncFunctionDef: ("async def", None),
    ast.Yield: ("yield", None),
    ast.YieldFrom: ("yield from", None),
}


# -------------------------------------------------------------------------------------------------
# Assignment targets: names, and tuples of names.


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
