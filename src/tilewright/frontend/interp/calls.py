"""Calls of language functions, Python functions (inlined), builtins, and types."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import math
import operator
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NoReturn

from ... import lang
from ...base.dtypes import DType, is_dtype
from ...base.errors import Code
from ...base.trees import is_record, leaves, replace_leaves
from ...ir.attrs import DebugEvent
from ...ir.core import Block, Value
from ...ir.types import TileType
from ...lang.marker import composed_body, declared_name
from ...lang.synonyms import SYNONYMS
from ..capture.sources import (
    FunctionNode,
    FunctionSource,
    function_source,
    is_library,
    library_source,
)
from ..rules import RULES
from ..semantics.values import Memory, describe
from . import advice
from .branches import Conflict, coerce, fill, merge_type, same_structure
from .debug_events import RESULT, tell, tell_again
from .interpreter import (
    MAX_DEPTH,
    CallFrame,
    Closure,
    Flow,
    FlowExit,
    Interpreter,
    Target,
    signature_text,
)
from .loops import RangeOf

# -------------------------------------------------------------------------------------------------
# Inlining: the body of a Python function runs in place of the call, early returns included.

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
    """Remember the code and the used defaults of a function: both may change before a launch."""
    watch_part(it, function, "__code__")
    names = list(signature.parameters)[len(args) :]
    left_out = [signature.parameters[n] for n in names if n not in kwargs]
    kinds = {p.kind for p in left_out if p.default is not inspect.Parameter.empty}
    for part in sorted({DEFAULTS[kind] for kind in kinds}):
        watch_part(it, function, part)
    if function.__kwdefaults__ and inspect.Parameter.KEYWORD_ONLY in kinds:
        it.watch_items(function.__kwdefaults__)


def watch_part(it: Interpreter, function: FunctionType, part: str) -> None:
    """Remember the parts of a function: its code, its defaults."""
    name = f"{function.__name__}.{part}"
    it.note(id(function), name, partial(getattr, function, part), getattr(function, part))


def inline(
    it: Interpreter,
    node: FunctionNode,
    source: FunctionSource,
    outer: CallFrame | None,
    args: Args,
    kwargs: Kwargs,
    signature: inspect.Signature,
) -> Any:
    """Run a Python function on values in place of the call."""
    frame = CallFrame(source, it.em.span, outer=outer)
    _enter(it, node)
    _bind(it, frame, node, args, kwargs, signature)
    saved, left, it.frame = it.frame, it.em.left, frame
    span = it.em.span
    it.depth += 1
    it.active.append(node)
    try:
        tell(it, DebugEvent.CALL)
        result = _run_body(it, node)
        tell(it, DebugEvent.RETURN, {RESULT: result})
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
    frame: CallFrame,
    node: FunctionNode,
    args: Args,
    kwargs: Kwargs,
    signature: inspect.Signature,
) -> None:
    called = "lambda" if isinstance(node, ast.Lambda) else node.name
    label = "the lambda" if isinstance(node, ast.Lambda) else f"`{called}`"
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        it.em.fail(
            Code.CALL,
            f"{label} cannot be called like this: {error}",
            expected=f"{called}{signature_text(signature.parameters.values())}",
            hint=advice.for_call(label, kwargs, signature.parameters),
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


def _run_body(it: Interpreter, node: FunctionNode) -> Any:
    if isinstance(node, ast.Lambda):
        tell_again(it, node)
        return it.eval(node.body)
    target, block = Target("scope"), Block()
    it.targets.append(target)
    try:
        with it.em.at(block):
            if it.run(node.body) is Flow.NEXT:
                target.exits.append(FlowExit("leave", block, None, it.em.span))
    finally:
        it.targets.pop()
    return _leave_scope(it, node, block, target.exits)


def _leave_scope(
    it: Interpreter, node: ast.FunctionDef, block: Block, exits: list[FlowExit]
) -> Any:
    if len(exits) == 1 and exits[0].block is block:
        # One exit, at the end: the body replaces the call.
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


def _join_all(it: Interpreter, node: ast.FunctionDef, exits: list[FlowExit]) -> Any:
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


def _differ(
    it: Interpreter, node: ast.FunctionDef, first: str, second: str, exit_: FlowExit
) -> None:
    it.em.fail(
        Code.BRANCH_TYPE,
        f"`{node.name}` returns different types",
        span=exit_.span,
        expected=first,
        got=second,
        hint="return the same type on every path",
    )


def run_return(it: Interpreter, node: ast.Return) -> Flow:
    """Run `return`: end this block of the grid, or pass on an inlined function's result."""
    value = it.eval(node.value) if node.value is not None else None
    it.mark(node)
    it.em.left = True
    scope = next((t for t in reversed(it.targets) if t.kind == "scope"), None)
    if scope is not None:
        scope.exits.append(FlowExit("leave", it.em.block, value, it.em.span))
    elif value is not None:
        it.em.fail(
            Code.TYPE,
            "a kernel cannot return a value",
            got=describe(value),
            hint="write results with out.store(tile)",
        )
    else:
        it.em.op("return")
    return Flow.ENDED


