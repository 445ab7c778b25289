"""Canonicalization: constant folding, bit-exact identities, decided control flow, to a fixpoint.

Goals: fold constants, apply identities that hold for every operand to the last bit, take branches
whose condition is known, and drop unreachable code. Sweeps run until nothing changes (each sweep
preserves the meaning, so a limit on their number is harmless).

Non-goals: removing unused ops (`dce`), merging equal ops (`cse`), moving ops (`licm`);
identities that are true of numbers but not of floats (x + 0.0, x - x, x * 0.0, reassociation);
checks (`prove_checks`).

Rules (those of single ops are in `passes.simplify`, by family):

 1. Fold. A result that is a known number becomes a constant, tiles of one number included.
        %c = addi %2, %3                      ->  %c = constant 5
 2. Integers. x+0, x-0, x*1, x/1, x&x, x|0, x^0, x<<0, ... are x; x-x, x*0, x rem 1, x^x are 0.
        %y = muli %x, %one                    ->  %x
 3. Floats, exact for -0.0 and NaN: x + -0.0, x - 0.0, x * 1.0, x / 1.0 are x; not under ftz.
        %y = subf %x, %zero                   ->  %x
 4. Inverses. -(-x), ~(~x), narrowing of a widening, pack of unpack are x.
        %y = negf (negf %x)                   ->  %x
 5. Layout. To the same shape: nothing. A chain of one kind is one op.
        %z = reshape (reshape %x) {shape}     ->  %z = reshape %x {shape}
 6. Comparisons decided by intervals, selections by a known condition or by equal choices.
        %b = cmpi %x, %x {predicate=lt}       ->  %b = constant False
 7. A check of a thread's index is true if intervals prove it, or inside a branch that has compared
    the index with the length; asserts of true, and known guards and masks, are removed.
        store_view %t, %v, %i, %true          ->  store_view %t, %v, %i
 8. A branch with a known condition is taken; one that yields only scalars or equal values becomes
    selects.
        if %true {A; yield %a} else {B}       ->  A; %a
 9. A `for` without iterations is its initial values; one with a single iteration is its body. So
    is a `loop` or a `scope` that is left at the end of its body only.
        %r = scope {A; leave %a}              ->  A; %a
10. A carried value that no iteration changes is its initial value.
        for (%a = %x) {... continue %a}       ->  for (%a = %x) {... %x for %a ... continue %x}
11. Code after a terminator, or after an `if` neither arm of which returns control, is dropped.
        if %c {break} else {continue}; A; continue  ->  if %c {break} else {continue}; continue
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.core import Func, Op, Value
from ..ir.ops.control import IF
from ..ir.ops.layout import CONSTANT
from ..ir.rewrite import Rewriter, rewrite
from .simplify import RULES, SimplifyFacts, facts_of

MAX_SWEEPS = 50


def canonicalize(func: Func) -> Func:
    """Apply the rules above until none applies."""
    for _ in range(MAX_SWEEPS):
        sweep = _Sweep(facts_of(func))
        new = rewrite(func, sweep.visit)
        if not sweep.changed:
            break
        func = new
    return func


class _Sweep:
    """One walk over the function, with the facts known before it."""

    def __init__(self, facts: SimplifyFacts) -> None:
        self.facts = facts
        self.changed = False

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        new = self.folded(r, op)
        if new is None and (rule := RULES.get(op.name)) is not None:
            new = rule(self.facts, r, op)
        self.changed |= new is not None
        return new

    def folded(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        """Apply rule 1."""
        known = [v in self.facts.known for v in op.results]
        if op.is_a(CONSTANT) or not any(known):
            return None
        if op.defn.pure:
            return [self.constant(r, v) for v in op.results]
        # A branch or a loop: it stays for what else it does, its known results are read no more.
        wanted = [k and self.facts.uses[v] > 0 for k, v in zip(known, op.results, strict=True)]
        decided = op.is_a(IF) and op.one("cond") in self.facts.known
        if decided or not any(wanted):
            return None
        copy = r.copy(op)
        pairs = zip(op.results, copy.results, wanted, strict=True)
        return [self.constant(r, old) if want else new for old, new, want in pairs]

    def constant(self, r: Rewriter, value: Value) -> Value:
        kind = value.tile
        return r.constant(self.facts.known[value], kind.dtype, kind.shape)
