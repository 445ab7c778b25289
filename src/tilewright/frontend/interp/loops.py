"""Loops, and the types of loop-carried names by iteration to a fixpoint."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...base.errors import Code, CompileError
from ...base.trees import leaves, replace_leaves
from ...ir.attrs import Predicate, Rounding
from ...ir.core import Block, Value
from ...ir.types import TileType
from ..rules.control import assert_condition
from ..semantics.mapped import Indices, bounds_of, owned_index
from ..semantics.promotion import natural_dtype
from ..semantics.values import describe, receiver_class
from .branches import Conflict, coerce, fill, is_number, merge_type, same_structure, truth
from .debug_events import tell_again
from .interpreter import Flow, FlowExit, Interpreter, Target, assign, assigned_names

# -------------------------------------------------------------------------------------------------
# Type inference of loop-carried names by iteration to a fixpoint.
#
# A name that a loop assigns and that was bound before is carried. The body is compiled with the
# types known so far; if it ends with another type, the type at the head is widened and the body
# compiled again. A static number that changes becomes i32 or f32.

MAX_TRIALS = 8


@dataclass(eq=False, slots=True)
class LoopTrial:
    """One attempt at a loop: the region it made and the places where control leaves it."""

    block: Block
    target: Target
    skipped: bool = False


Head = dict[str, Any]
"""Per carried name a template: TileType leaves are dynamic, the others static."""

Attempt = Callable[[Head], LoopTrial]


def infer_types(
    it: Interpreter, node: ast.AST, carried: list[str], attempt: Attempt
) -> tuple[Head, LoopTrial]:
    """Compile a loop until the types at its head are right; return them and the result."""
    initial = {name: it.frame.names[name] for name in carried}
    key = (node, it.frame.caller, tuple(_fingerprint(v) for v in initial.values()))
    head: Head = it.loop_memory.get(key) or {n: _template(v) for n, v in initial.items()}
    before = it.frame.snapshot()
    for _ in range(MAX_TRIALS):
        marks = [len(t.exits) for t in it.targets]
        try:
            trial = attempt(head)
        except CompileError:
            # With static numbers at the head the body may fail where the real loop would not.
            dynamic = {n: _all_dynamic(tree) for n, tree in head.items()}
            if dynamic == head:
                raise
            try:
                _undo(it, before, marks)
                attempt(dynamic)
            except CompileError:
                dynamic = {}
            if not dynamic:
                raise
            _undo(it, before, marks)
            head = dynamic
            continue
        widened = _widen(it, head, trial)
        if widened == head:
            it.loop_memory[key] = head
            it.frame.restore(before)
            return head, trial
        _undo(it, before, marks)
        head = widened
    it.em.fail(Code.LOOP_TYPE, "cannot find a fixed type for the variables of this loop")


def _undo(it: Interpreter, before: Any, marks: list[int]) -> None:
    """Forget a trial: bindings, and exits it added to enclosing loops and scopes."""
    it.frame.restore(before)
    for target, mark in zip(it.targets, marks, strict=True):
        del target.exits[mark:]


def _fingerprint(value: Any) -> tuple[Any, ...]:
    return tuple(v.type if isinstance(v, Value) else repr(v) for v in leaves(value))


def _template(value: Any) -> Any:
    flat = [v.type if isinstance(v, Value) else v for v in leaves(value)]
    return replace_leaves(value, flat)


def _all_dynamic(tree: Any) -> Any:
    flat = [
        TileType(natural_dtype(v)) if is_number(v) and not isinstance(v, TileType) else v
        for v in leaves(tree)
    ]
    return replace_leaves(tree, flat)


def _widen(it: Interpreter, head: Head, trial: LoopTrial) -> Head:
    result = dict(head)
    for exit_ in trial.target.exits:
        for name, tree in result.items():
            result[name] = _widen_one(it, name, tree, exit_)
    return result


def _widen_one(it: Interpreter, name: str, tree: Any, exit_: FlowExit) -> Any:
    if name not in exit_.values:
        it.em.fail(
            Code.UNBOUND,
            f"`{name}` may be unbound at the end of the loop body",
            span=exit_.span,
            hint=f"give `{name}` a value on every path",
        )
    value = exit_.values[name]
    if not same_structure(tree, value):
        _refuse(it, name, Conflict(Code.LOOP_TYPE, describe(_shown(tree)), describe(value)), exit_)
    flat = []
    for a, b in zip(leaves(tree), leaves(value), strict=True):
        joined = merge_type(a, b)
        if isinstance(joined, Conflict):
            _refuse(it, name, joined, exit_)
        flat.append(a if joined is None else joined)
    return replace_leaves(tree, flat)


def _shown(tree: Any) -> Any:
    flat = [Value(v) if isinstance(v, TileType) else v for v in leaves(tree)]
    return replace_leaves(tree, flat)


def _refuse(it: Interpreter, name: str, conflict: Conflict, exit_: FlowExit) -> None:
    if conflict.code is Code.SELECT:
        it.em.fail(
            Code.SELECT,
            f"`{name}` cannot change in a loop",
            span=exit_.span,
            expected=f"the value from before the loop: {conflict.first}",
            got=f"another one: {conflict.second}",
            hint="an iteration passes on tiles and numbers only: carry an index",
        )
    it.em.fail(
        Code.LOOP_TYPE,
        f"`{name}` changes its type in the loop",
        span=exit_.span,
        expected=f"the type before the loop: {conflict.first}",
        got=f"at the end of an iteration: {conflict.second}",
        hint=f"give `{name}` its final type before the loop, for instance with tl.zeros or .astype",
    )


def bind_head(it: Interpreter, head: Head) -> list[Value]:
    """Bind the carried names to block arguments (or their statics) and return the arguments."""
    args = []
    for name, tree in head.items():
        mine = [Value(t, name) for t in leaves(tree) if isinstance(t, TileType)]
        args += mine
        it.frame.bind(name, fill(tree, list(mine)))
    return args


def leave(it: Interpreter, kind: str, target: Target) -> None:
    """Note that control leaves the loop here, with the carried names as they are."""
    names = {n: it.frame.names[n] for n in target.carried if n in it.frame.names}
    target.exits.append(FlowExit(kind, it.em.block, names, it.em.span))


def values(it: Interpreter, head: Head, names: dict[str, Any]) -> list[Value]:
    """Return the dynamic leaves of the carried names, of the types of the head."""
    values = []
    for name, tree in head.items():
        for t, leaf in zip(leaves(tree), leaves(names[name]), strict=True):
            if isinstance(t, TileType):
                values.append(coerce(it.em, leaf, t))
    return values


def close(it: Interpreter, head: Head, trial: LoopTrial) -> None:
    """Add the terminators that were waiting for the types."""
    for exit_ in trial.target.exits:
        it.em.span = exit_.span
        with it.em.at(exit_.block):
            it.em.op(exit_.kind, values(it, head, exit_.values))


def finish(
    it: Interpreter, node: ast.For | ast.While, head: Head, results: tuple[Value, ...]
) -> None:
    """Bind the names that the loop assigned to their values after it."""
    pending = list(results)
    for name, tree in head.items():
        it.frame.bind(name, fill(tree, pending))
    for name in _assigned(node):
        if name not in head:
            it.frame.unbind(name, f"bound only inside the loop at line {node.lineno}")


def _assigned(node: ast.For | ast.While) -> list[str]:
    own = [ast.Expr(node.target)] if isinstance(node, ast.For) else []
    return assigned_names([*own, *node.body])


def carried_names(it: Interpreter, node: ast.For | ast.While) -> list[str]:
    """Return the names a loop assigns that were bound before it."""
    return [n for n in _assigned(node) if n in it.frame.names]


# -------------------------------------------------------------------------------------------------
# Loops: `for` over ranges and static sequences, `while`, `break`, `continue`.


@dataclass(frozen=True, slots=True)
class RangeOf:
    """`range(...)`, whose bounds may be known only at run time."""

    start: Any
    stop: Any
    step: Any

    def static(self, it: Interpreter) -> range:
        """Return the bounds as constants; reject one that is known only at run time."""
        bounds = (self.start, self.stop, self.step)
        return range(*(it.em.static_int(b, "a bound of this range") for b in bounds))


def _no_else(it: Interpreter, node: ast.For | ast.While) -> None:
    if node.orelse:
        it.mark(node.orelse[0])
        it.em.fail(Code.SYNTAX, "`else` after a loop is not supported in kernels")


# --- while -----------------------------------------------------------------------------------


def run_while(it: Interpreter, node: ast.While) -> Flow:
    """Run `while cond: ...`."""
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


def _try_while(it: Interpreter, node: ast.While, head: Head) -> LoopTrial:
    target = Target("loop", carried=tuple(head))
    args = bind_head(it, head)
    block = Block(tuple(args))
    with it.inside(block, target):
        cond = truth(it, it.eval(node.test))
        if cond is False:
            return LoopTrial(block, target, skipped=not target.exits)
        if isinstance(cond, Value):
            _exit_unless(it, cond, target)
        if it.run(node.body) is Flow.NEXT:
            tell_again(it, node)
            leave(it, "continue", target)
    return LoopTrial(block, target)


def _exit_unless(it: Interpreter, cond: Value, target: Target) -> None:
    stay, out = Block(), Block()
    with it.em.at(stay):
        it.em.op("yield")
    with it.em.at(out):
        leave(it, "break", target)
    it.em.op("if", cond, regions=(stay, out), types=())


# --- for -------------------------------------------------------------------------------------


def run_for(it: Interpreter, node: ast.For) -> Flow:
    """Run `for`: a loop of the kernel over a range, unrolled over a static sequence."""
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
        hint="compute on all elements at once; parts of one are tl.split(x, parts, axis), a tuple"
        if receiver_class(over) == "Tile"
        else None,
    )


def _run_range(it: Interpreter, node: ast.For, over: RangeOf) -> Flow:
    if not isinstance(node.target, ast.Name):
        it.em.fail(Code.SYNTAX, "the variable of a range loop must be one name")
    lower, upper, step, scale = _bounds(it, over)
    return _run_counted(it, node, (lower, upper, step), lambda n: _scaled(it, n, scale))


def _run_indices(it: Interpreter, node: ast.For, over: Indices) -> Flow:
    """Run a loop over the tiles of a mapped output that belong to this block."""
    return _run_counted(it, node, bounds_of(it.em, over), lambda n: owned_index(it.em, over, n))


def _run_counted(
    it: Interpreter, node: ast.For, bounds: tuple[Value, Value, Value], item: Callable[[Value], Any]
) -> Flow:
    """Run a counted loop; `item` computes the value of the loop variable from the counter."""
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
) -> LoopTrial:
    target = Target("loop", carried=tuple(head))
    args = bind_head(it, head)
    counter = Value(lower.type, node.target.id if isinstance(node.target, ast.Name) else "")
    block = Block((counter, *args))
    with it.inside(block, target):
        assign(it, node.target, item(counter))
        if it.run(node.body) is Flow.NEXT:
            tell_again(it, node)
            leave(it, "continue", target)
    return LoopTrial(block, target)


def _scaled(it: Interpreter, counter: Value, scale: tuple[Value, Value] | None) -> Value:
    """Return the loop variable of a range that counts down: start + counter * step."""
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
    """Run `break` and `continue`."""
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