# -------------------------------------------------------------------------------------------------
# Dispatch of calls by the kind of callee.


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Method:
    """A method of a kernel value, looked up but not called yet."""

    key: str
    receiver: Any

    @property
    def described(self) -> str:
        """What messages call it."""
        return f"the method `{self.key.partition('.')[2]}`, which is not called"


def eval_call(it: Interpreter, node: ast.Call) -> Any:
    """Evaluate a call `f(...)`."""
    callee = it.eval(node.func)
    args: list[Any] = []
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            args += _spread(it, arg)
        else:
            args.append(it.eval(arg))
    kwargs = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            it.em.fail(Code.SYNTAX, "`**` in a call is not supported in kernels")
        kwargs[keyword.arg] = it.eval(keyword.value)
    it.mark(node)
    return call(it, callee, args, kwargs)


def _spread(it: Interpreter, node: ast.Starred) -> list[Any]:
    value = it.eval(node.value)
    if not isinstance(value, tuple | list | range):
        it.em.fail(Code.TYPE, "only tuples can be unpacked with `*`", got=describe(value))
    return list(value)


def call(it: Interpreter, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    """Call anything that may be called in a kernel."""
    if isinstance(callee, functools.partial):
        for part in ("func", "args"):  # `__setstate__` changes them
            it.note(
                id(callee), part, functools.partial(getattr, callee, part), getattr(callee, part)
            )
        it.watch_items(callee.keywords)
        return call(it, callee.func, [*callee.args, *args], {**callee.keywords, **kwargs})
    if isinstance(callee, Method):
        return it.apply(callee.key, [callee.receiver, *args], kwargs)
    name = declared_name(callee)
    if name is not None:
        return it.apply(name, args, kwargs)
    body = composed_body(callee)
    if body is not None:
        return call_function(it, body, args, kwargs)
    if is_dtype(callee):
        return _convert(it, callee, args, kwargs)
    if isinstance(callee, Closure):
        source = callee.frame.source
        return inline(it, callee.node, source, callee.frame, args, kwargs, callee.signature)
    if isinstance(callee, types.MethodType) and isinstance(callee.__func__, types.FunctionType):
        return call(it, callee.__func__, [callee.__self__, *args], kwargs)
    if isinstance(callee, types.FunctionType):
        _refuse_host(it, callee)
        return call_function(it, callee, args, kwargs)
    return _python(it, callee, args, kwargs)


def _convert(it: Interpreter, dtype: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) != 1 or kwargs:
        it.em.fail(Code.CALL, f"{dtype.name}(...) takes one value", got=f"{len(args)} values")
    if isinstance(args[0], Value):
        return it.em.cast(it.em.numbers(args[0]), dtype)
    return it.em.number(args[0], dtype)


# --- builtins and other Python callables -----------------------------------------------------


def _range(it: Interpreter, args: Args, kwargs: Kwargs) -> RangeOf:
    if kwargs or not 1 <= len(args) <= 3:
        it.em.fail(Code.CALL, "range takes 1 to 3 bounds", got=f"{len(args)} bounds")
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    return RangeOf(start, stop, args[2] if len(args) == 3 else 1)


def _isinstance(it: Interpreter, args: Args, kwargs: Kwargs) -> Any:
    it.em.fail(Code.CALL, "isinstance is not supported in kernels", hint="compare x.dtype instead")


def _breakpoint(it: Interpreter, args: Args, kwargs: Kwargs) -> None:
    """Emit a stop for a debugger."""
    if args or kwargs:
        it.em.fail(Code.CALL, "`breakpoint` takes no arguments in kernels")
    it.em.op("breakpoint")


SPECIAL: dict[Any, Callable[[Interpreter, Args, Kwargs], Any]] = {
    range: _range,
    isinstance: _isinstance,
    breakpoint: _breakpoint,
}
ON_VALUES: dict[Any, str] = {
    f: f"builtins.{f.__name__}"
    for f in (min, max, abs, len, print, divmod, float, int, bool, pow, round)
}
SEQUENCES = (tuple, list, zip, enumerate, reversed, sorted, sum, any, all, map)
ON_TILES: dict[Any, str] = {
    sum: "tl.reduce_sum(x, axis)", any: "tl.any(x, axis)", all: "tl.all(x, axis)"
}  # fmt: skip
"""What does with the elements of a tile what a function of Python does with items."""
PACKAGE = __name__.partition(".")[0]
FOR_KERNELS = ("base", "lang", "simt", "kernels", "ops")
"""Our own folders with functions that kernels may call; those that return ops are for the host."""
READY = f"{PACKAGE}.ops"
"""Its public functions are for the host; those that its own kernels call are not public."""
PURE_MODULES = ("math", "operator", "_operator")
PURE = (
    abs, ascii, bin, bool, chr, divmod, float, format, hex, int, len, max, min, oct, ord, pow,
    repr, round, slice, str,
)  # fmt: skip
"""Functions of Python that only compute: they may be called with constants."""


def _python(it: Interpreter, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    if callee in SPECIAL if _hashable(callee) else False:
        return SPECIAL[callee](it, args, kwargs)
    dynamic = any(_dynamic(a) for a in (*args, *kwargs.values()))
    key = ON_VALUES.get(callee) if _hashable(callee) else None
    if key in RULES and (dynamic or callee is print):
        return it.apply(key, args, kwargs)
    if _constructs(callee):
        return _construct(it, callee, args, kwargs)
    if callee in SEQUENCES if _hashable(callee) else False:
        return _sequence(it, callee, args, kwargs)
    if dynamic:
        _refuse(it, callee, args)
    if _is_pure(callee):
        _refuse_key(it, callee, kwargs)
        return _static_call(it, callee, args, kwargs)
    return _refuse(it, callee, args)


def _sequence(it: Interpreter, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    """Evaluate zip, enumerate, sum, ... over static sequences, whose items may be dynamic."""
    if callee is map and len(args) > 1:
        rows = [_items(it, callee, a) for a in args[1:]]
        return tuple(call(it, args[0], row, {}) for row in zip(*rows, strict=False))
    given = args[:1] if callee in (sum, enumerate) else args
    items = [_items(it, callee, a) for a in given]
    rest = args[len(items) :]
    if callee is sum and items:
        total = (*rest, *kwargs.values(), 0)[0]
        for item in items[0]:
            total = binary(it, "add", total, item)
        return total
    if callee in (any, all, sorted) and any(_dynamic(a) for a in args):
        _refuse(it, callee, args)
    _refuse_key(it, callee, kwargs)
    result = _static_call(it, callee, [*items, *rest], kwargs)
    return result if isinstance(result, list | bool) else tuple(result)


def _items(it: Interpreter, callee: Any, x: Any) -> Sequence[Any]:
    """Return the items that a Python function iterates over; they are known at compile time."""
    if isinstance(x, RangeOf):
        if any(_dynamic(bound) for bound in (x.start, x.stop, x.step)):
            _refuse_items(it, callee, "a range whose end is known only at launch")
        x = x.static(it)
    if isinstance(x, dict | set | str):
        x = tuple(x)
    if not isinstance(x, tuple | list | range):
        _refuse_items(it, callee, describe(x))
    return it.unroll(x)


def _refuse_key(it: Interpreter, callee: Any, kwargs: Kwargs) -> None:
    """Reject a function that Python would call at compile time: its changes would go unnoticed."""
    if isinstance(key := kwargs.get("key"), types.FunctionType | Closure):
        it.em.fail(
            Code.CALL,
            f"{describe(callee)} cannot call {describe(key)} in a kernel",
            expected="items that Python can compare",
            got=f"key={describe(key)}",
            hint="sort the items outside the kernel",
        )


def _refuse_items(it: Interpreter, callee: Any, got: str) -> NoReturn:
    hints: dict[Any, str] = {
        reversed: "count down: range(n - 1, -1, -1)",
        enumerate: "count in the loop: for i in range(n)",
    }
    hint = f"elements of a tile: {ON_TILES[callee]}" if callee in ON_TILES else hints.get(callee)
    it.em.fail(
        Code.CALL,
        f"{describe(callee)} takes compile-time items",
        expected="a tuple, a list, or a range of constants",
        got=got,
        hint=hint,
    )


def _static_call(it: Interpreter, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    try:
        return it.observe(describe(callee), functools.partial(callee, **kwargs), *args)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        it.em.fail(Code.CALL, f"{describe(callee)} failed at compile time: {error}")


def _hashable(x: Any) -> bool:
    return getattr(type(x), "__hash__", None) is not None and not isinstance(x, list)


def _dynamic(x: Any) -> bool:
    return any(isinstance(v, Value | Memory) for v in leaves(x))


def _constructs(callee: Any) -> bool:
    if not isinstance(callee, type):
        return False
    params = getattr(callee, "__dataclass_params__", None)
    return (params is not None and params.frozen) or (
        issubclass(callee, tuple) and hasattr(callee, "_fields")
    )


def _construct(it: Interpreter, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    """Return a NamedTuple or a frozen dataclass; code of the user's may run to make it."""
    made = _static_call(it, callee, args, kwargs)
    for name in ("__new__", "__init__"):
        if isinstance(maker := getattr(callee, name), types.FunctionType):
            watch_part(it, maker, "__defaults__")
            watch_part(it, maker, "__kwdefaults__")
    fields: Mapping[str, Any] = getattr(callee, "__dataclass_fields__", {})
    computed = any(f.default_factory is not dataclasses.MISSING for f in fields.values())
    if computed or hasattr(callee, "__post_init__"):
        given = (callee, *args, *kwargs.values())
        again = functools.partial(callee, *args, **kwargs)
        it.note(tuple(map(id, given)), describe(callee), again, made)
    return made


def _is_pure(callee: Any) -> bool:
    owner = getattr(callee, "__self__", None)
    if isinstance(owner, str | tuple | int | float):
        return True
    return callee in PURE or getattr(callee, "__module__", None) in PURE_MODULES


def _refuse(it: Interpreter, callee: Any, args: Args) -> NoReturn:
    module = getattr(callee, "__module__", None)
    # A module of C is known by the name of the one that shows it: `open` is from `_io` or `io`.
    origin = f" from `{module.removeprefix('_')}`" if module and module != "builtins" else ""
    it.em.fail(
        Code.CALL,
        f"{describe(callee)}{origin} cannot be called in a kernel",
        got=", ".join(describe(a) for a in args) or "no arguments",
        hint=_instead(callee, module),
    )


def _instead(callee: Any, module: str | None) -> str:
    """Return the hint for a call that kernels do not have."""
    name = getattr(callee, "__name__", "")
    if isinstance(getattr(callee, "__self__", None), list):
        return "lists are immutable in kernels: write [*items, x], or a comprehension"
    if hasattr(callee, "kernel") and hasattr(callee, "declared"):
        return "only the host launches kernels: put the shared code in a plain function"
    if isinstance(callee, type) and dataclasses.is_dataclass(callee):
        return "kernel values are immutable: write @dataclass(frozen=True)"
    if isinstance(callee, type) and module != "builtins":
        return "values are grouped by a NamedTuple, or by a frozen dataclass"
    if name in RULES or composed_body(getattr(lang, name, None)) is not None:
        return f"use tl.{name}"
    if name in SYNONYMS:
        return f"use {SYNONYMS[name]}"
    if module == math.__name__:
        return "`math` functions take only constants"
    return OTHERS.get(callee, PLAIN) if _hashable(callee) else PLAIN


PLAIN = "call tl functions, or your own Python functions"
OTHERS: dict[Any, str] = {
    str: "print takes only values: print(x), or print(f'{x}')",
    getattr: "write the attribute: owner.name",
}


def _refuse_host(it: Interpreter, callee: types.FunctionType) -> None:
    """Reject functions of the host: an error inside one would hide the mistake in the kernel."""
    package, *inside = (callee.__module__ or "").split(".")
    if package != PACKAGE or not inside:
        return
    name, home = callee.__name__, f"{package}.{inside[0]}"
    makes_op = str(callee.__annotations__.get("return")).startswith("DeviceOp")
    is_ready = home == READY and name in sys.modules[home].__all__
    if inside[0] in FOR_KERNELS and not makes_op and not is_ready:
        return
    it.em.fail(
        Code.CALL,
        f"`{name}` is for the host, not for kernels",
        expected="tilewright.lang functions, or your own Python functions",
        got=f"`{package if hasattr(sys.modules[package], name) else home}.{name}`",
        hint=f"use tl.{name}" if name in lang.__all__ else None,
    )


# --- operators -------------------------------------------------------------------------------


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def binary(it: Interpreter, name: str, a: Any, b: Any) -> Any:
    """Evaluate a Python operator by its name in `operator`; fold it if both sides are static."""
    # Python would forget the type of u8(200) + u8(100); comparing them is the same either way.
    typed = name not in COMPARISONS and (isinstance(a, DType) or isinstance(b, DType))
    if typed or _dynamic(a) or _dynamic(b):
        return it.apply(f"operator.{name}", [a, b])
    try:
        return it.observe(name, getattr(operator, name), a, b)
    except (TypeError, ValueError, ArithmeticError) as error:
        it.em.fail(
            Code.TYPE,
            f"this constant expression fails: {error}",
            got=f"{describe(a)} and {describe(b)}",
        )


def unary(it: Interpreter, name: str, x: Any) -> Any:
    """Evaluate a Python unary operator by its name."""
    if isinstance(x, DType) or _dynamic(x):
        return it.apply(f"operator.{name}", [x])
    try:
        return it.observe(name, getattr(operator, name), x)
    except TypeError as error:
        it.em.fail(Code.TYPE, f"this constant expression fails: {error}", got=describe(x))


def is_structure(x: Any) -> bool:
    """Return whether attributes of x are its own parts: NamedTuples and frozen dataclasses."""
    return is_record(x) or (isinstance(x, tuple) and hasattr(x, "_fields"))
