"""The source of a Python function and the outside values it reads, with detection of changes.

A name is watched where it is read: a global, a cell, an attribute of a module, a class, an object.
So are the answers of outside Python code about such an object: its length, its truth, its items. Of
a function that a kernel calls, the code and the used defaults are watched.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import functools
import inspect
import itertools
import linecache
import operator
import os
import textwrap
import time
import types
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, MappingProxyType, MethodType
from typing import Any, Literal, TypeAlias

from ...base.errors import Code, CompileError
from ...base.source import SourceFile, Span
from ...base.trees import children
from .parameters import PLAIN, Parameter, Terms

# -------------------------------------------------------------------------------------------------
# Staleness: whether a file may have changed since this process loaded code from it.

SLACK = 1.0
"""Seconds: clocks of files and of processes are coarse."""


def is_edited(filename: str) -> bool:
    """Return whether a file was written since this process began; False for other sources."""
    try:
        found = Path(filename).stat()
    except (OSError, ValueError):
        return False
    return max(found.st_mtime, found.st_ctime) > _began() - SLACK


@cache
def _began() -> float:
    """Return the time at which this process began, in seconds since the epoch."""
    try:
        stat = Path("/proc/self/stat").read_text()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        # The second field is the name of the program, in brackets, which may have spaces.
        ticks = int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):  # another system: its first use of this package
        return time.time()
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def is_rewritten(code: CodeType) -> bool:
    """Return whether pytest has rewritten assertions, so that no source text yields this code."""
    return any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames))


def essence(code: CodeType) -> tuple[object, ...]:
    """Return a digest of code that does not depend on its lines or its surroundings.

    Functions of modules that the same text imports are called in another way than methods are.
    """
    steps = [
        (SAME.get(step.opname, step.opname), _argument(code, step))
        for step in dis.get_instructions(code)
        if step.opname not in AROUND
    ]
    return (code.co_name, code.co_varnames, code.co_flags, *steps)


def _argument(code: CodeType, step: dis.Instruction) -> object:
    if step.opcode in JUMPS:
        return None
    value = step.argval
    if step.opname == "KW_NAMES" and step.arg is not None:
        value = code.co_consts[step.arg]
    return essence(value) if isinstance(value, CodeType) else (type(value), repr(value))


JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
SAME = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL"}
AROUND = frozenset(("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG"))


# -------------------------------------------------------------------------------------------------
# Source lookup: the syntax tree of a function, its file, and how its names resolve.

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda
Dialect: TypeAlias = Literal["tile", "simt"]
"""Whether a kernel is written over tiles or for one thread."""

SOURCE_HINT = (
    "put the kernel in a file or a notebook cell, or make it with tw.exec(source), or pass its "
    "text with @tw.entry(source=...)"
)


WRAPPED = {
    "staticmethod": "decorate the other way round: @staticmethod above @tw.entry",
    "classmethod": "a kernel takes no class: write @staticmethod above @tw.entry",
    "Entry": "it is a kernel already: one decorator is enough",
    "SimtEntry": "it is a kernel already: one decorator is enough",
}
ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
DISTURBED = "recursion depth mismatch"
"""What Python 3.11 says where another thread parsed in between: it counts for both together."""
PATIENCE = 100


@dataclass(frozen=True, eq=False, slots=True)
class FunctionSource:
    """A Python function as data: its tree, its file and the namespaces its names come from.

    `library` says that the standard library defines it: whatever happens in it is shown at the
    line that calls it, and its names never change.
    """

    name: str
    node: FunctionNode
    file: SourceFile
    globals: Mapping[str, Any] = field(repr=False)
    cells: Mapping[str, types.CellType] = field(repr=False)
    library: bool = False

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function; a lambda has none."""
        return self.node.body if isinstance(self.node, ast.FunctionDef) else []

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        """Return the place of a node of this function."""
        if self.library and caller is not None:
            return caller
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end_column = getattr(node, "end_col_offset", None) or column
        return Span(self.file, line, column, end_line, end_column, self.name, caller)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class KernelSource:
    """A captured entry: its source and what its parameters say."""

    name: str
    source: FunctionSource
    parameters: tuple[Parameter, ...]
    constants: tuple[Parameter, ...]
    unsafe: bool
    doc: str | None = None
    dialect: Dialect = "tile"
    terms: Terms = PLAIN
    warned: set[str] = field(default_factory=set[str], repr=False)
    """Outputs that it was warned of already."""


