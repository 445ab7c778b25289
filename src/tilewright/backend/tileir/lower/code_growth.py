"""Bounds the machine code that the assembler makes of a loop.

tileiras 13.4 unrolls loops whose number of iterations is constant and small, and software-pipelines
loops with loads: some iterations before the loop and after it are copies of the body. Of a large
body that is code of hundreds of KiB, which takes a minute to compile, spills, and does not fit into
the instruction cache. So the body is measured (`code_size`): where its copies would be too many
instructions, the number of iterations is hidden from the assembler, or the loop is not pipelined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ....base.source import Span, where
from ....ir.core import Block, Op
from ....ir.ops.control import FOR
from ..bytecode.program import Hints, Instr, InstructionRegion, Val
from ..bytecode.types import INDEX
from ..code_size import BRANCHING, INSTRUCTION_BYTES, PRODUCTS, WARP, CodeSize, instructions
from .conversion import opaque_false
from .emitter import TileEmitter, tile

LARGEST_UNROLLED = 2048
"""Instructions of an unrolled loop: beyond, the end of an iteration takes no time to speak of."""
LARGEST_PIPELINED = 8192
"""Instructions of a pipelined loop with all its copies: the 128 KiB of the instruction cache."""
LARGEST_STREAMED = 4096
"""Instructions of a loop whose loads are asynchronous, with as many copies as these begin early."""
UNROLLED_LOADING, UNROLLED = 15, 4
"""The most iterations that are unrolled: of loops with loads, and of loops without."""
COPIES, COPIES_BRANCHING, COPIES_STAGED = 10, 45, 2
"""Copies of the body in a pipelined loop: at most, as far as was seen; the same if functions
in it branch; and in a loop with products, whose factors wait in the shared memory."""
LOADS = ("load_view_tko", "load_ptr_tko")
NOT_PIPELINED = 10
"""A latency for which the assembler would need more registers than there are: the largest."""
MANY_COPIES, LARGEST_REPEATED = 4, 4096
"""Copies of a line of source code, and their instructions, beyond which a note suggests a loop."""
WARPS = 4
"""Warps of a block of which nothing is said."""


def bounded(em: TileEmitter, loop: Op, bounds: Sequence[Val], body: InstructionRegion) -> Val:
    """Bound the code of a loop, whose body is lowered; return its upper bound."""
    code = list(instructions(body))
    names, loads = {i.op.name for i in code}, [i for i in code if i.op.name in LOADS]
    once, count, upper = code_size(em).region(body), _iterations(em, bounds), bounds[1]
    if 1 < count <= (UNROLLED_LOADING if loads else UNROLLED):
        if once * count <= LARGEST_UNROLLED:
            em.loop_sizes[body] = once * count
            return upper
        em.notes.append(f"loop not unrolled: {count} iterations of {_kib(once)}{where(loop.span)}")
        upper = _hidden(em, upper)
    copies = 1
    if any(load in em.streamed for load in loads):
        copies = _streamed(em, loads, once) + 1
    elif loads:
        copies = COPIES_BRANCHING if names & BRANCHING else COPIES
        if names & PRODUCTS:
            copies = COPIES_STAGED
        elif once * copies > LARGEST_PIPELINED and not any(_latency(em, i) for i in loads):
            _keep_in_order(em, loads)
            em.notes.append(
                f"loop not pipelined: {copies} copies of {_kib(once)}{where(loop.span)}"
            )
            copies = 1
    em.loop_sizes[body] = once * copies
    return upper


def note_rerolled(em: TileEmitter, block: Block) -> None:
    """Note the loops that were made of unrolled copies; of loops in each other, the outer one."""
    for op in block.ops:
        if op.is_a(FOR) and op.attrs["rerolled"]:
            copies = op.attrs["rerolled"]
            em.notes.append(f"{copies} copies of unrolled code are one loop{where(op.span)}")
        else:
            for region in op.regions:
                note_rerolled(em, region)


def note_repetition(em: TileEmitter, body: InstructionRegion) -> None:
    """Note the lines of which much code is there many times, as `static_range` makes it.

    The author asked for these copies, so they stay; the assembler takes time for each.
    """
    measure = code_size(em)
    for region in (body, *(r for i in instructions(body) for r in i.regions if r is not None)):
        places: dict[Span, list[Instr]] = {}
        for instr in region.code:
            if instr.span is not None:
                places.setdefault(instr.span, []).append(instr)
        copies = {
            span: min(Counter(instr.op.name for instr in found).values())
            for span, found in places.items()
        }
        times = max(copies.values(), default=1)
        size = sum(
            measure.instruction(instr)
            for span, found in places.items() if copies[span] > 1 for instr in found
        )  # fmt: skip
        if times >= MANY_COPIES and size > LARGEST_REPEATED:
            first = min(copies, key=lambda span: (copies[span] < times, span.line))
            em.notes.append(
                f"{times} copies of unrolled code, {_kib(size)} in all: `range` instead of"
                f" `static_range` makes one loop of them{where(first)}"
            )


def code_size(em: TileEmitter) -> CodeSize:
    """Return the measure of the code of this kernel."""
    hints = em.decisions.hints.get(em.target.arch, {})
    warps = int(hints.get("num_worker_warps_per_cta", WARPS))
    return CodeSize(warps * WARP, em.makers, em.loop_sizes, em.vectors)


def _iterations(em: TileEmitter, bounds: Sequence[Val]) -> int:
    """Return the constant number of iterations of a loop; 0 if it is not constant."""
    lower, upper, step = (_constant(em, value) for value in bounds)
    if lower is None or upper is None or step is None or step <= 0:
        return 0
    return max(0, -(-(upper - lower) // step))


def _constant(em: TileEmitter, value: Val) -> int | None:
    maker = em.makers.get(value)
    data = maker.attrs["value"] if maker is not None and maker.op.name == "constant" else None
    return int.from_bytes(data, "little", signed=True) if isinstance(data, bytes) else None


def _hidden(em: TileEmitter, upper: Val) -> Val:
    """Return the number behind a select that the assembler cannot decide."""
    block, _, _ = em.op("get_tile_block_id", [INDEX] * 3)
    kind = tile(upper)
    other = em.widened(block, kind.scalar) if kind.scalar.width > INDEX.scalar.width else block
    if kind.scalar.width < INDEX.scalar.width:
        other = em.one("trunci", kind, block)
    return em.one("select", kind, opaque_false(em, block), other, upper)


def _streamed(em: TileEmitter, loads: Sequence[Instr], once: int) -> int:
    """Delay the loads of a loop as its size requires; return how early they may begin."""
    most = max(LARGEST_STREAMED // max(once, 1) - 1, 1)
    for load in loads:
        if load in em.streamed and _latency(em, load) > most:
            _delay(em, load, most)
    return max(_latency(em, load) for load in loads)


def _delay(em: TileEmitter, load: Instr, latency: int) -> None:
    hints: Hints = {em.target.arch: {**_hints(em, load), "latency": latency}}
    load.attrs = {**load.attrs, "optimization_hints": hints}


def _keep_in_order(em: TileEmitter, loads: Sequence[Instr]) -> None:
    """Keep the loads of a loop in their own iteration."""
    for load in loads:
        _delay(em, load, NOT_PIPELINED)


def _latency(em: TileEmitter, load: Instr) -> int:
    """Return the iterations by which a load is prefetched; 0 if no hint says so."""
    return int(_hints(em, load).get("latency", 0))


def _hints(em: TileEmitter, load: Instr) -> dict[str, int | bool]:
    found = load.attrs.get("optimization_hints")
    return dict(found.get(em.target.arch, {})) if isinstance(found, dict) else {}


def _kib(size: int) -> str:
    return f"about {max(size * INSTRUCTION_BYTES >> 10, 1)} KiB"
