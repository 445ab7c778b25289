"""Control flow that is decided: branches taken, loops that run never or once, scopes left once."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Block, Op, Value
from ...ir.rewrite import Rewriter
from ...ir.types import TileType
from .facts import Facts, Rule

PLACEHOLDERS = ("constant", "int_to_ptr", "make_token")
"""What `Rewriter.zero` makes."""


def _inlined(
    r: Rewriter, op: Op, region: Block, args: Sequence[Value], ends: Sequence[str]
) -> Sequence[Value]:
    passed = r.inline(region, args, ends)
    # Control never comes back from the region: nothing stands for the results.
    return op.results if passed is None else passed


def _if(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    taken = facts.known.get(op.one("cond"))
    if taken is not None:
        return _inlined(r, op, op.regions[0 if taken else 1], (), ("yield",))
    ends = [region.terminator for region in op.regions]
    if all(end.name == "yield" for end in ends):
        return _joined(facts, r, op, ends)
    if all(end.name != "yield" for end in ends):
        return _cut(facts, r, op)
    return None


def _joined(facts: Facts, r: Rewriter, op: Op, ends: Sequence[Op]) -> Sequence[Value] | None:
    """Results that both arms agree on, or that a select of scalars gives."""
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


def _cut(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """Both arms go elsewhere: drop what follows in this block, all but its terminator."""
    block = facts.nesting.block[op]
    rest = block.ops[block.ops.index(op) + 1 :]
    if block in r.inlined or all(o.name in PLACEHOLDERS for o in rest[:-1]):
        return None
    dead = {v for o in (op, *rest) for v in o.results}
    r.copy(op)
    end = rest[-1]
    r.put(end, [r.zero(v.type) if v in dead else r.get(v) for v in end.operands])
    return op.results


def _for(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    lower, upper, step = (facts.ranges.of(op.one(name)) for name in ("lower", "upper", "step"))
    if lower.low >= upper.high or step.high <= 0:
        return r.many(op.all("init"))
    once = lower.high < upper.low and step.low > 0 and lower.low + step.low >= upper.high
    if once and _one_exit(facts, op):
        args = r.many((op.one("lower"), *op.all("init")))
        return _inlined(r, op, op.regions[0], args, ("continue", "break"))
    return _unchanging(facts, r, op)


def _loop(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    (body,) = op.regions
    if body.terminator.name != "continue" and _one_exit(facts, op):
        return _inlined(r, op, body, r.many(op.all("init")), ("break",))
    return _unchanging(facts, r, op)


def _scope(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    if not _one_exit(facts, op):
        return None
    return _inlined(r, op, op.regions[0], (), ("leave",))


def _one_exit(facts: Facts, op: Op) -> bool:
    """Whether nothing but the terminator of its region speaks to the op."""
    exits = facts.nesting.exits.get(op, [])
    return all(end is op.regions[0].terminator for end in exits)


def _unchanging(facts: Facts, r: Rewriter, op: Op) -> Sequence[Value] | None:
    """A carried value that no round changes is what it was before the loop."""
    inits, args = op.all("init"), _carried(op)
    within = [_stays(facts, op, k, "continue") for k in range(len(inits))]
    after = [stays and _stays(facts, op, k, "break") for k, stays in enumerate(within)]
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
    return args[1:] if op.name == "for" else args


def _stays(facts: Facts, op: Op, slot: int, exit_name: str) -> bool:
    """Whether these exits of a loop pass on the value that a slot had at first."""
    same = (op.all("init")[slot], _carried(op)[slot])
    ends = [e for e in facts.nesting.exits.get(op, []) if e.name == exit_name]
    return all(any(e.operands[slot] is v for v in same) for e in ends)


RULES: dict[str, Rule] = {"if": _if, "for": _for, "loop": _loop, "scope": _scope}