def function_source(function: Callable[..., Any], text: str | None = None) -> FunctionSource:
    """Return the source of a Python function, from `text` if given, else from its file."""
    code: types.CodeType | None = getattr(function, "__code__", None)
    if code is None:
        raise CompileError(
            f"{function!r} is not a Python function",
            code=Code.SOURCE,
            expected="a function written with def",
            got=type(function).__name__,
            hint=WRAPPED.get(type(function).__name__),
        )
    if code.co_flags & ASYNCHRONOUS:
        raise CompileError(
            f"kernels cannot be `async def`: `{code.co_name}`",
            code=Code.SOURCE,
            expected="a function written with def",
            got="async def",
            hint="write it with def, and await its launch on the host",
        )
    if text is None:
        text = _text_of(code, function.__globals__)
        node = _find(_parse(text), code)
    else:
        text = textwrap.dedent(text)  # as inspect.getsource gives that of a method
        node = _find_given(text, code)
    if node is None:
        raise CompileError(
            f"the source of `{code.co_name}` cannot be found",
            code=Code.SOURCE,
            expected="a function whose source is available",
            got=f"{code.co_filename}:{code.co_firstlineno}",
            hint=SOURCE_HINT,
        )
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    file = SourceFile(code.co_filename, text)
    return FunctionSource(code.co_name, node, file, function.__globals__, cells)


LIBRARY = f"{__name__.partition('.')[0]}.lang."
"""How the names of modules begin that hold functions written in the kernel language."""


def is_library(function: types.FunctionType) -> bool:
    """Return whether the standard library of the language defines a function."""
    return (function.__module__ or "").startswith(LIBRARY)


@functools.cache
def library_source(function: types.FunctionType) -> FunctionSource:
    """Return the source of a function of the standard library."""
    return replace(function_source(function), library=True)


_seen: dict[str, tuple[str, ...]] = {}
"""The texts that each file was seen to have, the latest first."""
MOST_TEXTS = 8
FUTURE = (
    functools.reduce(
        operator.or_,
        [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names],
    )
    & ~inspect.CO_NESTED
)
"""The bits of a code's flags that say with which features of later versions it was compiled."""


def _text_of(code: types.CodeType, names: dict[str, Any]) -> str:
    """Return the text of the file that a function is from.

    Files are edited while a program runs, and imported again or not: of several texts it is the
    one that the running code was made from. If none is, there is nothing to compile.
    """
    name = code.co_filename
    kept = "".join(linecache.getlines(name, names))
    linecache.checkcache(name)
    now = "".join(linecache.getlines(name, names))
    texts = tuple(dict.fromkeys(t for t in (now, kept, *_seen.get(name, ())) if t))
    _seen[name] = texts[:MOST_TEXTS]
    edited = is_edited(name)
    if len(texts) == 1 and not edited:
        return texts[0]
    flags = code.co_flags & FUTURE
    found = next((t for t in texts if code in _codes(t, name, flags)), None)
    if found is None:  # a line was added above it, perhaps
        found = next((t for t in texts if _has_alike(_codes(t, name, flags), code)), None)
    if found is None and texts and edited and not is_rewritten(code):
        raise CompileError(
            f"the file of `{code.co_name}` has changed since the function was defined",
            code=Code.SOURCE,
            expected="the source from which the running code was compiled",
            got=f"another text of {code.co_filename}",
            hint="import the module again, or restart the program; or keep the text: "
            "@tw.entry(source=...)",
        )
    return found or now or kept


@functools.lru_cache(maxsize=16)
def _codes(text: str, name: str, flags: int) -> frozenset[types.CodeType]:
    """Return the code objects of all functions of a text, as Python compiles it."""
    try:
        found = [compile(text, name, "exec", flags, dont_inherit=True)]
    except SyntaxError:
        return frozenset()
    for code in found:
        found += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return frozenset(found)


def _has_alike(codes: frozenset[types.CodeType], code: types.CodeType) -> bool:
    """Return whether some code is equivalent to this one, wherever it is defined."""
    wanted = essence(code)
    return any(essence(c) == wanted for c in codes if c.co_name == code.co_name)


def _find_given(text: str, code: types.CodeType) -> FunctionNode:
    try:
        node = _find(_tree(text), code)
    except SyntaxError as error:
        raise CompileError(
            f"the source given for `{code.co_name}` is not Python",
            code=Code.SOURCE,
            expected="the text of the function",
            got=f"{error.msg}, in line {error.lineno}",
        ) from None
    if node is None:
        raise CompileError(
            f"the source given for `{code.co_name}` must define it exactly once",
            code=Code.SOURCE,
            expected=f"a text with one `def {code.co_name}(...)`",
            got=repr(text.strip().partition("\n")[0]),
        )
    return node


@functools.lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module:
    try:
        return _tree(text)
    except SyntaxError:
        # The file was edited into something broken after it was imported.
        return ast.Module([], [])


def _tree(text: str) -> ast.Module:
    for _ in range(PATIENCE):
        try:
            return ast.parse(text)
        except SystemError as error:
            if DISTURBED not in str(error):
                raise
    return ast.parse(text)


