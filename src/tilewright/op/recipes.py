"""How composed ops run: generators that request their parts.

Links of a chain are functions of the result of the op before them; native code calls these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never, TypeVar

from .._core import admit, set_call_classes
from .arity import Maker, call, positional, refuse_count, results_in
from .context import ExecutionContext
from .endings import refuse_borrows, refuse_host_data
from .lazy import Lazy
from .nesting import unlocked
from .result_methods import refuse_method
from .running import Steps, run_here

T = TypeVar("T")


def with_its_context(
    function: Callable[[ExecutionContext], Any], ctx: ExecutionContext
) -> Steps[Any]:
    """Return the op that a function makes of the context."""
    return (yield admitted(function(ctx), "with_context", ctx, ()))


def zipped(parts: Sequence[Lazy[Any]], ctx: ExecutionContext) -> Steps[Any]:
    """Run all parts in order."""
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
    """Return the op that a function made of a result, claimed, if it may run here."""
    following: Lazy[Any] = admit(made, verb, ctx, given)
    return following


def refuse_value(verb: str, made: object) -> Never:
    """Raise for a function that made no op."""
    raise TypeError(_no_op(verb, type(made).__name__))


def _no_op(verb: str, got: str) -> str:
    if verb == "ctx.run":
        return f"`ctx.run` takes a DeviceOp, got {got}"
    advice = "; use `map` for a plain value" if verb.startswith("then") else ""
    return f"the function given to `{verb}` must return a DeviceOp, got {got}{advice}"


set_call_classes({
    "Maker": Maker, "call": call, "positional": positional, "refuse_count": refuse_count,
    "refuse_method": refuse_method, "refuse_value": refuse_value, "refuse_borrows": refuse_borrows,
    "refuse_host_data": refuse_host_data, "unlocked": unlocked,
})  # fmt: skip
