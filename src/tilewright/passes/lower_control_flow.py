"""Lower control flow to the structured forms that Tile IR accepts.

Early exits become flags and guarded code, as in the structuring of gotos by Erosa and Hendren
("Taming Control Flow", 1994).

Goals: afterwards there is no `scope` and no `leave`, `break` is only inside `loop`, and the only
`return` is the last op of the function. `continue` may stay where it is, in branches too. Integer
division is left only in forms that Tile IR has.

Non-goals: short code (run `canonicalize` and `dce` afterwards), guarding divisions against zero.

Rules (zeros replace the values of an exit that was not taken; they are never read):

1. A `for` with a `break`, or with an exit to outside, becomes a `loop` that carries its induction
   variable. The step never exceeds the upper bound, so it cannot wrap. Without an exit, where the
   step is known only at launch and may wrap, the `for` counts in more bits.
       for i in lower..upper {A; continue}
    -> loop (i = lower) {if (i >= upper) {break} else {yield}; A; continue (i + step)}
2. A `leave` or `return` that leaves a loop becomes a `break` with a flag and its values, and is
   repeated after the loop; several loops are left one by one.
       loop {... leave %v ...}
    -> %f, %u = loop (false, 0) {... break true, %v ...}; if %f {leave %u} else {yield}
3. Code after a branch that may leave a scope moves into the arm that returns control.
       scope {if %c {leave %a} else {A; yield}; B; leave %b}
    -> if %c {yield %a} else {A; B; yield %b}
4. If both arms may return control, a flag records whether the exit was taken.
       scope {if %c {if %d {leave %a} else {yield}; yield} else {yield}; B; leave %b}
    -> %f, %u = if %c {if %d {yield true, %a} else {yield false, 0}} else {yield false, 0};
       if %f {yield %u} else {B; yield %b}
5. The function's body is a scope that `return` leaves: rules 3 and 4 again.
6. Floor division of unsigned integers truncates; a signed floor remainder is a truncating one,
   plus the divisor where the signs differ.
       remi %a, %b {rounding=neg_inf}
    -> %r = remi %a, %b; select (%r != 0 & %r ^ %b < 0), %r + %b, %r
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..analysis.dataflow import constants
from ..analysis.ranges import Ranges, ranges
from ..analysis.structure import Structure, structure
from ..base.dtypes import AnyDType, bool_, i8, i16, i32, i64, int_range, u8, u16, u32, u64
from ..ir.attrs import Predicate, Rounding
from ..ir.builder import Rewriter, rewrite, with_body
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import OpDef, Trait
from ..ir.ops.control import BREAK, CONTINUE, FOR, IF, LEAVE, LOOP, RETURN, SCOPE, TILE_INDEX, YIELD
from ..ir.types import I1, TileType, Type


def lower_control_flow(func: Func) -> Func:
    """Apply the rules above."""
    known = constants(func)
    func = rewrite(func, _Loops(structure(func), ranges(func, known)).visit)
    func = rewrite(func, _visit_scope)
    return _one_return(func)


# Rules 1 and 2: loops.


@dataclass(eq=False)
class _Loop:
    """A loop around the current place: what its exits pass on besides their own values.

    `targets` are the ops that something inside leaves for, None for the function; each has a flag
    and values among `extra`, the last carried values.
    """

    op: Op
    targets: tuple[Op | None, ...] = ()
    count: tuple[Value, ...] = ()
    carried: tuple[Value, ...] = ()
    extra: tuple[Value, ...] = ()
    next_count: tuple[Value, ...] = ()


def _values(target: Op | None) -> tuple[Type, ...]:
    """Return the values that a jump to a target passes."""
    return () if target is None else tuple(v.type for v in target.results)


def _counts_tiles(op: Op) -> bool:
    """Return whether a loop visits tiles of a mapped output, whose number launches bound."""
    body = op.regions[0]
    return any(each.is_a(TILE_INDEX) and body.args[0] in each.operands for each in body.ops)


@dataclass(eq=False)
class _Loops:
    nesting: Structure
    ranges: Ranges
    around: list[_Loop] = field(default_factory=list[_Loop])

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op.has(Trait.LOOP):
            return self.loop(r, op)
        if op.is_a(CONTINUE, BREAK):
            return self.round(r, op)
        if op.is_a(LEAVE, RETURN):
            self.leave(r, self.nesting.target.get(op), r.many(op.operands))
            return ()
        division = DIVISIONS.get(op.name)
        return None if division is None else division(r, op)

    def loop(self, r: Rewriter, op: Op) -> Sequence[Value]:
        targets = tuple(dict.fromkeys(self.nesting.target.get(e) for e in self.nesting.leaves(op)))
        breaks = any(e.is_a(BREAK) for e in self.nesting.exits.get(op, []))
        if not targets and (op.is_a(LOOP) or not (breaks or self.may_run_past(op))):
            self.around.append(_Loop(op))
            results = r.copy(op).results
            self.around.pop()
            return results
        if not (targets or breaks) and op.regions[0].args[0].tile.dtype in WIDENED:
            return self.widened(r, op)
        start = (self.start(r, op),) if op.is_a(FOR) else ()
        extra = [r.zero(t) for target in targets for t in (I1, *_values(target))]
        inits = (*start, *r.many(op.all("init")), *extra)
        names = [*(a.name for a in op.regions[0].args), *("" for _ in extra)]
        body = Block(tuple(Value(v.type, name) for v, name in zip(inits, names, strict=True)))
        own = slice(len(start), len(inits) - len(extra))
        here = _Loop(op, targets, body.args[: own.start], body.args[own], body.args[own.stop :])
        self.body(r, here, body)
        results = r.op("loop", inits, regions=(body,)).results
        self.leave_again(r, targets, results[own.stop :])
        return results[own]

    def widened(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Append a loop that counts in 64 bits, which do not wrap: the assembler overlaps it."""
        old = op.regions[0]
        (number, *carried), dtype = old.args, old.args[0].tile.dtype
        wide = WIDENED[dtype]
        bounds = [r.emit("exti", r.get(op.one(n)), to=wide) for n in ("lower", "upper", "step")]
        count = Value(TileType(wide), number.name)
        body = Block((count, *(Value(v.type, v.name) for v in carried)))
        r.bind(carried, body.args[1:])
        self.around.append(_Loop(op))
        with r.at(body):
            r.bind([number], [r.emit("trunci", count, to=dtype)])
            r.ops(old.ops)
        self.around.pop()
        return r.op("for", *bounds, r.many(op.all("init")), regions=(body,)).results

    def body(self, r: Rewriter, here: _Loop, body: Block) -> None:
        old = here.op.regions[0]
        r.bind(old.args, (*here.count, *here.carried))
        with r.at(body):
            if here.count:
                self.stop_at_the_end(r, here)
                # Computed at the head, so that every `continue` of the body can use it.
                here.next_count = (self.step(r, here.op, here.count[0]),)
            self.around.append(here)
            r.ops(old.ops)
            self.around.pop()

    def start(self, r: Rewriter, op: Op) -> Value:
        """Return the lower bound, or the upper one if the step is not positive (no iteration)."""
        lower, upper, step = r.many((op.one("lower"), op.one("upper"), op.one("step")))
        if self.ranges.of(op.one("step")).low > 0:
            return lower
        zero = r.zero(step.type)
        forward = r.emit("cmpi", step, zero, predicate=Predicate.GT)
        return r.emit("select", forward, lower, upper)

    def stop_at_the_end(self, r: Rewriter, here: _Loop) -> None:
        upper = r.get(here.op.one("upper"))
        done = r.emit("cmpi", here.count[0], upper, predicate=Predicate.GE)
        stop, go = Block(), Block()
        with r.at(stop):
            r.op("break", (*here.count, *here.carried, *here.extra))
        with r.at(go):
            r.op("yield")
        r.op("if", done, regions=(stop, go))

    def may_run_past(self, op: Op) -> bool:
        """Return whether the assembler's own loop may run on past the greatest integer.

        With steps that are constants it does not.
        """
        low, high = self.ranges.of(op.one("step"))
        return low != high and self.may_wrap(op) and not _counts_tiles(op)

    def may_wrap(self, op: Op) -> bool:
        """Return whether the last count and a step more may be greater than any integer."""
        furthest = self.ranges.of(op.one("upper")).high - 1 + self.ranges.of(op.one("step")).high
        return furthest > int_range(op.one("step").tile.dtype)[1]

    def step(self, r: Rewriter, op: Op, count: Value) -> Value:
        """Return the next count, at most the upper bound."""
        upper, step = r.many((op.one("upper"), op.one("step")))
        dtype = step.tile.dtype
        if self.ranges.of(op.one("step")) == (1, 1) or not self.may_wrap(op):
            return r.emit("addi", count, step)
        # The way left to the upper bound is exact if read as unsigned.
        left = _recast(r, r.emit("subi", upper, count), UNSIGNED[dtype])
        least = r.emit("mini", left, _recast(r, step, UNSIGNED[dtype]))
        return r.emit("addi", count, _recast(r, least, dtype))

    def round(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Return a `continue` or `break` of the innermost loop."""
        here = self.around[-1]
        count = here.next_count if op.is_a(CONTINUE) else here.count
        r.op(op.name, (*count, *r.many(op.operands), *here.extra))
        return ()

    def leave(self, r: Rewriter, target: Op | None, values: Sequence[Value]) -> None:
        """Leave by rule 2: through the loop around, if the target is outside it."""
        here = self.around[-1] if self.around else None
        if here is None or target not in here.targets:
            if target is None:
                r.op("return")
            else:
                r.op("leave", values)
            return
        extra: list[Value] = []
        for other in here.targets:
            kept = here.extra[len(extra) : len(extra) + 1 + len(_values(other))]
            # Set the flag of this target; the flags of the others stay false.
            extra += (r.constant(True, bool_), *values) if other is target else kept
        r.op("break", (*here.count, *here.carried, *extra))

    def leave_again(
        self, r: Rewriter, targets: Sequence[Op | None], extra: Sequence[Value]
    ) -> None:
        rest = list(extra)
        for target in targets:
            flag, *values = rest[: 1 + len(_values(target))]
            rest = rest[1 + len(values) :]
            out, stay = Block(), Block()
            with r.at(out):
                # The exit is repeated outside of the loop, where it may have to leave the next
                # loop.
                self.leave(r, target, values)
            with r.at(stay):
                r.op("yield")
            r.op("if", flag, regions=(out, stay))


# Rules 3 to 5: scopes and returns.


def _visit_scope(r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Rewrite inner scopes first: the remaining exits leave this scope or outer ones."""
    if not op.is_a(SCOPE):
        return None
    region = r.region(op.regions[0])
    types = tuple(v.type for v in op.results)
    given = _Flattener(r, LEAVE, types).ops(region.ops, _Ends(types, list, list))
    return op.results if given is None else given


def _one_return(func: Func) -> Func:
    r = Rewriter(lambda rewriter, op: None)
    body = Block()
    with r.at(body):
        _Flattener(r, RETURN, ()).ops(func.body.ops, _Ends((), list, list))
        if not r.closed:
            r.op("return")
    return with_body(func, body)


Finish = Callable[[Sequence[Value]], Sequence[Value] | None]


@dataclass(frozen=True, slots=True)
class _Ends:
    """The values at the end of a run of ops: of an exit, and of its own `yield`.

    None where control went elsewhere meanwhile.
    """

    types: tuple[Type, ...]
    exit: Finish
    fall: Finish


@dataclass(frozen=True, slots=True)
class _Flattener:
    """A rewriter that removes one kind of exit, which passes on values of `types`."""

    r: Rewriter
    exit: OpDef
    types: tuple[Type, ...]

    def ops(self, ops: Sequence[Op], ends: _Ends) -> Sequence[Value] | None:
        """Return the values at the ops' end, or None if they end elsewhere."""
        for i, op in enumerate(ops):
            if op.is_a(self.exit):
                return ends.exit(self.r.many(op.operands))
            if op.is_a(YIELD):
                return ends.fall(self.r.many(op.operands))
            if op.is_a(IF) and any(o.is_a(self.exit) for a in op.regions for o in a.walk()):
                return self.branch(op, ops[i + 1 :], ends)
            self.r.ops([op])
        return None

    def branch(self, op: Op, rest: Sequence[Op], ends: _Ends) -> Sequence[Value] | None:
        if all(arm.terminator.is_a(YIELD) for arm in op.regions):
            return self.flagged(op, rest, ends)

        # One arm never falls through. The rest of the ops moves to the end of the other arm: there
        # is no flag, and no code is duplicated.
        def go_on(values: Sequence[Value]) -> Sequence[Value] | None:  # Rule 3
            self.r.bind(op.results, values)
            return self.ops(rest, ends)

        arms = [self.arm(arm.ops, _Ends(ends.types, ends.exit, go_on)) for arm in op.regions]
        cond = self.r.get(op.one("cond"))
        return self.r.op("if", cond, regions=arms, types=ends.types).results

    def arm(self, ops: Sequence[Op], ends: _Ends) -> Block:
        with self.r.at(Block()) as block:
            given = self.ops(ops, ends)
            if given is not None:
                self.r.op("yield", given)
        return block

    def flagged(self, op: Op, rest: Sequence[Op], ends: _Ends) -> Sequence[Value]:
        """Apply rule 4."""
        r, own = self.r, tuple(v.type for v in op.results)

        # Both arms may fall through: results are padded with zeros on the path that does not have
        # them, and a flag selects afterwards.
        def left(values: Sequence[Value]) -> Sequence[Value]:
            return (*map(r.zero, own), r.constant(True, bool_), *values)

        def came_back(values: Sequence[Value]) -> Sequence[Value]:
            return (*values, r.constant(False, bool_), *map(r.zero, self.types))

        inner = _Ends((*own, I1, *self.types), left, came_back)
        arms = [self.arm(arm.ops, inner) for arm in op.regions]
        chosen = r.op("if", r.get(op.one("cond")), regions=arms, types=inner.types).results
        r.bind(op.results, chosen[: len(own)])
        gone = Block()
        with r.at(gone):
            given = ends.exit(chosen[len(own) + 1 :])
            if given is not None:
                r.op("yield", given)
        here = self.arm(rest, ends)
        return r.op("if", chosen[len(own)], regions=(gone, here), types=ends.types).results


# Rule 6: division.

UNSIGNED: dict[AnyDType, AnyDType] = {
    i8: u8, i16: u16, i32: u32, i64: u64, u8: u8, u16: u16, u32: u32, u64: u64,
}  # fmt: skip


WIDENED: dict[AnyDType, AnyDType] = {i8: i64, i16: i64, i32: i64, u8: u64, u16: u64, u32: u64}


def _recast(r: Rewriter, value: Value, to: AnyDType) -> Value:
    return value if value.tile.dtype is to else r.emit("bitcast", value, to=to)


def _divi(r: Rewriter, op: Op) -> Sequence[Value] | None:
    if op.attrs["rounding"] is not Rounding.NEG_INF or op.result.tile.dtype.is_signed:
        return None
    return (r.emit("divi", *r.many(op.operands)),)


def _remi(r: Rewriter, op: Op) -> Sequence[Value] | None:
    if op.attrs["rounding"] is not Rounding.NEG_INF:
        return None
    lhs, rhs = r.many(op.operands)
    rest = r.emit("remi", lhs, rhs)
    if not op.result.tile.dtype.is_signed:
        return (rest,)
    zero = r.zero(rest.type)
    inexact = r.emit("cmpi", rest, zero, predicate=Predicate.NE)
    # The XOR of two integers is negative if and only if their signs differ.
    differ = r.emit("cmpi", r.emit("xori", rest, rhs), zero, predicate=Predicate.LT)
    wrong = r.emit("andi", inexact, differ)
    return (r.emit("select", wrong, r.emit("addi", rest, rhs), rest),)


DIVISIONS: dict[str, Callable[[Rewriter, Op], Sequence[Value] | None]] = {
    "divi": _divi, "remi": _remi,
}  # fmt: skip
