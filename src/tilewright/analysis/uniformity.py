"""Which values are the same in all threads of a group, and which ops only some threads reach.

A value varies if it comes from the thread's own place, from memory that threads write, or from
control flow on which threads differ. An op is divergent if some threads of a group may get there
and others not: behind a condition that varies, in a loop that threads leave in different rounds, or
after some of them have returned.

The group is a block, or those threads of it that run in step: what differs between blocks of
threads may be the same in all threads of a row or of a warp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from ..ir.attrs import WARP_SIZE, Ordering, Place, ShuffleMode
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Effect
from ..ir.types import TensorType
from .constants import constants
from .shared_uniformity import uniform_shared_reads
from .structure import LOOPS, Structure, structure

WARP_OPS = ("shuffle", "vote", "ballot", "match")
ATOMICS = ("atomic_rmw", "atomic_cas", "atomic_shared", "cas_shared")
QUOTIENTS: dict[str, Callable[[int], int]] = {
    "divi": lambda by: by,
    "shri": lambda by: 1 << by if 0 <= by < 31 else 0,
}
"""Ops that divide, and by what."""


class Over(Enum):
    """Which threads are compared with each other."""

    BLOCK = auto()
    """All threads of a block, whatever its size."""
    WARP = auto()
    """The threads of a warp: 32 of a block, x fastest."""
    ROW = auto()
    """Threads that follow each other along x."""


@dataclass(slots=True)
class Uniformity:
    """The values that vary, the ops that only some threads reach, and what they leave apart."""

    varying: set[Value] = field(default_factory=set[Value])
    divergent: set[Op] = field(default_factory=set[Op])
    split: set[Op | None] = field(default_factory=set["Op | None"])
    """Loops and scopes that threads leave at different times; None: the kernel itself."""
    uneven: dict[Op, Value] = field(default_factory=dict[Op, Value])
    """Loops and scopes that threads leave at different times, and then go on; what parts them."""
    because: dict[Value, Value | Op] = field(default_factory=dict["Value", "Value | Op"])
    """Why a value varies: another that does, or the op that makes it."""

    def varies(self, value: Value) -> bool:
        """Whether threads of a group may have different values."""
        return value in self.varying

    def source(self, value: Value) -> Op | None:
        """The op that is the first reason for a value to vary; None for one that does not."""
        found: Value | Op | None = value
        while isinstance(found, Value):
            found = self.because.get(found)
        return found


def uniformity(func: Func, over: Over = Over.BLOCK, *, in_step: bool = False) -> Uniformity:
    """Find what differs between threads; grows until nothing more does.

    Threads `in_step` read one element at one time, so they all get the same from it.
    """
    nesting = structure(func)
    found = Uniformity()
    sources = _Sources(func, over, in_step, nesting)
    while True:
        before = _size(found)
        _Walk(found, nesting, sources).block(func.body, apart=False)
        if _size(found) == before:
            return found


def _size(found: Uniformity) -> tuple[int, ...]:
    return len(found.varying), len(found.divergent), len(found.split), len(found.uneven)


class _Sources:
    """Which ops make a value that varies, whatever their operands are; and which never do."""

    def __init__(self, func: Func, over: Over, in_step: bool, nesting: Structure) -> None:
        self.over = over
        self.in_step = in_step
        self.numbers = constants(func) if over is Over.WARP else {}
        self.nesting = nesting
        self.settled = uniform_shared_reads(func, nesting)
        signature = func.signature
        # Code for GPUs may be launched in other blocks, unless the kernel says which.
        fixed = in_step or signature.exact_block
        self.whole_rows = fixed and signature.block_dims[0] % WARP_SIZE == 0
        """Whether no warp has threads of two rows."""
        self.single_row = len(signature.block or ()) == 1

    def makes(self, op: Op) -> bool:
        """Whether an op gives threads different values though its operands are alike."""
        if op.name == "place":
            return self.is_own(op)
        if op.name in ("index_1d", "index_2d"):
            return True
        if op.name in WARP_OPS:
            return self.over is not Over.WARP
        if op.name in ATOMICS:
            return True
        if op in self.settled:
            return False
        if not op.defn.effects & (Effect.READ | Effect.WRITE):
            return False
        in_step = self.in_step and op.attrs.get("ordering", Ordering.WEAK) is Ordering.WEAK
        return not in_step and not _is_constant_memory(op)

    def is_own(self, op: Op) -> bool:
        """Whether a place differs between threads."""
        what, axis = op.attrs["what"], op.attrs["axis"]
        if what is Place.THREAD:
            along_x = axis == 0 or self.over is Over.BLOCK
            return along_x or (self.over is Over.WARP and not self.whole_rows)
        return what is Place.LANE or (what is Place.WARP and self.over is not Over.WARP)

    def levels(self, op: Op, varying: Iterable[Value]) -> bool:
        """Whether an op gives all threads one value though these operands vary."""
        if self.over is not Over.WARP:
            return False
        if op.name in ("vote", "ballot"):
            return not set(varying) - {op.one("cond")}
        if op.name == "shuffle":
            whole = op.attrs["mode"] is ShuffleMode.IDX and op.attrs["width"] == WARP_SIZE
            return whole and not set(varying) - {op.one("value")}
        return op.name in QUOTIENTS and self.numbers_warps(op)

    def numbers_warps(self, op: Op) -> bool:
        """Whether an op divides the number of a thread along x by the threads of a warp."""
        number, by = op.operands
        made, size = self.nesting.definer(number), self.numbers.get(by)
        if made is None or size is None or not (self.whole_rows or self.single_row):
            return False
        own = made.name == "place" and made.attrs["what"] is Place.THREAD
        size = QUOTIENTS[op.name](int(size))
        return own and made.attrs["axis"] == 0 and size > 0 and size % WARP_SIZE == 0


class _Walk:
    """One walk over the function, adding to what is known."""

    def __init__(self, found: Uniformity, nesting: Structure, sources: _Sources) -> None:
        self.found = found
        self.nesting = nesting
        self.sources = sources
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
            elif (reason := self.reason(op)) is not None:
                for result in op.results:
                    self.vary(result, reason)

    def vary(self, value: Value, because: Value | Op) -> None:
        if value not in self.found.varying:
            self.found.varying.add(value)
            self.found.because[value] = because

    def reason(self, op: Op) -> Value | Op | None:
        """Why the results of an op vary: an operand, or the op itself."""
        varying = [v for v in op.operands if v in self.found.varying]
        if varying and not self.sources.levels(op, varying):
            return varying[0]
        return op if self.sources.makes(op) else None

    def terminator(self, op: Op) -> None:
        """Where only some threads leave, all that they leave is split."""
        if op.name == "yield":
            return
        target = self.nesting.target.get(op)
        between = self.between(op, target)
        if any(o in self.found.split or self.parts(o) for o in between):
            self.found.split.update((target, *(o for o in between if o.name != "if")))
            self.left = True
        parting = [v for o in between for v in self.parters(o)]
        if target is not None and parting:
            for left in (target, *(o for o in between if o.name != "if")):
                self.found.uneven.setdefault(left, parting[0])

    def between(self, op: Op, target: Op | None) -> list[Op]:
        """The ops around a terminator inside its target."""
        outer = list(self.nesting.ancestors(op))
        return outer if target is None else outer[: outer.index(target)]

    def parts(self, op: Op) -> bool:
        """Whether an op is a branch that only some threads take."""
        return op.name == "if" and op.one("cond") in self.found.varying

    def parters(self, op: Op) -> list[Value]:
        """What parts the threads in an op: a condition, or what another part of it depends on."""
        if self.parts(op):
            return [op.one("cond")]
        return [self.found.uneven[op]] if op in self.found.uneven else []

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
            self.vary_by(result, [*([op.one("cond")] if varies else []),
                                  *(end.operands[k] for end in ends)])  # fmt: skip

    def loop_arguments(self, op: Op) -> None:
        """What a loop carries varies if it ever does; bounds that vary part the threads."""
        body = op.regions[0]
        if op.name == "for":
            lower, upper, step = op.operands[:3]
            for bound in (lower, upper, step):
                if bound in self.found.varying:
                    self.found.split.add(op)
                    self.found.uneven.setdefault(op, bound)
            self.vary_by(body.args[0], (lower, step))
        args = body.args[1:] if op.name == "for" else body.args
        exits = self.nesting.exits.get(op, [])
        rounds = [end for end in exits if end.name == "continue"]
        # Who has left keeps what it had; the others go on with something else.
        for k, (arg, init) in enumerate(zip(args, op.all("init"), strict=True)):
            self.vary_by(arg, (*self.parting(op), init, *(end.operands[k] for end in rounds)))

    def results(self, op: Op) -> None:
        exits = [end for end in self.nesting.exits.get(op, []) if end.name != "yield"]
        inits = op.all("init") if op.name in LOOPS else ()
        for k, result in enumerate(op.results):
            carried = inits[k : k + 1]
            self.vary_by(result, (*self.parting(op), *carried, *(end.operands[k] for end in exits)))

    def parting(self, op: Op) -> tuple[Value, ...]:
        """What lets threads leave a loop or a scope apart; nothing where they stay together."""
        return (self.found.uneven[op],) if op in self.found.uneven else ()

    def vary_by(self, value: Value, reasons: Iterable[Value]) -> None:
        """A value varies if any of these does."""
        for reason in reasons:
            if reason in self.found.varying:
                self.vary(value, reason)


def _is_constant_memory(op: Op) -> bool:
    """Whether an op reads memory that no thread of the launch writes."""
    sources = [v.type for v in op.operands if isinstance(v.type, TensorType)]
    return op.name == "load_slice" and all(not t.mutable for t in sources)
