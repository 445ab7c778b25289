"""Dead code elimination by marking from the effects backward (aggressive DCE).

Goals: remove ops without effects whose results are unused, loads whose result is unused, branches
and bounded loops that do nothing, and single values carried by loops or passed out of regions.

Non-goals: removing stores that are overwritten, checks, asserts or prints; removing a `loop`
(it may never end, and then must not end); results of reduce and scan that are unused in part.

Rules (mark everything needed, from the effects backward; then copy what is marked):

1. An op is needed if it writes, checks or prints, is a `loop`, or if a needed op uses a result.
       %a = addf %x, %y  (unused)             ->  nothing
2. An op that holds a needed op is needed, and so is all that decides whether control reaches it:
   the condition or bounds, every terminator of a needed loop or scope, and every `return`.
       for ... {if %c {break} else {yield}; store}  keeps %c and the break
3. A carried value is needed if its argument or its result is; then so are its initial value and
   the operands of each `continue` and `break` for it. It may depend on itself and still be dead.
       %r = for (%a = %x) {%b = addf %a, %a; continue %b}  (%r unused)  ->  for () {continue}
4. A result of an `if` or a `scope` is needed if it is used; then so are the yielded values.
       %r = if %c : t {yield %a} else {yield %b}  (%r unused)  ->  nothing
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.structure import Structure, arguments, carried, structure
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import CARRIES, Effect, Trait
from ..ir.ops.control import LOOP, RETURN

ROOTS = Effect.WRITE | Effect.CHECK | Effect.PRINT | Effect.STOP


def dce(func: Func) -> Func:
    """Keep the ops that effects need, in order."""
    live = _LivenessMarker(func)
    return rewrite(func, _Sweeper(live).visit)


class _LivenessMarker:
    """The marking of needed ops and values; each need is followed once."""

    def __init__(self, func: Func) -> None:
        self.nesting: Structure = structure(func)
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self.todo: list[Op | Value] = [op for op in func.walk() if self.is_root(op)]
        while self.todo:
            need = self.todo.pop()
            if isinstance(need, Value):
                self.value(need)
            else:
                self.op(need)

    def is_root(self, op: Op) -> bool:
        """Return whether an op is needed by rule 1; the function's own end is a `return`."""
        return bool(op.defn.effects & ROOTS) or op.is_a(LOOP, RETURN)

    def op(self, op: Op) -> None:
        if op in self.ops:
            return
        self.ops.add(op)
        self.todo += self.nesting.ancestors(op)
        self.todo += self.nesting.exits.get(op, [])
        if op.defn.terminator:
            self.passed(op)
        elif op.has(CARRIES):
            self.todo += op.operands[: len(op.operands) - len(carried(op))]
        else:
            self.todo += op.operands

    def passed(self, end: Op) -> None:
        """Mark the operands of a needed terminator whose slots are needed."""
        target = self.nesting.target.get(end)
        if target is None:
            return
        if not target.has(CARRIES):
            self.todo += end.operands
            return
        for k, value in enumerate(end.operands):
            if self.slot(target, k):
                self.todo.append(value)

    def slot(self, op: Op, k: int) -> bool:
        """Return whether a slot is needed by rules 3 and 4."""
        args = arguments(op)
        return op.results[k] in self.values or (bool(args) and args[k] in self.values)

    def value(self, value: Value) -> None:
        if value in self.values:
            return
        self.values.add(value)
        owner = self.nesting.owner.get(value)
        if owner is None:
            return
        self.todo.append(owner)
        if not owner.has(CARRIES):
            return
        for k, slot in enumerate(zip(owner.results, *_rows(owner), strict=True)):
            if any(value is v for v in slot):
                self.todo += [end.operands[k] for end in self.nesting.exits.get(owner, [])]
                self.todo += carried(owner)[k : k + 1]


def _rows(op: Op) -> list[tuple[Value, ...]]:
    return [arguments(op)] if op.has(Trait.LOOP) else []


class _Sweeper:
    """A copy of the function with the marked ops and slots only."""

    def __init__(self, live: _LivenessMarker) -> None:
        self.live = live

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op.defn.terminator:
            return self.terminator(r, op)
        if op not in self.live.ops:
            return op.results
        return self.carrier(r, op) if op.has(CARRIES) else None

    def kept(self, op: Op) -> list[int]:
        return [k for k in range(len(op.results)) if self.live.slot(op, k)]

    def terminator(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        target = self.live.nesting.target.get(op)
        if target is None or not target.has(CARRIES):
            return None
        r.op(op.name, r.many([op.operands[k] for k in self.kept(target)]))
        return ()

    def carrier(self, r: Rewriter, op: Op) -> Sequence[Value]:
        kept = self.kept(op)
        regions = [self.region(r, op, region, kept) for region in op.regions]
        inits = [carried(op)[k] for k in kept] if op.has(Trait.LOOP) else []
        fixed = r.many(op.operands[: len(op.operands) - len(carried(op))])
        if op.has(Trait.LOOP):
            new = r.op(op.name, *fixed, r.many(inits), regions=regions, **op.attrs)
        else:
            types = tuple(op.results[k].type for k in kept)
            new = r.op(op.name, *fixed, regions=regions, types=types)
        results = list(op.results)
        for k, value in zip(kept, new.results, strict=True):
            results[k] = value
        return results

    def region(self, r: Rewriter, op: Op, old: Block, kept: Sequence[int]) -> Block:
        slots = arguments(op)
        first = old.args[: len(old.args) - len(slots)]
        args = (*first, *(slots[k] for k in kept if slots))
        new = Block(tuple(Value(a.type, a.name) for a in args))
        r.bind(args, new.args)
        with r.at(new):
            r.ops(old.ops)
        return new
