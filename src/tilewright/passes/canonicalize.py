"""Canonicalization: constant folding, bit-exact identities, decided control flow, to a fixpoint.

Peephole identities in the manner of LLVM's InstSimplify, one section per op family.

Goals: fold constants, apply identities that hold for every operand to the last bit, take branches
whose condition is known, and drop unreachable code. Sweeps run until nothing changes (each sweep
preserves the meaning, so a limit on their number is harmless).

Non-goals: removing unused ops (`dce`), merging equal ops (`cse`), moving ops (`licm`);
identities that are true of numbers but not of floats (x + 0.0, x - x, x * 0.0, reassociation);
checks (`prove_checks`).

Rules:

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

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..analysis.dataflow import Constants, constants
from ..analysis.ranges import Interval, Ranges, ranges
from ..analysis.structure import Structure, structure, use_counts
from ..base.dtypes import FLOATS, bool_, tf32
from ..ir.attrs import Predicate, Rounding
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import OpDef
from ..ir.ops.control import BREAK, CONTINUE, FOR, IF, LEAVE, YIELD
from ..ir.ops.elementwise import BITCAST, EXTI, NOTI, PACK, UNPACK
from ..ir.ops.layout import CONSTANT, PERMUTE
from ..ir.ops.memory import INT_TO_PTR, MAKE_TOKEN
from ..ir.semantics import Number, same
from ..ir.types import TileType

# -------------------------------------------------------------------------------------------------
# The facts that rules may use, and the type of a rule.


@dataclass(frozen=True, eq=False)
class SimplifyFacts:
    """Facts about the old function, for old values."""

    known: Constants
    ranges: Ranges
    nesting: Structure
    uses: Counter[Value]

    def is_number(self, value: Value, number: Number) -> bool:
        """Return whether all elements of a value provably are this number, to the bit."""
        known = self.known.get(value)
        return known is not None and same(known, number)

    def made_by(self, value: Value, declared: OpDef) -> Op | None:
        """Return the op that defines a value if it is of this kind, else None."""
        op = self.nesting.definer(value)
        return op if op is not None and op.is_a(declared) else None


def facts_of(func: Func) -> SimplifyFacts:
    """Gather the facts about a function."""
    known = constants(func)
    return SimplifyFacts(known, ranges(func, known), structure(func), use_counts(func))


Rule: TypeAlias = Callable[[SimplifyFacts, Rewriter, Op], Sequence[Value] | None]
"""Return the new values for the op's results; None if the rule does not apply."""


# -------------------------------------------------------------------------------------------------
# Identities of + - * / min max negation: exact for every operand, -0.0 and NaN included.


