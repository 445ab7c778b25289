"""How ops made of others run.

Links of a chain are functions of the result of the op before them: what they give is the result, or
the op to run next. Others are generators that ask for their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .arity import call, results_in
from .context import ExecutionContext
from .endings import refuse_borrows, refuse_host_data
from .lazy import Lazy
from .nesting import unlocked
from .running import Steps, run_here
from .slips import Slips

T = TypeVar("T")

Function = Callable[..., Any]
Extra = tuple[Any, ...]


def mapped(verb: str, function: Function, extra: Extra, value: Any, ctx: ExecutionContext) -> Any:
    """What a function gives."""
    return call(verb, function, value, extra, ctx)


def inspected(
    verb: str, function: Function, extra: Extra, value: Any, ctx: ExecutionContext
) -> Any:
    """The value itself, which a function may look at."""
    call(verb, function, value, extra, ctx)
    return value


def followed(
    verb: str, function: Function, extra: Extra, value: Any, ctx: ExecutionContext
) -> Lazy[Any]:
    """The op that a function makes."""
    return admitted(call(verb, function, value, extra, ctx), verb, ctx, value)


def continued(
    verb: str, function: Function, extra: Extra, value: Any, ctx: ExecutionContext
) -> Lazy[Any]:
    """As `followed`, with a function that is known to use nothing but the result."""
    following: Lazy[Any] = call(verb, function, value, extra, ctx)
    following.claim_at(verb, ctx.whence())
    return following


def followed_unchecked(
    verb: str, function: Function, extra: Extra, value: Any, ctx: ExecutionContext
) -> Lazy[Any]:
    """As `followed`, and the function may run ops."""
    return admitted(unlocked(call, verb, function, value, extra, ctx), verb, ctx, value)


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


def admitted(made: object, verb: str, ctx: ExecutionContext, given: object) -> Lazy[Any]:
    """An op that a function made of what was given to it, if it may run here; used from now on."""
    if not isinstance(made, Slips):
        raise TypeError(_no_op(verb, type(made).__name__))
    following: Any = made
    if ctx.detached:
        refuse_borrows(following, results_in(given))
    if ctx.in_flight and following.host_data:
        refuse_host_data(following)
    following.claim_at(verb, ctx.ended_at or ctx.whence())
    return following  # type: ignore[no-any-return]


def _no_op(verb: str, got: str) -> str:
    if verb == "ctx.run":
        return f"`ctx.run` takes a DeviceOp, got {got}"
    advice = "; use `map` for a plain value" if verb.startswith("then") else ""
    return f"the function given to `{verb}` must return a DeviceOp, got {got}{advice}"