@functools.lru_cache(maxsize=64)
def _functions(tree: ast.Module) -> tuple[FunctionNode, ...]:
    """Return the functions of a tree, which is walked once for all kernels of a file."""
    return tuple(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda))


def _find(tree: ast.Module, code: types.CodeType) -> FunctionNode | None:
    matching = [n for n in _functions(tree) if _name(n) == code.co_name]
    here = [n for n in matching if _first_line(n) == code.co_firstlineno]
    if len(here) > 1:
        return _by_column(here, code)
    # Text given by hand need not keep the line numbers of the running code.
    return here[0] if here else matching[0] if len(matching) == 1 else None


def _by_column(nodes: list[FunctionNode], code: types.CodeType) -> FunctionNode | None:
    """Return the lambda among several on one line, by the columns of the code."""
    # Instructions that stand for no text of their own have an empty stretch.
    spans = [(p[2], p[3]) for p in code.co_positions()]
    columns = [a for a, b in spans if a is not None and b is not None and a < b]
    inside = [
        n
        for n in nodes
        if columns and n.col_offset <= min(columns) and max(columns) <= (n.end_col_offset or 0)
    ]
    return inside[-1] if inside else nodes[0]


def _name(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _first_line(node: FunctionNode) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(d.lineno for d in decorators)])


BUILTINS: Mapping[str, Any] = vars(builtins)

_made = itertools.count(1)


def execute(source: str, namespace: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run Python source that defines kernels and return its namespace.

    Kernels made by plain `exec` have no source to compile; here the text is kept for them.
    """
    filename = f"<tilewright source {next(_made)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = {} if namespace is None else namespace
    names.setdefault("__name__", filename)
    exec(compile(source, filename, "exec", dont_inherit=True), names)
    return names


# --- the outside values that a kernel reads, recorded so that launches can detect a change -----

GONE = (LookupError, ValueError, AttributeError)
"""What reading a name raises that means nothing any more: it was deleted, its cell is empty."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A name read from outside the kernel, and what it was: re-checked before each launch."""

    read: Callable[[], Any]
    value: Any
    name: str

    def changed(self) -> bool:
        """Return whether the name has another value now, or none."""
        try:
            now = self.read()
        except GONE:
            return True
        return now is not self.value and not same(now, self.value)


def same(a: Any, b: Any) -> bool:
    """Return whether two constants mean the same: 1, 1.0 and True do not, nor do 0.0 and -0.0."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    parts = children(a)
    if parts is not None:
        others = children(b) or []
        return len(parts) == len(others) and all(map(same, parts, others))
    if isinstance(a, int | float | str):
        return bool(a == b) and repr(a) == repr(b)
    # Others mean the same if they say so, and look alike: fractions, dates.
    return (a == b) is True and repr(a) == repr(b)


class Absent:
    """The value of a name that a namespace does not have."""


def there_or_absent(namespace: Mapping[str, Any], name: str) -> Any:
    """Return the value of a name in a namespace, or `Absent`."""
    return namespace.get(name, Absent)


MUTABLE = (list, dict, set, deque, bytearray, MappingProxyType)


def frozen(x: Any) -> Any:
    """Return the present contents of an outside value as tuples: a list may change later."""
    if isinstance(x, dict | MappingProxyType):
        return tuple((key, frozen(value)) for key, value in x.items())
    if isinstance(x, set):
        return tuple(sorted(map(repr, x)))
    parts = x if isinstance(x, list | tuple | deque | bytearray) else children(x)
    return x if parts is None else tuple(map(frozen, parts))


def may_change(x: Any) -> bool:
    """Return whether the contents of an object may change while it stays the same object."""
    return isinstance(x, MUTABLE) or any(map(may_change, children(x) or ()))


IMMUTABLE = (int, float, complex, bool, str, bytes, tuple, range, slice, type(None))
"""Classes of which objects have attributes that never change."""
HEAP_TYPE = 1 << 9
"""The flag of classes that Python code has made."""
PACKAGE = __name__.partition(".")[0]


def is_settled(x: Any) -> bool:
    """Return whether operators and functions on a value depend on nothing but the value.

    Classes written in Python have methods, and objects of theirs have attributes that may change.
    What is in lists and dicts is watched where they are captured.
    """
    if isinstance(x, tuple | list | dict | set):
        return not is_written(type(x)) and all(map(is_settled, x))
    return isinstance(x, Enum | type) or not is_written(type(x))


def is_written(cls: type) -> bool:
    """Return whether a class is written in Python and is not part of this package."""
    return bool(cls.__flags__ & HEAP_TYPE) and cls.__module__.partition(".")[0] != PACKAGE


def part_of_method(owner: Any, name: str, part: str) -> Any:
    """Return the function or the object of a method, since each read makes a new method object."""
    method = getattr(owner, name)
    return getattr(method, part) if isinstance(method, MethodType) else method
