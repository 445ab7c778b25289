"""Kernels in other processes: by reference to their module, or else rebuilt from their source.

What is pickled is the name of a kernel, and as a fallback its text, with its last decorator and the
names that the text uses: modules by name, functions of the kernel language as text themselves,
other values pickled. A process that can import the kernel, and finds the same text, has its own.
"""

from __future__ import annotations

import ast
import pickle
import symtable
import sys
import textwrap
import types
from functools import reduce
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import CompileError, KernelCacheError
from ..frontend.capture.sources import FunctionSource, execute, function_source

if TYPE_CHECKING:
    from .definition import Entry

MAIN = "__main__"
FUTURE = "from __future__ import annotations\n"


class Text(NamedTuple):
    """The text of a function, and what its names stand for."""

    name: str
    text: str
    names: dict[str, Any]


class Module(NamedTuple):
    """A module, by name."""

    name: str


def reduced(entry: Entry) -> tuple[Any, ...]:
    """Return how a kernel is pickled: what makes it again, and of what."""
    function: Any = entry
    module, qualname = function.__module__, function.__qualname__
    source = entry.kernel.captured.source
    return restore, (module, qualname, _digest(source), _packed(source, module))


def restore(module: str, qualname: str, digest: str, packed: bytes | None) -> Any:
    """Return a kernel that was pickled: that of the module, if it is the same, or rebuilt."""
    found = _imported(module, qualname)
    if found is not None and (packed is None or _digest_of(found) == digest):
        return found
    if packed is None:
        raise KernelCacheError(
            f"the kernel `{qualname}` of the module {module!r} is not in this process",
            expected="a module that this process can import",
            got="neither the module nor the source of the kernel: some names that it uses cannot"
            " be pickled",
            hint="put the kernel into a module that all processes import",
        )
    key = sha256(f"{module}:{qualname}:".encode() + packed).digest()
    made = _MADE.get(key)
    if made is None:
        made = _MADE.setdefault(key, _as_kernel(_made(pickle.loads(packed), module), qualname))
    return made


_MADE: dict[bytes, Any] = {}
"""Kernels that were rebuilt, so that each is compiled once however often it arrives."""


def _imported(module: str, qualname: str) -> Any:
    """Return what a module has by that name; None: there is no such module, or no such name."""
    try:
        holder = sys.modules[module] if module == MAIN else import_module(module)
    except (ImportError, KeyError):
        return None
    try:
        return reduce(getattr, qualname.split("."), holder)
    except AttributeError:
        return None


def _digest(source: FunctionSource) -> str:
    return sha256(_text_of(source).encode()).hexdigest()


def _digest_of(found: Any) -> str:
    """Return the digest of a kernel that this process has; "" if it is none."""
    kernel = getattr(found, "kernel", None)
    source = getattr(getattr(kernel, "captured", None), "source", None)
    return _digest(source) if isinstance(source, FunctionSource) else ""


def _text_of(source: FunctionSource) -> str:
    """Return the lines of a function, from its last decorator on: the one that makes a kernel."""
    node = source.node
    decorators = getattr(node, "decorator_list", ())
    first = decorators[-1].lineno if decorators else node.lineno
    lines = source.file.text.splitlines(keepends=True)[first - 1 : node.end_lineno]
    return textwrap.dedent("".join(lines))


def _packed(source: FunctionSource, module: str) -> bytes | None:
    """Return the pickled text and names of a kernel; None: some cannot be pickled."""
    cloudpickle: Any = sys.modules.get("cloudpickle", pickle)
    try:
        packed: bytes = cloudpickle.dumps(_shipped(source, ()))
    except Exception:  # objects raise what they like where they cannot be pickled
        if module == MAIN:
            raise
        return None  # a process that imports the module needs none
    return packed


def _shipped(source: FunctionSource, outer: tuple[str, ...]) -> Text:
    """Return the text of a function with the names it uses, those of functions it calls too."""
    text = _text_of(source)
    names: dict[str, Any] = {}
    for name in _names_in(text):
        cell = source.cells.get(name)
        if cell is not None:
            names[name] = cell.cell_contents
        elif name in source.globals:
            names[name] = source.globals[name]
    inner = (*outer, source.name)
    return Text(
        source.name, text, {n: _value(v, inner) for n, v in names.items() if n not in inner}
    )


def _names_in(text: str) -> set[str]:
    """Return the names of other things that the text of a function uses, as `symtable` sees them:
    free in the function, or used where it is defined, as in decorators and annotations.
    """
    used: set[str] = set()
    tables = [symtable.symtable(text, "<kernel>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_outside = table.get_type() == "module"
        used |= {
            each.get_name()
            for each in table.get_symbols()
            if each.is_referenced() and (is_outside or each.is_global())
        }
    return used | _annotated(text)


def _annotated(text: str) -> set[str]:
    """Return the names in the annotations of a function's parameters."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg) and node.annotation is not None:
            found |= {each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name)}
    return found


def _value(value: Any, outer: tuple[str, ...]) -> Any:
    """Return a value as it is pickled."""
    if isinstance(value, types.ModuleType):
        return Module(value.__name__)
    if isinstance(value, types.FunctionType) and (
        value.__module__ == MAIN or "<locals>" in value.__qualname__
    ):
        try:
            return _shipped(function_source(value), outer)
        except CompileError:  # it has no source; the pickler may know another way
            return value
    return value


def _made(text: Text, module: str) -> Any:
    """Return the function, or kernel, of a text."""
    names = {name: _loaded(value, module) for name, value in text.names.items()}
    names["__name__"] = module
    return execute(FUTURE + text.text, names)[text.name]


def _loaded(value: Any, module: str) -> Any:
    if isinstance(value, Module):
        return import_module(value.name)
    return _made(value, module) if isinstance(value, Text) else value


def _as_kernel(found: Any, qualname: str) -> Any:
    """Return the kernel that was made, under the name it had."""
    if isinstance(found, types.FunctionType):
        raise KernelCacheError(
            f"the kernel `{qualname}` cannot be rebuilt from its source",
            expected="a function with the decorator @tw.entry or @simt.kernel",
            got="a function without one: its kernel was made by a call",
            hint="put the kernel into a module that all processes import",
        )
    found.__qualname__ = qualname
    return found
