"""Lower a kernel: parameters, the grid, and its body in one or two versions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....base.cuda_abi import HARDWARE_RANK, POINTER_ALIGNMENT
from ....base.shapes import Shape, tile_index
from ....ir.artifact import reporting_ops
from ....ir.core import Func, Value
from ....ir.signature import MemoryFacts, OutputSpec, TensorSpec
from ....ir.types import TensorType
from ..bytecode.enums import V13_3, ComparisonCode, RoundingCode, Signedness
from ..bytecode.program import Bounded, DivBy, InstructionRegion, Kernel, Val
from ..bytecode.types import I32, I64, INDEX, SCALAR_OF, Pointer, TileValueType
from ..heuristics import Decisions
from ..target import ParameterSlot, TileTarget, symbol
from ..target import slots as parameter_slots
from . import RULES
from .code_growth import note_repetition, note_rerolled
from .control import numbers
from .emitter import TensorMemory, TileEmitter, tile
from .memory import whole_view
from .versions import multiversioned_body

# -------------------------------------------------------------------------------------------------
# The kernel: parameters with the assumptions about them, the grid, then the body.

LARGEST = (1 << 31) - 1


def lower(func: Func, target: TileTarget, decisions: Decisions) -> Kernel:
    """Return the kernel of a function."""
    em = TileEmitter(func, target, decisions, RULES)
    reports = bool(reporting_ops(func))
    slots = parameter_slots(func.signature, reports=reports)
    body = InstructionRegion(tuple(Val(_kind(slot)) for slot in slots))
    with em.inside(body):
        _parameters(em, dict(zip(slots, body.args, strict=True)))
        _grid(em, [v for slot, v in zip(slots, body.args, strict=True) if slot.what == "grid"])
        if func.signature.folded:
            _only_real_blocks(em)
        else:
            _kernel_body(em)
        em.op("return", ())
    note_rerolled(em, func.body)
    note_repetition(em, body)
    span = next((op.span for op in func.walk() if op.span is not None), None)
    while span is not None and span.caller is not None:
        span = span.caller
    return Kernel(symbol(func.name), body, decisions.hints, span, tuple(em.notes))


def _kernel_body(em: TileEmitter) -> None:
    if em.decisions.multiversioned:
        multiversioned_body(em)
    else:
        em.ops(em.func.body.ops)
    em.span = None


def _kind(slot: ParameterSlot) -> TileValueType:
    scalar = SCALAR_OF[slot.dtype]
    return TileValueType(Pointer(scalar) if slot.what in ("address", "record") else scalar)


# --- parameters ----------------------------------------------------------------------------------


def _parameters(em: TileEmitter, given: dict[ParameterSlot, Val]) -> None:
    specs = em.func.signature.params
    for number, (param, spec) in enumerate(zip(em.func.params, specs, strict=True)):
        own = {(s.what, s.axis): v for s, v in given.items() if s.param == number}
        if isinstance(spec, TensorSpec | OutputSpec):
            em.memory[param] = _memory(em, param, spec.facts, own)
            if param in em.viewed and em.version >= V13_3:
                whole_view(em, param)
        else:
            em.values[param] = next(iter(own.values()))
    em.record = next((v for s, v in given.items() if s.what == "record"), None)


def _memory(
    em: TileEmitter, param: Value, facts: MemoryFacts, own: dict[tuple[str, int], Val]
) -> TensorMemory:
    kind = param.tensor
    most = em.target.codegen_hints.max_divisibility or POINTER_ALIGNMENT
    base = _divided(em, own["address", 0], min(facts.alignment, most))
    extents = _dims(em, kind, "extent", facts, own, most)
    strides = _dims(em, kind, "stride", facts, own, most)
    return TensorMemory(base, extents, strides, I32 if facts.narrow else I64)


def _dims(
    em: TileEmitter,
    kind: TensorType,
    what: str,
    facts: MemoryFacts,
    own: dict[tuple[str, int], Val],
    most: int,
) -> tuple[Val | int, ...]:
    dims, divisors = (
        (kind.shape, facts.extents) if what == "extent" else (kind.strides, facts.strides)
    )
    limit = max(most // kind.dtype.itemsize, 1)
    found: list[Val | int] = []
    for axis, n in enumerate(dims):
        if n is not None:
            found.append(n)
            continue
        value = own[what, axis]
        if facts.narrow:
            bounds = Bounded(0, None if tile(value).elem == I32 else LARGEST)
            value = em.same("assume", value, predicate=bounds)
        divisor = divisors[axis] if axis < len(divisors) else 1
        found.append(_divided(em, value, min(divisor, limit)))
    return tuple(found)


def _divided(em: TileEmitter, value: Val, divisor: int) -> Val:
    return value if divisor <= 1 else em.same("assume", value, predicate=DivBy(divisor))


# --- grid ----------------------------------------------------------------------------------------


def _grid(em: TileEmitter, lengths: Sequence[Val]) -> None:
    """Emit the logical index of this block, and the logical grid, as far as they are used."""
    signature = em.func.signature
    if signature.folded:
        em.grid = tuple(lengths)
        return
    if not _asks_for_blocks(em):
        return
    rank = signature.grid_rank
    assert rank == HARDWARE_RANK, "grids of more axes are folded"
    ids = em.op("get_tile_block_id", [INDEX] * HARDWARE_RANK)
    em.grid = em.op("get_num_tile_blocks", [INDEX] * HARDWARE_RANK)
    if em.decisions.turned:
        ids, em.grid = ids[::-1], em.grid[::-1]
    order = em.decisions.order
    block = list(ids if order is None else _ordered(em, ids, order))
    axis = em.decisions.reversed_axis
    if axis is not None:
        last = em.same("subi", em.grid[axis], em.index(1))
        block[axis] = em.same("subi", last, block[axis])
    em.block = tuple(block)


def _asks_for_blocks(em: TileEmitter) -> bool:
    """Return whether anything in the kernel depends on the position of the block."""
    names = {op.name for op in em.func.walk()}
    framed = any(a.view is not None for a in em.decisions.accesses.values())
    return (
        bool(names & {"block_id", "num_blocks"})
        or framed
        or em.record is not None
        or any(op.attrs.get("frame") for op in em.func.walk())
    )


def _ordered(em: TileEmitter, ids: Sequence[Val], order: Shape) -> tuple[Val, ...]:
    """Return the index of a block in another order than that of the launch.

    Axes that the order does not speak of stay as they are: each would take a division, and the
    first load waits for all of them.
    """
    rank = len(order)
    lengths = _lengths(em, rank)
    *here, number = ids[:rank]
    for each, length in zip(reversed(here), reversed(lengths[:-1]), strict=True):
        number = em.same("addi", em.same("muli", number, length), each)
    return (*tile_index(number, lengths, order, numbers(em)), *ids[rank:])


def _lengths(em: TileEmitter, rank: int) -> Sequence[Val]:
    """Return the number of blocks along the first axes: the tiles of an output, if any.

    What is made of the grid's own size, the assembler computes where it is used: to store a tile,
    when all of it has been computed. What is made of parameters it computes before it waits.
    """
    specs = zip(em.func.params, em.func.signature.params, strict=True)
    for param, spec in specs:
        if isinstance(spec, OutputSpec) and _has_the_grid(spec, rank):
            extents = em.memory[param].extents[:rank]
            return [_tiles(em, n, t) for n, t in zip(extents, spec.tile, strict=False)]
    return em.grid[:rank]


def _has_the_grid(spec: OutputSpec, rank: int) -> bool:
    """Return whether each tile of an output has a separate block, along this many axes or more."""
    is_cut = spec.groups is None and not (spec.partial or spec.shared)
    return is_cut and spec.facts.narrow and len(spec.tile) >= rank


def _tiles(em: TileEmitter, extent: Val | int, tile: int) -> Val:
    """Return the number of tiles that cover an extent, which is not negative."""
    if isinstance(extent, int):
        return em.index(-(-extent // tile))
    more = em.same("addi", extent, em.index(tile - 1))
    return numbers(em).divide(more, em.index(tile))


def _only_real_blocks(em: TileEmitter) -> None:
    """Emit the body of a folded kernel for blocks that are in the logical grid."""
    x, y, z = (em.widened(v) for v in em.op("get_tile_block_id", [INDEX] * HARDWARE_RANK))
    across, down, _ = (em.widened(v) for v in em.op("get_num_tile_blocks", [INDEX] * HARDWARE_RANK))
    rows = em.same("addi", em.same("muli", z, down), y)
    number = em.same("addi", em.same("muli", rows, across), x)
    lengths = [em.widened(n) for n in em.grid]
    total = lengths[0]
    for n in lengths[1:]:
        total = em.same("muli", total, n)

    def real() -> None:
        wide, narrow = ((number, lengths), (_short(em, number), [_short(em, n) for n in lengths]))
        is_short = em.compare(
            ComparisonCode.LESS_THAN_OR_EQUAL, total, em.number(LARGEST, tile(total))
        )
        # Divisions of 64 bits take a hundred instructions each.
        ways = partial(_unfolded, em, *narrow), partial(_unfolded, em, *wide)
        em.block = em.either(is_short, ways)
        _kernel_body(em)

    em.branch(em.compare(ComparisonCode.LESS_THAN, number, total), real)


def _short(em: TileEmitter, value: Val) -> Val:
    return em.one("trunci", INDEX, value)


def _unfolded(em: TileEmitter, number: Val, lengths: Sequence[Val]) -> tuple[Val, ...]:
    """Return the index of a block along each axis; nothing is below 0."""
    found: list[Val] = []
    for n in reversed(lengths):
        rest = em.same("remi", number, n, signedness=Signedness.UNSIGNED)
        number = em.same(
            "divi", number, n, signedness=Signedness.UNSIGNED, rounding=RoundingCode.ZERO
        )
        found.append(rest if tile(rest) == INDEX else _short(em, rest))
    return tuple(reversed(found))
