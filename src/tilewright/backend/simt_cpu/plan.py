"""Plan how the threads of a SIMT kernel run on a CPU, before any code is emitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...analysis.dataflow import Constants, constants
from ...analysis.structure import Structure, bound_of, structure
from ...analysis.uniformity import Over, Uniformity, uniformity
from ...ir.attrs import WARP_SIZE
from ...ir.core import Block, Func, Op, Value
from ...ir.opdef import OpDef, Trait
from ...ir.ops.control import IF, RETURN, YIELD
from ...ir.ops.layout import CONSTANT
from ...ir.ops.simt import CHECK_INDEX, INDEX_1D, LENGTH, PLACE, STORE_SLICE
from ...ir.semantics import Number
from ..cpu.loopnest.optimize import LIGHT_NEST
from ..llvm.object import CpuTarget
from .barriers import STREAMED, CooperativePlan, plan_cooperation

# -------------------------------------------------------------------------------------------------
# Detects memory-bound SIMT kernels, and selects the vector width for them.


def is_memory_bound(func: Func, facts: Uniformity) -> bool:
    """Return whether the accesses of the innermost loops come with little arithmetic each."""
    found = list(_with_depth(func.body, 0))
    depths = [depth for op, depth in found if op.is_a(*STREAMED)]
    if not depths or max(depth for _, depth in found) > max(depths):
        return False
    inner = [op for op, depth in found if depth == max(depths)]
    weight = sum(_weight(op, facts) for op in inner)
    return weight <= LIGHT_NEST * sum(op.is_a(*STREAMED) for op in inner)


def _with_depth(block: Block, depth: int) -> list[tuple[Op, int]]:
    """Return all ops, with how many loops are around each."""
    found: list[tuple[Op, int]] = []
    for op in block.ops:
        found.append((op, depth))
        for region in op.regions:
            found += _with_depth(region, depth + (op.has(Trait.LOOP)))
    return found


def _weight(op: Op, facts: Uniformity) -> int:
    """Return the cost of an op; a uniform one is computed once for many threads."""
    if not op.has(Trait.ELEMENTWISE) or not any(map(facts.varies, op.results)):
        return 0
    return op.defn.cost


def attributes(cpu: CpuTarget) -> str:
    """Return the function attributes that select the vector width with the best bandwidth."""
    if cpu.stream_bytes >= cpu.vector_bytes:
        return ""
    bits = 8 * cpu.stream_bytes
    return f' "prefer-vector-width"="{bits}" "min-legal-vector-width"="0"'


# -------------------------------------------------------------------------------------------------
# The plan of a kernel.
#
# A guard that compares every thread's index with one number, at the top of a kernel, becomes the
# trip count of the thread loop. A check of that index against a length is hoisted out of the loop.

LANES = WARP_SIZE
"""Threads of a group: those of a warp."""


@dataclass(slots=True)
class Threads:
    """The plan of a SIMT kernel. `limits` are numbers that the index of a thread must be below."""

    func: Func
    width: int
    facts: Uniformity
    """About the threads of a group."""
    nesting: Structure
    cooperation: CooperativePlan | None = None
    """How the threads of a block synchronize; None if they never do."""
    numbers: Constants = field(default_factory=dict["Value", "Number"])
    """Values that are known numbers."""
    used: set[Value] = field(default_factory=set[Value])
    limits: list[Value] = field(default_factory=list[Value])
    known: dict[Value, bool] = field(default_factory=dict[Value, bool])
    """Conditions that the limits decide."""
    whole: list[Op] = field(default_factory=list[Op])
    """Checks that hold for all threads of a row if they hold for the last."""
    written: list[Value] = field(default_factory=list[Value])
    """Slices of which whole vectors are written."""
    merged: bool = False
    """Whether adjacent blocks are coarsened into one loop."""
    moves: bool = False
    """Whether it does little but move memory."""

    @property
    def decisions(self) -> list[str]:
        """Lines for people."""
        lines = [f"SIMD groups of {self.width} threads"]
        if self.cooperation is not None:
            lines += self.cooperation.decisions
        if self.merged:
            lines.append("adjacent blocks are coarsened into one loop")
        if self.moves:
            lines.append("memory-bound: vectors of the width with the best bandwidth")
        if self.limits:
            lines.append("a bounds guard is the trip count of the thread loop")
        if self.whole:
            slices = ", ".join(dict.fromkeys(f"`{op.attrs['slice']}`" for op in self.whole))
            lines.append(f"checked once per loop: {slices}")
        return lines


def plan_threads(func: Func, cpu: CpuTarget) -> Threads:
    """Decide how the threads run."""
    nesting = structure(func)
    cooperation = plan_cooperation(func, nesting)
    if cooperation is not None:
        used = {v for op in func.walk() for v in op.operands}
        plan = Threads(
            func,
            cooperation.width,
            cooperation.of_group,
            nesting,
            cooperation,
            constants(func),
            used,
        )
        plan.moves = is_memory_bound(func, plan.facts)
        return plan
    facts = uniformity(func, Over.ROW, in_step=True)
    plan = Threads(func, LANES, facts, nesting)
    plan.moves = is_memory_bound(func, facts)
    plan.merged = len(func.signature.block or ()) == 1 and not _has(func, PLACE)
    _find_limits(plan, nesting)
    rows = {op.result for op in func.walk() if op.is_a(INDEX_1D)}
    for op in func.walk():
        if op.is_a(CHECK_INDEX) and op.one("index") in rows:
            if _is_known_before(op.one("length"), nesting):
                plan.whole.append(op)
        elif op.is_a(STORE_SLICE) and op.one("index") in rows:
            plan.written.append(op.one("slice"))
    plan.written = list(dict.fromkeys(plan.written))
    return plan


def _has(func: Func, declared: OpDef) -> bool:
    return any(op.is_a(declared) for op in func.walk())


def _find_limits(plan: Threads, nesting: Structure) -> None:
    """Find guards at the top of the kernel, before anything that has an effect."""
    ops = plan.func.body.ops
    for number, op in enumerate(ops):
        if op.defn.pure:
            continue
        truth = _asked(op, ops[number + 1 :]) if op.is_a(IF) else None
        if truth is None:
            return
        found = bound_of(nesting, op.one("cond"), truth)
        if found is None or not _is_index(nesting, found[0]):
            return
        if not _is_known_before(found[1], nesting):
            return
        plan.limits.append(found[1])
        plan.known[op.one("cond")] = truth
        if truth:
            return


def _asked(op: Op, rest: Sequence[Op]) -> bool | None:
    """Return the condition under which a guarded thread does anything; None if it is no guard."""
    first, second = op.regions
    if first.terminator.is_a(RETURN) and _is_empty(first.ops) and _is_empty(second.ops):
        return False
    # A branch around all the rest.
    whole = not op.results and _is_empty(second.ops) and _is_empty(rest)
    return True if whole and second.terminator.is_a(YIELD) else None


def _is_empty(ops: Sequence[Op]) -> bool:
    return all(op.defn.pure or op.is_a(YIELD, RETURN) for op in ops)


def _is_index(nesting: Structure, value: Value) -> bool:
    made = nesting.definer(value)
    return made is not None and made.is_a(INDEX_1D)


def _is_known_before(value: Value, nesting: Structure) -> bool:
    """Return whether a number follows from the arguments alone."""
    if value not in nesting.owner:
        return True
    made = nesting.definer(value)
    if made is None or not (made.has(Trait.ELEMENTWISE) or made.is_a(CONSTANT, LENGTH)):
        return False
    return made.is_a(LENGTH) or all(_is_known_before(v, nesting) for v in made.operands)


def print_threads(plan: Threads) -> str:
    """Return the plan as text."""
    return "\n".join([f"threads of {plan.func.name}", *plan.decisions]) + "\n"
