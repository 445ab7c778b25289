"""Emit a module for the threads of a SIMT kernel, by the native calling convention.

Blocks run in order of their numbers, x fastest; in a block, rows of threads along x, one group of
lanes after the other. A row is multi-versioned if its checks can be hoisted: one version without
them, and one with them for rows for which they do not hold.
"""

from __future__ import annotations

from ...base.cpu_abi import CpuLaunchWord
from ...base.stage import Stage
from ...ir.artifact import Artifact, reporting_ops
from ...ir.core import Op, Value
from ...ir.ops.simt import LENGTH
from ..cpu.emit import control as cpu_control
from ..cpu.emit import memory as cpu_memory
from ..cpu.emit.access import alignment
from ..cpu.emit.emitter import LlvmEmitter
from ..cpu.emit.kernel import module_text, read_parameters
from ..cpu.loopnest.nodes import Plan, Stmt
from ..llvm.builder import Vec, where
from ..llvm.debug_locations import llvm_listing
from ..llvm.object import (
    CpuTarget,
    artifact,
    assembly_listing,
    codec_for,
    compile_module,
    host_target,
    summary,
)
from . import control, machine, memory, shared
from .cooperative_block import each, write_cooperative_block
from .machine import Lanes, ThreadPosition, Write
from .plan import Threads, attributes, plan_threads, print_threads

__all__ = ["Threads", "emit_threads", "plan_threads", "print_threads"]

TABLE: dict[str, Write] = {
    **machine.TABLE, **memory.TABLE, **control.TABLE, **shared.TABLE,
}  # fmt: skip
"""How every op of a SIMT kernel is written for lanes."""
LINE = 64


def emit_threads(plan: Threads, cpu: CpuTarget) -> str:
    """Return the LLVM text of a SIMT kernel."""
    return _ThreadsWriter(plan, cpu).text()


def _no_statements(emitter: LlvmEmitter, statement: Stmt) -> None:
    raise AssertionError(f"threads have no statements: {statement}")


