"""Which values are the same in all threads of a block, and which ops only some threads reach.

A value varies if it comes from the thread's own place, from memory that threads write, or from
control flow on which threads differ. An op is divergent if some threads of a block may get there
and others not: behind a condition that varies, in a loop that threads leave in different rounds, or
after some of them have returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.attrs import Place
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Effect
from ..ir.types import TensorType
from .structure import LOOPS, Structure, structure

OWN = ("index_1d", "index_2d")
"""Ops that give every thread another number."""


@dataclass(slots=True)
class Uniformity:
    """The values that vary, the ops that only some threads reach, and what they leave apart."""

    varying: set[Value] = field(default_factory=set[Value])
    divergent: set[Op] = field(default_factory=set[Op])
    split: set[Op | None] = field(default_factory=set["Op | None"])
    """Loops and scopes that threads leave at different times; None: the kernel itself."""

    def varies(self, value: Value) -> bool:
        """Whether threads of a block may have different values."""
        return value in self.varying


def uniformity(func: Func) -> Uniformity:
    """Find what differs between threads; grows until nothing more does."""
    nesting = structure(func)
    found = Uniformity()
    while True:
        before = _size(found)
        _Walk(found, nesting).block(func.body, apart=False)
        if _size(found) == before:
            return found


def _size(found: Uniformity) -> tuple[int, int, int]:
    return len(found.varying), len(found.divergent), len(found.split)


class _Walk:
    """One walk over the function, adding to what is known."""

    def __init__(self, found: Uniformity, nesting: Structure) -> None:
        self.found = found
        self.nesting = nesting
        self.left = False
        """Whether some threads may have left a region that still goes on."""

    def block(self, block: Block, apart: bool) -> None:
        """`apart` says that not all threads get here."""
        for op in block.ops:
            if apart or self.left:
                self.found.divergent.add(op)
            if op.defn.terminator:
                self.terminator(op)
            elif op.regions:
                self.region(op, apart)
            elif self.makes_varying(op):
                self.found.varying.update(op.results)

    def makes_varying(self, op: Op) -> bool:
        if op.name in OWN or (op.name == "place" and op.attrs["what"] is Place.THREAD):
            return True
        if any(v in self.found.varying for v in op.operands):
            return True
        return bool(op.defn.effects & (Effect.READ | Effect.WRITE)) and not _is_constant_memory(op)

    def terminator(self, op: Op) -> None:
        """Where only some threads leave, all that they leave is split."""
        if op.name == "yield":
            return
        target = self.nesting.target.get(op)
        between = self.between(op, target)
        if any(o in self.found.split or self.parts(o) for o in between):
            self.found.split.update((target, *(o for o in between if o.name != "if")))
            self.left = True

    def between(self, op: Op, target: Op | None) -> list[Op]:
        """The ops around a terminator inside its target."""
        outer = list(self.nesting.ancestors(op))
        return outer if target is None else outer[: outer.index(target)]

    def parts(self, op: Op) -> bool:
        """Whether an op is a branch that only some threads take."""
        return op.name == "if" and op.one("cond") in self.found.varying

    def region(self, op: Op, apart: bool) -> None:
        if op.name == "if":
            self.branch(op, apart)
            return
        if op.name in LOOPS:
            self.loop_arguments(op)
        outside = self.left
        inside = apart or op in self.found.split
        for region in op.regions:
            self.block(region, inside)
        # Who left this op only is back after it; who left more is not.
        self.left = outside or any(
            self.nesting.target.get(end) in self.found.split for end in self.nesting.leaves(op)
        )
        self.results(op)

    def branch(self, op: Op, apart: bool) -> None:
        varies = self.parts(op)
        before, left = self.left, False
        for region in op.regions:
            self.left = before
            self.block(region, apart or varies)
            left = left or self.left
        self.left = left
        ends = [r.terminator for r in op.regions if r.terminator.name == "yield"]
        for k, result in enumerate(op.results):
            if varies or any(end.operands[k] in self.found.varying for end in ends):
                self.found.varying.add(result)

    def loop_arguments(self, op: Op) -> None:
        """What a loop carries varies if it ever does; bounds that vary part the threads."""
        body = op.regions[0]
        if op.name == "for":
            lower, upper, step = (v in self.found.varying for v in op.operands[:3])
            if lower or upper or step:
                self.found.split.add(op)
            if lower or step:
                self.found.varying.add(body.args[0])
        args = body.args[1:] if op.name == "for" else body.args
        exits = self.nesting.exits.get(op, [])
        rounds = [end for end in exits if end.name == "continue"]
        # Who has left keeps what it had; the others go on with something else.
        parted = op in self.found.split
        for k, (arg, init) in enumerate(zip(args, op.all("init"), strict=True)):
            if parted or init in self.found.varying or self.any_varies(rounds, k):
                self.found.varying.add(arg)

    def results(self, op: Op) -> None:
        exits = [end for end in self.nesting.exits.get(op, []) if end.name != "yield"]
        inits = op.all("init") if op.name in LOOPS else ()
        for k, result in enumerate(op.results):
            carried = bool(inits) and inits[k] in self.found.varying
            if op in self.found.split or carried or self.any_varies(exits, k):
                self.found.varying.add(result)

    def any_varies(self, ends: list[Op], k: int) -> bool:
        return any(end.operands[k] in self.found.varying for end in ends)


def _is_constant_memory(op: Op) -> bool:
    """Whether an op reads memory that no thread of the launch writes."""
    sources = [v.type for v in op.operands if isinstance(v.type, TensorType)]
    return op.name == "load_slice" and all(not t.mutable for t in sources)
