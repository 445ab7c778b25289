"""Walks the syntax tree of a kernel with values instead of numbers, emitting IR on its way.

The walk itself is two tables, from syntax node to function: `EXPRESSIONS` and `STATEMENTS`. This
file has what those functions share: the current frame, the captured names, calls into rules.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import getitem
from types import MethodType
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from ..base.dtypes import as_dtype
from ..base.errors import Code
from ..ir.core import Block
from ..ir.opdef import TypeRuleError
from ..lang.device_global import Global
from .captured import (
    Absent,
    Captured,
    frozen,
    is_settled,
    may_change,
    part_of_method,
    there_or_absent,
)
from .describe import article, describe
from .emit import Emitter
from .frame import Frame, assigned_names
from .rules import RULES
from .sources import BUILTINS


class Flow(Enum):
    """Whether the statements after this one can be reached."""

    NEXT = "next"
    ENDED = "ended"


@dataclass(eq=False, slots=True)
class Exit:
    """Where control leaves a loop or a scope; the terminator is added once types are known."""

    kind: str
    block: Block
    values: Any
    span: Any


@dataclass(eq=False, slots=True)
class Target:
    """What break, continue and return can leave: a loop, a scope, or an unrolled loop."""

    kind: str
    exits: list[Exit] = field(default_factory=list[Exit])
    carried: tuple[str, ...] = ()
    signal: str | None = None
    """How a round of an unrolled loop ended: break, continue, or by itself."""
    depth: int = 0


Evaluate: TypeAlias = Callable[["Interpreter", Any], Any]
Run: TypeAlias = Callable[["Interpreter", Any], Flow]

MAX_DEPTH = 64
MAX_ROUNDS = 1 << 16


class Interpreter:
    """The state of one compilation: emitter, frame, what can be left, what was captured."""

    def __init__(
        self,
        em: Emitter,
        frame: Frame,
        expressions: Mapping[type[ast.AST], Evaluate],
        statements: Mapping[type[ast.AST], Run],
    ) -> None:
        self.em = em
        self.frame = frame
        self.expressions = expressions
        self.statements = statements
        self.targets: list[Target] = []
        self.captured: dict[tuple[Hashable, str], Captured] = {}
        self.loop_memory: dict[tuple[Any, ...], Any] = {}
        self.depth = 0
        self.rounds = 0
        self.active: list[ast.AST] = []

    # --- walking -----------------------------------------------------------------------------

    def mark(self, node: ast.AST) -> None:
        """Make this node the place that ops and complaints get."""
        self.em.span = self.frame.span(node)

    def eval(self, node: ast.expr) -> Any:
        """The value of an expression."""
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
            if handler(self, node) is Flow.ENDED:
                return Flow.ENDED
        return Flow.NEXT

    def unsupported(self, node: ast.AST) -> NoReturn:
        """Refuse syntax that kernels do not have."""
        what, hint = SYNTAX.get(type(node), (f"`{type(node).__name__}` syntax", None))
        self.em.fail(Code.SYNTAX, f"{what} is not supported in kernels", hint=hint)

    def unroll(self, items: Sequence[Any]) -> Sequence[Any]:
        """Items that a loop or a comprehension goes over while compiling, if it is not too long."""
        count = _length(items)
        self.rounds += count
        if self.rounds > MAX_ROUNDS:
            self.em.fail(
                Code.RESOURCES,
                "too many loop iterations are unrolled",
                expected=f"at most {MAX_ROUNDS} in a kernel",
                got=f"{count} here, {self.rounds} so far",
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
        """What a name stands for: local, of an enclosing function, captured, or a builtin."""
        frame: Frame | None = self.frame
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
        """What a name that no frame binds stands for."""
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
        self.em.fail(Code.NAME, f"unknown name `{name}`", hint=suggestion(name, known))

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
        if not isinstance(value, type) and (
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
        """Remember that `read` gave this value; `owner` and `name` tell it from others."""
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
        """What Python says of static values; where code from outside says it, it is remembered."""
        value = ask(*about)
        if not all(map(is_settled, about)):
            self.note(tuple(map(id, about)), name, partial(ask, *about), value)
        return value

    def watch(self, name: str, value: Any) -> None:
        """Remember what is in lists and dicts from outside, for later launches."""
        if may_change(value):
            self.note(id(value), name, partial(frozen, value), frozen(value))

    def watch_items(self, items: dict[str, Any]) -> None:
        """Remember what a dict from outside has, each item for itself: that is quickly compared."""
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
            self.em.fail(
                Code.CALL,
                f"`{label}` cannot be called like this: {error}",
                expected=f"{label}{_shown(rule)}",
            )
        try:
            return rule(self.em, *args, **keywords)
        except TypeRuleError as error:
            got = ", ".join(describe(a) for a in args)
            self.em.fail(Code.TYPE, f"`{label}` does not accept these values: {error}", got=got)


WEAK = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool))
"""NumPy's default types."""


def _number(scalar: np.generic) -> Any:
    """A scalar of NumPy as ours: its default int, float and bool are weak, others keep a type."""
    if scalar.dtype in WEAK:
        return scalar.item()
    typed = cast("Callable[[Any], Any]", as_dtype(scalar.dtype))
    return typed(scalar.item())


def _length(items: Sequence[Any]) -> int:
    """How many items there are; Python's own `len` fails for ranges beyond 64 bits."""
    if isinstance(items, range):
        return max(0, -((items.start - items.stop) // items.step))
    return len(items)


def signature(rule: Callable[..., Any]) -> inspect.Signature:
    """The signature of a rule."""
    return inspect.signature(rule)


def _shown(rule: Callable[..., Any]) -> str:
    """A rule's signature as the user sees it: without the emitter, without annotations."""
    parameters = list(signature(rule).parameters.values())[1:]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(plain))


def suggestion(name: str, known: Sequence[str]) -> str | None:
    """A hint naming what the user may have meant."""
    close = difflib.get_close_matches(name, [k for k in known if not k.startswith("__")], 1, 0.75)
    return f"did you mean `{close[0]}`?" if close else None


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