def _neutral(number: Number, *, either: bool = False) -> Rule:
    """Return a rule for x op number = x; also for number op x if `either`."""

    def rule(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        lhs, rhs = op.operands
        if facts.is_number(rhs, number):
            return r.many((lhs,))
        if either and facts.is_number(lhs, number):
            return r.many((rhs,))
        return None

    return rule


def _same_gives_itself(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    return r.many((lhs,)) if lhs is rhs else None


def _same_gives_zero(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    return (r.zero(op.result.type),) if lhs is rhs else None


def _zero_wins(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Simplify 0 op x = x op 0 = 0; for integers only."""
    if any(facts.is_number(v, 0) for v in op.operands):
        return (r.zero(op.result.type),)
    return None


def _by_one_leaves_zero(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return (r.zero(op.result.type),) if facts.is_number(op.one("rhs"), 1) else None


def _twice(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Simplify op(op(x)) = x."""
    inner = facts.made_by(op.one("arg"), op.defn)
    return None if inner is None else r.many((inner.one("arg"),))


def _first_of(*rules: Rule) -> Rule:
    def rule(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        return next((found for one in rules if (found := one(facts, r, op)) is not None), None)

    return rule


def _exactly(rule: Rule, allowed: Callable[[Op], bool]) -> Rule:
    """Return a rule for floats that applies if no attribute changes rounding or flushes."""

    def guarded(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        return rule(facts, r, op) if allowed(op) and not op.attrs["ftz"] else None

    return guarded


def _nearest(op: Op) -> bool:
    # Rounded down, 0.0 - 0.0 is -0.0: another mode is not exact.
    return bool(op.attrs["rounding"] is Rounding.NEAREST_EVEN)


def _any_rounding(op: Op) -> bool:
    return True


# -------------------------------------------------------------------------------------------------
# Identities of and, or, xor, not and shifts, on integers and booleans.


def _zeros(op: Op) -> Number:
    return False if op.result.tile.dtype.is_bool else 0


def _ones(op: Op) -> Number:
    """Return all bits set."""
    dtype = op.result.tile.dtype
    if dtype.is_bool:
        return True
    return -1 if dtype.is_signed else (1 << dtype.bits) - 1


def _other_than(facts: SimplifyFacts, op: Op, number: Number) -> Value | None:
    """Return the operand beside one that is provably this number."""
    lhs, rhs = op.operands
    if facts.is_number(rhs, number):
        return lhs
    return rhs if facts.is_number(lhs, number) else None


def _andi(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _lattice(facts, r, op, neutral=_ones(op), winner=_zeros(op))


def _ori(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _lattice(facts, r, op, neutral=_zeros(op), winner=_ones(op))


def _lattice(
    facts: SimplifyFacts, r: Rewriter, op: Op, neutral: Number, winner: Number
) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    if lhs is rhs:
        return r.many((lhs,))
    if (other := _other_than(facts, op, neutral)) is not None:
        return r.many((other,))
    if _other_than(facts, op, winner) is not None:
        kind = op.result.tile
        return (r.constant(winner, kind.dtype, kind.shape),)
    return None


def _xori(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lhs, rhs = op.operands
    if lhs is rhs:
        return (r.zero(op.result.type),)
    if (other := _other_than(facts, op, _zeros(op))) is not None:
        return r.many((other,))
    if (other := _other_than(facts, op, _ones(op))) is not None:
        return (r.emit("noti", r.get(other)),)
    return None


def _noti(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    inner = facts.made_by(op.one("arg"), NOTI)
    return None if inner is None else r.many((inner.one("arg"),))


def _shift(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return r.many((op.one("lhs"),)) if facts.is_number(op.one("rhs"), 0) else None


# -------------------------------------------------------------------------------------------------
# Comparisons and selections that are decided.

SURE: dict[Predicate, Callable[[Interval, Interval], bool]] = {
    Predicate.LT: lambda a, b: a.high < b.low,
    Predicate.LE: lambda a, b: a.high <= b.low,
    Predicate.GT: lambda a, b: a.low > b.high,
    Predicate.GE: lambda a, b: a.low >= b.high,
    Predicate.EQ: lambda a, b: a.low == a.high == b.low == b.high,
    Predicate.NE: lambda a, b: a.high < b.low or a.low > b.high,
}
"""When a predicate provably holds, from the intervals of both sides."""

REFLEXIVE = (Predicate.EQ, Predicate.LE, Predicate.GE)


def decided(facts: SimplifyFacts, op: Op) -> bool | None:
    """Return the provable result of a comparison of integers, or None."""
    lhs, rhs = op.operands
    predicate = Predicate(op.attrs["predicate"])
    if lhs is rhs:
        return predicate in REFLEXIVE
    a, b = facts.ranges.of(lhs), facts.ranges.of(rhs)
    if SURE[predicate](a, b):
        return True
    return False if SURE[predicate.negated](a, b) else None


def _cmpi(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    answer = decided(facts, op)
    return None if answer is None else (r.constant(answer, bool_, op.result.tile.shape),)


def _select(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    cond, a, b = op.operands
    chosen = facts.known.get(cond)
    if chosen is not None:
        return r.many((a if chosen else b,))
    if a is b:
        return r.many((a,))
    if facts.is_number(a, True) and facts.is_number(b, False):
        return r.many((cond,))
    if facts.is_number(a, False) and facts.is_number(b, True):
        return (r.emit("noti", r.get(cond)),)
    return None


# -------------------------------------------------------------------------------------------------
# Control flow: decided branches, loops with no or one iteration, scopes with a single exit.

PLACEHOLDERS = (CONSTANT, INT_TO_PTR, MAKE_TOKEN)
"""What `Rewriter.zero` makes."""


def _inlined(
    r: Rewriter, op: Op, region: Block, args: Sequence[Value], ends: Sequence[OpDef]
) -> Sequence[Value]:
    passed = r.inline(region, args, ends)
    # Control never comes back from the region: nothing stands for the results.
    return op.results if passed is None else passed


def _if(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    taken = facts.known.get(op.one("cond"))
    if taken is not None:
        return _inlined(r, op, op.regions[0 if taken else 1], (), (YIELD,))
    ends = [region.terminator for region in op.regions]
    if all(end.is_a(YIELD) for end in ends):
        return _joined(facts, r, op, ends)
    if all(not end.is_a(YIELD) for end in ends):
        return _cut(facts, r, op)
    return None


def _joined(
    facts: SimplifyFacts, r: Rewriter, op: Op, ends: Sequence[Op]
) -> Sequence[Value] | None:
    """Return the results on which both arms agree, or selects of scalar ones."""
    pairs = list(zip(*(end.operands for end in ends), strict=True))
    bare = all(len(region.ops) == 1 for region in op.regions)
    if bare and all(a is b or _is_scalar(a) for a, b in pairs):
        return [_chosen(r, op.one("cond"), a, b) for a, b in pairs]
    agreed = [a is b and facts.uses[v] > 0 for v, (a, b) in zip(op.results, pairs, strict=True)]
    if not any(agreed):
        return None
    kept = r.copy(op).results
    return [r.get(a) if same else v for v, same, (a, _) in zip(kept, agreed, pairs, strict=True)]


def _chosen(r: Rewriter, cond: Value, a: Value, b: Value) -> Value:
    return r.get(a) if a is b else r.emit("select", *r.many((cond, a, b)))


def _is_scalar(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and kind.rank == 0 and not kind.is_pointer


def _cut(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Drop the code after a branch both arms of which leave, except the terminator."""
    block = facts.nesting.block[op]
    rest = block.ops[block.ops.index(op) + 1 :]
    if block in r.inlined or all(o.is_a(*PLACEHOLDERS) for o in rest[:-1]):
        return None
    dead = {v for o in (op, *rest) for v in o.results}
    r.copy(op)
    end = rest[-1]
    r.put(end, [r.zero(v.type) if v in dead else r.get(v) for v in end.operands])
    return op.results


def _for(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lower, upper, step = (facts.ranges.of(op.one(name)) for name in ("lower", "upper", "step"))
    if lower.low >= upper.high or step.high <= 0:
        return r.many(op.all("init"))
    once = lower.high < upper.low and step.low > 0 and lower.low + step.low >= upper.high
    if once and _one_exit(facts, op):
        args = r.many((op.one("lower"), *op.all("init")))
        return _inlined(r, op, op.regions[0], args, (CONTINUE, BREAK))
    return _unchanging(facts, r, op)


def _loop(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    (body,) = op.regions
    if not body.terminator.is_a(CONTINUE) and _one_exit(facts, op):
        return _inlined(r, op, body, r.many(op.all("init")), (BREAK,))
    return _unchanging(facts, r, op)


def _scope(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    if not _one_exit(facts, op):
        return None
    return _inlined(r, op, op.regions[0], (), (LEAVE,))


def _one_exit(facts: SimplifyFacts, op: Op) -> bool:
    """Return whether only the terminator of its region leaves the op."""
    exits = facts.nesting.exits.get(op, [])
    return all(end is op.regions[0].terminator for end in exits)


def _unchanging(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Replace a carried value that no iteration changes by its initial value."""
    inits, args = op.all("init"), _carried(op)
    within = [_stays(facts, op, k, CONTINUE) for k in range(len(inits))]
    after = [stays and _stays(facts, op, k, BREAK) for k, stays in enumerate(within)]
    read = [stays and facts.uses[v] > 0 for stays, v in zip(within, args, strict=True)]
    used = [stays and facts.uses[v] > 0 for stays, v in zip(after, op.results, strict=True)]
    if not any((*read, *used)):
        return None
    old = op.regions[0]
    new = Block(tuple(Value(a.type, a.name) for a in old.args))
    r.bind(old.args, new.args)
    for arg, init, stays in zip(args, inits, within, strict=True):
        r.bind((arg,), (r.get(init if stays else arg),))
    with r.at(new):
        r.ops(old.ops)
    kept = r.put(op, r.many(op.operands), (new,)).results
    return [r.get(i) if stays else v for i, stays, v in zip(inits, after, kept, strict=True)]


def _carried(op: Op) -> tuple[Value, ...]:
    args = op.regions[0].args
    return args[1:] if op.is_a(FOR) else args


def _stays(facts: SimplifyFacts, op: Op, slot: int, leaving: OpDef) -> bool:
    """Return whether these exits of a loop pass on the value that a slot had at first."""
    same = (op.all("init")[slot], _carried(op)[slot])
    ends = [e for e in facts.nesting.exits.get(op, []) if e.is_a(leaving)]
    return all(any(e.operands[slot] is v for v in same) for e in ends)


# -------------------------------------------------------------------------------------------------
# Conversions that change nothing, and pairs that cancel.


def _to_the_same(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    arg = op.one("arg")
    return r.many((arg,)) if arg.type == op.result.type else None


def _there_and_back(outward: OpDef) -> Rule:
    """Return a rule that removes a narrowing of a widening from the same type."""

    def rule(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        inner = facts.made_by(op.one("arg"), outward)
        if inner is None or inner.one("arg").type != op.result.type:
            return None
        return r.many((inner.one("arg"),))

    return rule


def _bitcast(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    inner = facts.made_by(op.one("arg"), BITCAST)
    # tf32 does not hold all of its bits.
    if inner is None or inner.attrs["to"] is tf32:
        return _to_the_same(facts, r, op)
    return (r.emit("bitcast", r.get(inner.one("arg")), to=op.attrs["to"]),)


# -------------------------------------------------------------------------------------------------
# Rearrangements that change nothing, and chains that one op can do.


def _same_shape(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Remove a rearrangement to the same shape, also an extract of the only part."""
    arg = op.one("arg")
    return r.many((arg,)) if arg.type == op.result.type else None


def _reshape(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _same_shape(facts, r, op) or _through(facts, r, op)


def _broadcast(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return _same_shape(facts, r, op) or _through(facts, r, op)


def _through(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Replace a reshape of a reshape, or a broadcast of a broadcast, by one of the first shape."""
    inner = facts.made_by(op.one("arg"), op.defn)
    if inner is None:
        return None
    return (r.emit(op.name, r.get(inner.one("arg")), shape=op.attrs["shape"]),)


def _permute(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    order: tuple[int, ...] = op.attrs["order"]
    if order == tuple(range(len(order))):
        return r.many((op.one("arg"),))
    inner = facts.made_by(op.one("arg"), PERMUTE)
    if inner is None:
        return None
    first: tuple[int, ...] = inner.attrs["order"]
    return (r.emit("permute", r.get(inner.one("arg")), order=tuple(first[k] for k in order)),)


# -------------------------------------------------------------------------------------------------
# Asserts that hold, and accesses whose guard or mask is known.


def _assert(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    return () if facts.is_number(op.one("cond"), True) else None


def _without(r: Rewriter, op: Op, *names: str) -> Sequence[Value]:
    """Return the op again, without these optional operands."""
    given = [() if o.name in names else r.many(op.all(o.name)) for o in op.defn.operands]
    return r.op(op.name, *given, **op.attrs).results


def _load_slice(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    guard = op.maybe("guard")
    known = None if guard is None else facts.known.get(guard)
    if known is None:
        return None
    return _without(r, op, "guard") if known else (r.zero(op.result.type),)


def _load_view(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    guard = op.maybe("guard")
    known = None if guard is None else facts.known.get(guard)
    if known is None:
        return None
    if known:
        return _without(r, op, "guard")
    return (r.zero(op.result.type),) if _padded_with_zero(op) else None


def _padded_with_zero(op: Op) -> bool:
    view = op.one("view").view
    dtype = view.tensor.dtype
    plain = dtype.is_int or dtype.is_bool or dtype in FLOATS
    return plain and (view.padding is None or repr(float(view.padding)) == "0.0")


def _write(mask: str) -> Rule:
    """Return a rule for stores: none if the mask is known false, unmasked if it is true."""

    def rule(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
        value = op.maybe(mask)
        known = None if value is None else facts.known.get(value)
        if known is None:
            return None
        return _without(r, op, mask) if known else ()

    return rule


def _unmasked(facts: SimplifyFacts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Drop the mask of an access if it is known to be true."""
    mask = op.maybe("mask")
    if mask is None or not facts.is_number(mask, True):
        return None
    return _without(r, op, "mask", "padding")


# -------------------------------------------------------------------------------------------------
# The table of all rules by op name.


RULES: dict[str, Rule] = {
    "addi": _neutral(0, either=True),
    "subi": _first_of(_neutral(0), _same_gives_zero),
    "muli": _first_of(_neutral(1, either=True), _zero_wins),
    "divi": _neutral(1),
    "remi": _by_one_leaves_zero,
    "maxi": _same_gives_itself,
    "mini": _same_gives_itself,
    "negi": _twice,
    # x + 0.0 is not x for x = -0.0, and x * 0.0 is not 0.0 for NaN: these are not here.
    "addf": _exactly(_neutral(-0.0, either=True), _nearest),
    "subf": _exactly(_neutral(0.0), _nearest),
    "mulf": _exactly(_neutral(1.0, either=True), _any_rounding),
    "divf": _exactly(_neutral(1.0), _any_rounding),
    "negf": _twice,
    "andi": _andi,
    "ori": _ori,
    "xori": _xori,
    "noti": _noti,
    "shli": _shift,
    "shri": _shift,
    "cmpi": _cmpi,
    "select": _select,
    "if": _if,
    "for": _for,
    "loop": _loop,
    "scope": _scope,
    "ftof": _to_the_same,
    "trunci": _there_and_back(EXTI),
    "bitcast": _bitcast,
    "pack": _there_and_back(UNPACK),
    "unpack": _there_and_back(PACK),
    "reshape": _reshape,
    "broadcast": _broadcast,
    "permute": _permute,
    "extract": _same_shape,
    "assert": _assert,
    "load_view": _load_view,
    "store_view": _write("guard"),
    "atomic_red_view": _write("guard"),
    "load_ptr": _unmasked,
    "store_ptr": _write("mask"),
    "atomic_rmw": _unmasked,
    "atomic_cas": _unmasked,
    "load_slice": _load_slice,
    "store_slice": _write("guard"),
}


# --- canonicalization --------------------------------------------------------------------------

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
