"""How the threads of a SIMT kernel run on a CPU: what is decided before any code is written.

A comparison of every thread's index with one number, at the top of a kernel, is no comparison but
the end of the loop over threads. A check of that index against a length is made once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....analysis.guards import bound_of
from ....analysis.structure import Structure, structure
from ....analysis.uniformity import Uniformity, uniformity
from ....base.errors import Code, CompileError
from ....ir.attrs import Place
from ....ir.core import Func, Op, Value
from ....ir.ops import FAMILIES
from ..emit.kernel import COMPUTE
from ..target import CpuTarget

LANES = 32
"""Threads of a group: those of a warp."""
KNOWN_BEFORE = (*COMPUTE, "constant", "length")
"""Ops that can be computed before the threads run."""


@dataclass(slots=True)
class Threads:
    """The plan of a SIMT kernel. `limits` are numbers that the index of a thread must be below."""

    func: Func
    width: int
    limits: list[Value] = field(default_factory=list[Value])
    known: dict[Value, bool] = field(default_factory=dict[Value, bool])
    """Conditions that the limits decide."""
    whole: list[Op] = field(default_factory=list[Op])
    """Checks that hold for all threads of a row if they hold for the last."""
    written: list[Value] = field(default_factory=list[Value])
    """Slices of which whole vectors are written."""
    merged: bool = False
    """Whether neighbouring blocks run as one loop."""

    @property
    def decisions(self) -> list[str]:
        """Lines for people."""
        lines = [f"groups of {self.width} threads"]
        if self.merged:
            lines.append("neighbouring blocks run as one loop")
        if self.limits:
            lines.append("a comparison of the index ends the loop over threads")
        if self.whole:
            slices = ", ".join(dict.fromkeys(f"`{op.attrs['slice']}`" for op in self.whole))
            lines.append(f"checked once per loop: {slices}")
        return lines


def plan_threads(func: Func, cpu: CpuTarget) -> Threads:
    """Decide how the threads run."""
    _refuse_meeting(func)
    facts, nesting = uniformity(func), structure(func)
    plan = Threads(func, LANES)
    plan.merged = len(func.signature.block or ()) == 1 and not _has(func, "place")
    _find_limits(plan, facts, nesting)
    rows = {op.result for op in func.walk() if op.name == "index_1d"}
    for op in func.walk():
        if op.name == "check_index" and op.one("index") in rows:
            if _is_known_before(op.one("length"), nesting):
                plan.whole.append(op)
        elif op.name == "store_slice" and op.one("index") in rows:
            plan.written.append(op.one("slice"))
    plan.written = list(dict.fromkeys(plan.written))
    return plan


MEETING = frozenset(op.name for family in ("shared", "warps") for op in FAMILIES[family])


def _refuse_meeting(func: Func) -> None:
    for op in func.walk():
        if op.name in MEETING or op.attrs.get("what") in (Place.LANE, Place.WARP):
            raise CompileError(
                f"`{op.name}` has no form for the CPU yet",
                code=Code.TARGET,
                span=op.span,
                hint='run it with device="reference", or on a GPU',
            )


def _has(func: Func, name: str) -> bool:
    return any(op.name == name for op in func.walk())


def _find_limits(plan: Threads, facts: Uniformity, nesting: Structure) -> None:
    """Guards at the top of the kernel, before anything that has an effect."""
    ops = plan.func.body.ops
    for number, op in enumerate(ops):
        if op.defn.pure:
            continue
        truth = _asked(op, ops[number + 1 :]) if op.name == "if" else None
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
    """What the condition of a guard is for threads that do anything; None if it is no guard."""
    first, second = op.regions
    if first.terminator.name == "return" and _is_empty(first.ops) and _is_empty(second.ops):
        return False
    # A branch around all the rest.
    whole = not op.results and _is_empty(second.ops) and _is_empty(rest)
    return True if whole and second.terminator.name == "yield" else None


def _is_empty(ops: Sequence[Op]) -> bool:
    return all(op.defn.pure or op.name in ("yield", "return") for op in ops)


def _is_index(nesting: Structure, value: Value) -> bool:
    made = nesting.definer(value)
    return made is not None and made.name == "index_1d"


def _is_known_before(value: Value, nesting: Structure) -> bool:
    """Whether a number follows from the arguments alone."""
    if value not in nesting.owner:
        return True
    made = nesting.definer(value)
    if made is None or made.name not in KNOWN_BEFORE:
        return False
    return made.name == "length" or all(_is_known_before(v, nesting) for v in made.operands)


def print_threads(plan: Threads) -> str:
    """The plan as text."""
    return "\n".join([f"threads of {plan.func.name}", *plan.decisions]) + "\n"