class _ThreadsWriter:
    """The writer of one kernel."""

    def __init__(self, plan: Threads, cpu: CpuTarget) -> None:
        func = plan.func
        sites = {op: number for number, op in enumerate(reporting_ops(func))}
        self.plan = plan
        self.sizes = func.signature.block_dims
        self.emitter = LlvmEmitter(Plan(func, func.params, [], sites), cpu, _no_statements)
        self.body = self.emitter.body

    def text(self) -> str:
        emitter = self.emitter
        read_parameters(emitter)
        if self.plan.written:
            word = emitter.load(
                cpu_control.launch_word(emitter, CpuLaunchWord.STREAM), "i64", align=8
            )
            emitter.cached = word.eq(0).cast("sext", "i64")
        self.blocks()
        cpu_memory.end(emitter)
        emitter.do("ret void")
        return module_text(emitter, attributes(emitter.cpu) if self.plan.moves else "")

    # Blocks.

    def blocks(self) -> None:
        """Emit the loop over blocks; each starts only if the launch is not cancelled."""
        emitter, body = self.emitter, self.body
        sizes = [cpu_control.grid_axis(emitter, k) for k in range(3)]
        cancel = cpu_control.launch_word(emitter, CpuLaunchWord.CANCEL)
        before = self.before_threads()
        counter = emitter.slot("i64")
        emitter.store(Vec(body, "%begin", "i64", 1), counter)
        head, start, inside, done = (emitter.label(w) for w in ("block", "start", "run", "exit"))
        body.jump(head)
        body.label(head)
        number = emitter.load(counter, "i64")
        end = Vec(body, "%end", "i64", 1)
        emitter.branch(number < end, start, done)
        body.label(start)
        cancelled = body.emit(f"load atomic i64, {cancel} monotonic, align 8", "i64", 1)
        emitter.branch(cancelled.eq(0), inside, done)
        body.label(inside)
        ids = cpu_control.block_ids(emitter, number, sizes)[::-1]
        count = end - number if self.plan.merged else emitter.integer(1)
        if self.plan.cooperation is not None:
            write_cooperative_block(emitter, self.plan, TABLE, number, ids, sizes[::-1])
        else:
            self.block(number, ids, sizes[::-1], count, before)
        emitter.store(number + count, counter)
        body.jump(head)
        body.label(done)

    def before_threads(self) -> dict[Value, Vec]:
        """Return numbers needed before any thread runs: loop bounds, lengths of row checks."""
        lanes = Lanes(self.emitter, self.plan, TABLE)
        wanted = [*self.plan.limits, *(op.one("length") for op in self.plan.whole)]
        for value in wanted:
            self.compute(lanes, value)
        return {value: lanes.names[value] for value in wanted}

    def compute(self, lanes: Lanes, value: Value) -> None:
        made = lanes.nesting.definer(value)
        if value in lanes.names or made is None:
            return
        if not made.is_a(LENGTH):
            for operand in made.operands:
                self.compute(lanes, operand)
        TABLE[made.name](lanes, made)

    def block(
        self, number: Vec, ids: list[Vec], sizes: list[Vec], count: Vec, before: dict[Value, Vec]
    ) -> None:
        """Emit the rows of a block, or of `count` adjacent blocks: axes are x, y and z."""
        emitter = self.emitter
        width, height, depth = self.sizes

        def row(y: Vec, z: Vec) -> None:
            first = ids[0] * width
            thread = number * (width * height * depth) + (z * height + y) * width
            place = ThreadPosition(thread, first, [emitter.integer(0), y, z], ids, sizes, y)
            self.row(place, first + count * width, before)

        each(emitter, depth, lambda z: each(emitter, height, lambda y: row(y, z)))

    # Rows of threads.

    def row(self, start: ThreadPosition, end: Vec, before: dict[Value, Vec]) -> None:
        """Emit the threads of a row, up to the limits of the kernel."""
        emitter, body = self.emitter, self.body
        for value in self.plan.limits:
            limit = before[value].cast("sext", "i64")
            end = end.intrinsic("smin", limit)
        if not self.plan.whole:
            self.groups(start, end, self.plan.known, whole=True)
            return
        lengths = [before[op.one("length")].cast("sext", "i64") for op in self.plan.whole]
        inside = emitter.any_of([length >= end for length in lengths])
        free, tested, after = (emitter.label(word) for word in ("free", "tested", "after"))
        emitter.branch(inside, free, tested)
        body.label(free)
        proved = {op.result: True for op in self.plan.whole}
        self.groups(start, end, {**self.plan.known, **proved}, whole=True)
        body.jump(after)
        body.label(tested)
        self.groups(start, end, self.plan.known, whole=False)
        body.jump(after)
        body.label(after)

    def groups(
        self, start: ThreadPosition, end: Vec, known: dict[Value, bool], *, whole: bool
    ) -> None:
        """Emit the SIMD groups; full ones in a separate loop, if `whole`."""
        emitter, body, width = self.emitter, self.body, self.plan.width
        counter = emitter.slot("i64")
        emitter.store(start.index, counter)
        words = ("groups", "look", "whole", "part", "done")
        head, look, every, part, done = (emitter.label(word) for word in words)
        body.jump(head)
        body.label(head)
        at = emitter.load(counter, "i64")
        emitter.branch(at < end, look, done)
        body.label(look)
        count = (end - at).intrinsic("smin", width)
        if whole:
            count = self.to_line(at, count)
            emitter.branch(count.eq(width), every, part)
            body.label(every)
            past = self.past(at)
            self.group(start, at, None, known, past)
            emitter.store(at + width, counter)
            body.jump(head)
        else:
            body.jump(part)
        body.label(part)
        lanes = emitter.lanes_of("i64", width)
        self.group(start, at, lanes < emitter.splat(count, width), known, None)
        emitter.store(at + count, counter)
        body.jump(head)
        body.label(done)

    def group(
        self,
        start: ThreadPosition,
        at: Vec,
        live: Vec | None,
        known: dict[Value, bool],
        past: Vec | None,
    ) -> None:
        """Emit the threads from `at` on that are live."""
        emitter, body = self.emitter, self.body
        lanes = Lanes(emitter, self.plan, TABLE)
        done = emitter.label("group")
        split = None in lanes.facts.split

        def leave(lanes: Lanes, end: Op) -> bool:
            if split:
                lanes.live = lanes.none()
                return True
            body.jump(done)
            return False

        offset = at - start.index
        lanes.place = ThreadPosition(
            start.number + offset,
            at,
            [offset, *start.thread[1:]],
            start.block,
            start.grid,
            start.group,
        )
        lanes.live, lanes.past, lanes.exits[None] = live, past, leave
        lanes.known = dict(known)
        if lanes.run(self.plan.func.body):
            body.jump(done)
        body.label(done)

    # Non-temporal stores.

    def to_line(self, at: Vec, count: Vec) -> Vec:
        """Return fewer lanes if a streaming launch does not start at a cache line."""
        if not self.plan.written:
            return count
        emitter = self.emitter
        assert emitter.cached is not None
        address, size = self.address(self.plan.written[0], at)
        beyond = address & (LINE - 1)
        missing = (LINE - beyond).binary("udiv", size)
        aligned = beyond.eq(0) | emitter.cached.ne(0) | (address & (size - 1)).ne(0)
        return where(aligned, count, count.intrinsic("smin", missing))

    def past(self, at: Vec) -> Vec | None:
        """Return whether complete vectors are stored non-temporally: a scalar; None if never."""
        emitter = self.emitter
        if emitter.cached is None:
            return None
        places = [self.address(value, at) for value in self.plan.written]
        if any(self.plan.width * size % LINE for _, size in places):
            return None
        # No address is zero: in a launch that does not stream, none is aligned enough.
        line = emitter.cached | (LINE - 1)
        return emitter.any_of([(address & line).eq(0) for address, _ in places])

    def address(self, value: Value, at: Vec) -> tuple[Vec, int]:
        """Return the address of an element of a slice, and the size of one."""
        size = alignment(value.tensor.dtype)
        first = self.emitter.tensors[value].address
        base = self.body.emit(f"ptrtoint {first} to i64", "i64", 1)
        return base + at * size, size


# -------------------------------------------------------------------------------------------------
# Stages of SIMT kernels on the CPU: typed IR to a plan of threads, LLVM text, an object file.


TOGETHER = 64
"""Blocks of threads that a worker takes at once, where they run as one loop."""


def stages(target: CpuTarget | None = None) -> tuple[Stage, ...]:
    """Return the stages from typed IR to an artifact, by default for this machine's CPU."""
    cpu = target or host_target()
    return (
        Stage("plan", lambda func: plan_threads(func, cpu), print_threads, codec_for(cpu)),
        Stage(
            "llvm", lambda plan: (plan, emit_threads(plan, cpu)),
            lambda pair: llvm_listing(pair[1]),
        ),
        Stage(
            "object", lambda pair: _artifact(pair[0], pair[1], cpu), summary,
            also=lambda pair, _: assembly_listing(pair[1], cpu),
        ),
    )  # fmt: skip


def _artifact(plan: Threads, text: str, cpu: CpuTarget) -> Artifact:
    together = TOGETHER if plan.merged else 1
    scratch = 0 if plan.cooperation is None else plan.cooperation.live_values.scratch
    code = compile_module(text, cpu)
    return artifact(plan.func, cpu, code, scratch, together, plan.decisions)
