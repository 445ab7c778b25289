"""How ops made of others run: generators that ask for their parts and call functions in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .arity import call, results_in
from .context import ExecutionContext
from .endings import refuse_borrows, refuse_host_data
from .lazy import Lazy, is_lazy
from .nesting import unlocked
from .running import Steps, run_here

T = TypeVar("T")

Function = Callable[..., Any]
Extra = tuple[Any, ...]


def mapped(
    verb: str, source: Lazy[Any], function: Function, extra: Extra, ctx: ExecutionContext
) -> Steps[Any]:
    """The source, then a function of its result."""
    value = yield source
    return call(verb, function, value, extra)


def inspected(
    verb: str, source: Lazy[Any], function: Function, extra: Extra, ctx: ExecutionContext
) -> Steps[Any]:
    """The source, whose result a function may look at."""
    value = yield source
    call(verb, function, value, extra)
    return value


def followed(
    verb: str, source: Lazy[Any], function: Function, extra: Extra, ctx: ExecutionContext
) -> Steps[Any]:
    """The source, then the op that a function makes of its result."""
    value = yield source
    following = admitted(call(verb, function, value, extra), verb, ctx, value)
    del value  # what follows may take long, and need the memory
    return (yield following)


def continued(
    verb: str, source: Lazy[Any], function: Function, extra: Extra, ctx: ExecutionContext
) -> Steps[Any]:
    """As `followed`, with a function that is known to use nothing but the result."""
    value = yield source
    following = call(verb, function, value, extra)
    following.claim(verb)
    del value
    return (yield following)


def followed_unchecked(
    verb: str, source: Lazy[Any], function: Function, extra: Extra, ctx: ExecutionContext
) -> Steps[Any]:
    """As `followed`, and the function may run ops."""
    value = yield source
    following = admitted(unlocked(call, verb, function, value, extra), verb, ctx, value)
    del value
    return (yield following)


def with_its_context(
    function: Callable[[ExecutionContext], Any], ctx: ExecutionContext
) -> Steps[Any]:
    """The op that a function makes of the context."""
    return (yield admitted(function(ctx), "with_context", ctx, ()))


def zipped(parts: Sequence[Lazy[Any]], ctx: ExecutionContext) -> Steps[Any]:
    """All parts, one after the other."""
    results: list[Any] = []
    for part in parts:
        results.append((yield part))
    return tuple(results)


def run_part(op: Lazy[T], ctx: ExecutionContext) -> T:
    """Run an op inside of another one's `execute`; `ctx.run(op)` does this."""
    admitted(op, "ctx.run", ctx, tuple(ctx.made))
    result = run_here(op, ctx)
    if ctx.detached:
        ctx.made = (*ctx.made, *results_in(result))
    return result


def admitted(following: object, verb: str, ctx: ExecutionContext, given: object) -> Lazy[Any]:
    """An op that a function made of what was given to it, if it may run here; used from now on."""
    if not is_lazy(following):
        raise TypeError(_no_op(verb, type(following).__name__))
    if ctx.detached:
        refuse_borrows(following, results_in(given))
    if ctx.in_flight:
        refuse_host_data(following)
    following.claim(verb)
    return following


def _no_op(verb: str, got: str) -> str:
    if verb == "ctx.run":
        return f"`ctx.run` takes a DeviceOp, got {got}"
    advice = "; use `map` for a plain value" if verb.startswith("then") else ""
    return f"the function given to `{verb}` must return a DeviceOp, got {got}{advice}"
