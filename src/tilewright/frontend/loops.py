"""Loops: `for` over ranges and static sequences, `while`, `break`, `continue`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import Code
from ..ir.attrs import Predicate, Rounding
from ..ir.core import Block, Value
from .assign import assign
from .branches import truth
from .describe import describe
from .interpret import Flow, Interpreter, Target
from .loop_types import (
    Attempt,
    Head,
    Trial,
    bind_head,
    carried_names,
    close,
    finish,
    infer_types,
    leave,
    values,
)
from .mapped_indices import Indices, bounds_of, owned_index
from .rules.debug import assert_condition


@dataclass(frozen=True, slots=True)
class RangeOf:
    """`range(...)` with at least one bound known only at run time, or simply any range."""

    start: Any
    stop: Any
    step: Any

    def static(self, it: Interpreter) -> range:
        """The numbers themselves; refused where a bound is known only at run time."""
        bounds = (self.start, self.stop, self.step)
        return range(*(it.em.static_int(b, "a bound of this range") for b in bounds))


def _no_else(it: Interpreter, node: ast.For | ast.While) -> None:
    if node.orelse:
        it.mark(node.orelse[0])
        it.em.fail(Code.SYNTAX, "`else` after a loop is not supported in kernels")


# --- while -----------------------------------------------------------------------------------


def run_while(it: Interpreter, node: ast.While) -> Flow:
    """`while cond: ...`."""
    _no_else(it, node)
    carried = carried_names(it, node)
    head, trial = infer_types(it, node, carried, lambda h: _try_while(it, node, h))
    if trial.skipped:
        return Flow.NEXT
    it.mark(node)
    init = values(it, head, it.frame.names)
    close(it, head, trial)
    it.mark(node)
    results = it.em.op("loop", init, regions=(trial.block,)).results
    finish(it, node, head, results)
    return Flow.NEXT


def _try_while(it: Interpreter, node: ast.While, head: Head) -> Trial:
    target = Target("loop", carried=tuple(head))
    args = bind_head(it, head)
    block = Block(tuple(args))
    with it.inside(block, target):
        cond = truth(it, it.eval(node.test))
        if cond is False:
            return Trial(block, target, skipped=not target.exits)
        if isinstance(cond, Value):
            _exit_unless(it, cond, target)
        if it.run(node.body) is Flow.NEXT:
            leave(it, "continue", target)
    return Trial(block, target)


def _exit_unless(it: Interpreter, cond: Value, target: Target) -> None:
    stay, out = Block(), Block()
    with it.em.at(stay):
        it.em.op("yield")
    with it.em.at(out):
        leave(it, "break", target)
    it.em.op("if", cond, regions=(stay, out), types=())


# --- for -------------------------------------------------------------------------------------


def run_for(it: Interpreter, node: ast.For) -> Flow:
    """`for`: a loop of the kernel over a range, unrolled over anything static."""
    _no_else(it, node)
    over = it.eval(node.iter)
    it.mark(node)
    if isinstance(over, RangeOf):
        return _run_range(it, node, over)
    if isinstance(over, Indices):
        return _run_indices(it, node, over)
    if isinstance(over, tuple | list | range):
        return _run_unrolled(it, node, it.unroll(over))
    it.em.fail(
        Code.TYPE,
        "a kernel cannot iterate over this",
        span=it.frame.span(node.iter),
        expected="range(...), tl.static_range(...), or a tuple",
        got=describe(over),
    )


def _run_range(it: Interpreter, node: ast.For, over: RangeOf) -> Flow:
    if not isinstance(node.target, ast.Name):
        it.em.fail(Code.SYNTAX, "the variable of a range loop must be one name")
    lower, upper, step, scale = _bounds(it, over)
    return _run_counted(it, node, (lower, upper, step), lambda n: _scaled(it, n, scale))


def _run_indices(it: Interpreter, node: ast.For, over: Indices) -> Flow:
    """A loop over the tiles of a mapped output that belong to this block."""
    return _run_counted(it, node, bounds_of(it.em, over), lambda n: owned_index(it.em, over, n))


def _run_counted(
    it: Interpreter, node: ast.For, bounds: tuple[Value, Value, Value], item: Callable[[Value], Any]
) -> Flow:
    """A loop that counts; `item` makes what the loop variable stands for from the counter."""
    carried = carried_names(it, node)
    attempt: Attempt = lambda h: _try_for(it, node, h, bounds[0], item)  # noqa: E731
    head, trial = infer_types(it, node, carried, attempt)
    it.mark(node)
    init = values(it, head, it.frame.names)
    close(it, head, trial)
    it.mark(node)
    results = it.em.op("for", *bounds, init, regions=(trial.block,)).results
    finish(it, node, head, results)
    return Flow.NEXT


def _try_for(
    it: Interpreter, node: ast.For, head: Head, lower: Value, item: Callable[[Value], Any]
) -> Trial:
    target = Target("loop", carried=tuple(head))
    args = bind_head(it, head)
    counter = Value(lower.type, node.target.id if isinstance(node.target, ast.Name) else "")
    block = Block((counter, *args))
    with it.inside(block, target):
        assign(it, node.target, item(counter))
        if it.run(node.body) is Flow.NEXT:
            leave(it, "continue", target)
    return Trial(block, target)


def _scaled(it: Interpreter, counter: Value, scale: tuple[Value, Value] | None) -> Value:
    """The loop variable of a range that counts down: start + counter * step."""
    if scale is None:
        return counter
    start, step = scale
    return it.em.emit("addi", start, it.em.emit("muli", counter, step))


def _bounds(
    it: Interpreter, over: RangeOf
) -> tuple[Value, Value, Value, tuple[Value, Value] | None]:
    em = it.em
    start, stop = em.pair(over.start, over.stop, "count from and to")
    if not start.tile.dtype.is_int or start.tile.rank:
        em.fail(Code.TYPE, "bounds of a range must be scalar integers", got=describe(start))
    dtype = start.tile.dtype
    if isinstance(over.step, Value):
        step = em.scalar(over.step, dtype, "the step of a range")
        zero = em.constant(0, dtype)
        positive = em.emit("cmpi", step, zero, predicate=Predicate.GT)
        assert_condition(em, positive, "the step of a range must be positive")
        return start, stop, step, None
    by = em.static_int(over.step, "the step of a range")
    if by == 0:
        em.fail(Code.TYPE, "the step of a range must not be zero")
    if by > 0:
        return start, stop, em.number(by, dtype), None
    # Counting down: the trip count upwards, the variable computed from it.
    span = em.emit("subi", start, stop)
    trips = em.emit("divi", span, em.number(-by, dtype), rounding=Rounding.POS_INF)
    one, none = em.number(1, dtype), em.number(0, dtype)
    return none, trips, one, (start, em.number(by, dtype))


# --- unrolled loops --------------------------------------------------------------------------


def _run_unrolled(it: Interpreter, node: ast.For, items: Sequence[Any]) -> Flow:
    target = Target("unrolled", depth=it.em.depth)
    it.em.left_out |= not items
    for item in items:
        assign(it, node.target, item)
        flow = _run_round(it, node, target)
        if target.signal == "break":
            return Flow.NEXT
        if flow is Flow.ENDED and target.signal is None:
            return Flow.ENDED
    return Flow.NEXT


def _run_round(it: Interpreter, node: ast.For, target: Target) -> Flow:
    target.signal = None
    it.targets.append(target)
    try:
        return it.run(node.body)
    finally:
        it.targets.pop()


def run_break(it: Interpreter, node: ast.Break | ast.Continue) -> Flow:
    """`break` and `continue`."""
    kind = "break" if isinstance(node, ast.Break) else "continue"
    target = next(t for t in reversed(it.targets) if t.kind in ("loop", "unrolled"))
    if target.kind == "loop":
        leave(it, kind, target)
    elif it.em.depth != target.depth:
        it.em.fail(
            Code.SYNTAX,
            f"`{kind}` under a run-time condition in an unrolled loop",
            hint="use range(...), or make the condition a constant",
        )
    else:
        target.signal = kind
    return Flow.ENDED
