"""Structured control flow, the grid, checks, assertions and prints."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.cuda_abi import LAUNCH_WORDS, CudaLaunchWord
from ....base.shapes import Numbers, tile_index
from ....ir.artifact import reporting_ops
from ....ir.core import Op
from ..bytecode.enums import (
    AtomicModeCode,
    ComparisonCode,
    MemoryOrdering,
    MemoryScope,
    RoundingCode,
    Signedness,
)
from ..bytecode.program import InstructionRegion, Val
from ..bytecode.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    FLAG,
    I1,
    I8,
    I16,
    I32,
    I64,
    TF32,
    TOKEN,
    Kind,
    Pointer,
    ScalarType,
    TileValueType,
)
from .code_growth import bounded
from .elementwise import is_signed
from .emitter import Rule, TileEmitter, kind_of_value, tile

# -------------------------------------------------------------------------------------------------
# Position of this block in the grid: logical indices, computed at the start of the kernel.


def _block_id(em: TileEmitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (em.block[axis],)


def _num_blocks(em: TileEmitter, op: Op) -> Sequence[Val]:
    axis: int = op.attrs["axis"]
    return (em.grid[axis],)


def _tile_index(em: TileEmitter, op: Op) -> Sequence[Val]:
    number, counts = em.get(op.one("number")), [em.get(v) for v in op.all("counts")]
    index = tile_index(number, counts, op.attrs["groups"], numbers(em))
    starts = [em.get(v) for v in op.all("starts")]
    if not starts:
        return index
    return [em.same("addi", at, start) for at, start in zip(index, starts, strict=True)]


def numbers(em: TileEmitter) -> Numbers[Val]:
    """Return the arithmetic on indices that emits instructions.

    Nothing is below 0: divisions that knew signs would take half as many instructions again.
    """
    return Numbers(
        constant=em.index,
        add=lambda a, b: em.same("addi", a, b),
        subtract=lambda a, b: em.same("subi", a, b),
        multiply=lambda a, b: em.same("muli", a, b),
        divide=lambda a, b: em.same(
            "divi", a, b, signedness=Signedness.UNSIGNED, rounding=RoundingCode.ZERO
        ),
        least=lambda a, b: em.same("mini", a, b, signedness=Signedness.SIGNED),
    )


# -------------------------------------------------------------------------------------------------
# Checks, assertions and prints: records in the launch's memory. They never trap.

WORD = TileValueType(I64)
HEAD = 24
"""Bytes of a print record before the operands."""


def site_of(em: TileEmitter, op: Op) -> int:
    """Return the number under which an op reports."""
    return next(i for i, other in enumerate(reporting_ops(em.func)) if other is op)


def _place(em: TileEmitter, word: CudaLaunchWord) -> Val:
    """Return the address of a word of the launch record."""
    assert em.record is not None, "a kernel that reports has a launch record"
    return em.one("offset", em.record.kind, em.record, em.index(word))


def _write(em: TileEmitter, word: CudaLaunchWord, value: Val) -> None:
    em.op(
        "store_ptr_tko",
        [TOKEN],
        _place(em, word),
        value,
        memory_ordering_semantics=MemoryOrdering.WEAK,
    )


def _linear_block(em: TileEmitter) -> Val:
    """Return the number of this block, the last grid axis running fastest."""
    number = em.widened(em.block[0])
    for block, length in zip(em.block[1:], em.grid[1:], strict=True):
        rows = em.same("muli", number, em.widened(length))
        number = em.same("addi", rows, em.widened(block))
    return number


# --- failures ------------------------------------------------------------------------------------


def _fail(em: TileEmitter, op: Op, index: Val | None, extent: Val | None) -> None:
    """Note a failure, if it is the first."""
    zero, one = em.number(0, WORD), em.number(1, WORD)
    taken, _ = em.op(
        "atomic_cas_tko", [WORD, TOKEN], _place(em, CudaLaunchWord.ERROR_TAKEN), zero, one,
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip

    def describe() -> None:
        _write(em, CudaLaunchWord.ERROR_SITE, em.number(site_of(em, op), WORD))
        _write(em, CudaLaunchWord.ERROR_BLOCK, _linear_block(em))
        for word, value in (
            (CudaLaunchWord.ERROR_INDEX, index),
            (CudaLaunchWord.ERROR_EXTENT, extent),
        ):
            if value is not None:
                _write(em, word, em.widened(value))

    em.branch(em.compare(ComparisonCode.EQUAL, taken, zero), describe)


def _not(em: TileEmitter, flag: Val) -> Val:
    return em.same("xori", flag, em.number(1, FLAG))


def _check(em: TileEmitter, op: Op) -> Sequence[Val]:
    index, extent = em.all(op)
    # Read as unsigned a negative index is a very large one; extents are not negative.
    ok = em.compare(ComparisonCode.LESS_THAN, index, extent, signed=False)
    if em.ranges.of(op.one("extent")).low < 0:
        ok = em.same(
            "andi", ok, em.compare(ComparisonCode.GREATER_THAN_OR_EQUAL, extent, em.index(0))
        )
    em.branch(_not(em, ok), lambda: _fail(em, op, index, extent))
    return (ok,)


def _assert(em: TileEmitter, op: Op) -> Sequence[Val]:
    em.branch(_not(em, em.get(op.one("cond"))), lambda: _fail(em, op, None, None))
    return ()


# --- prints --------------------------------------------------------------------------------------


def _print(em: TileEmitter, op: Op) -> Sequence[Val]:
    values = [_memory_form(em, value) for value in em.all(op)]
    sizes = [_room(tile(value)) for value in values]
    total = HEAD + sum(sizes)
    used, _ = em.op(
        "atomic_rmw_tko", [WORD, TOKEN], _place(em, CudaLaunchWord.PRINT_USED), em.number(total,
                                                                                          WORD),
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
        mode=AtomicModeCode.ADD,
    )  # fmt: skip
    capacity, _ = em.op(
        "load_ptr_tko", [WORD, TOKEN], _place(em, CudaLaunchWord.PRINT_CAPACITY),
        memory_ordering_semantics=MemoryOrdering.WEAK,
    )  # fmt: skip
    end = em.same("addi", used, em.number(total, WORD))
    fits = em.compare(ComparisonCode.LESS_THAN_OR_EQUAL, end, capacity)

    def fill() -> None:
        start = em.same("addi", used, em.number(8 * LAUNCH_WORDS, WORD))
        heads = (em.number(total, WORD), em.number(site_of(em, op), WORD), _linear_block(em))
        at = 0
        for head in heads:
            _store_at(em, start, at, head)
            at += 8
        for value, room in zip(values, sizes, strict=True):
            _store_at(em, start, at, value)
            at += room

    em.branch(fits, fill)
    return ()


def _memory_form(em: TileEmitter, value: Val) -> Val:
    """Return a value in the memory form of a record."""
    kind = tile(value)
    if isinstance(kind.elem, Pointer):
        return em.one("ptr_to_int", kind.of(I64), value)
    if kind.elem == TF32:
        return em.one("ftof", kind.of(F32), value)
    return _nibbles(em, value, kind) if kind.elem == F4E2M1FN else value


def _nibbles(em: TileEmitter, value: Val, kind: TileValueType) -> Val:
    """Return the bits of f4, one byte each: packed into pairs, and these taken apart."""
    half = kind.size // 2
    pairs, column = TileValueType(I8, (half,)), TileValueType(I8, (half, 1))
    flat = em.one("reshape", kind.shaped((kind.size,)), value)
    bytes_ = em.one("pack", pairs, flat)
    low = em.same("andi", bytes_, em.number(0xF, pairs))
    high = em.same("shri", bytes_, em.number(4, pairs), signedness=Signedness.UNSIGNED)
    columns = [em.one("reshape", column, v) for v in (low, high)]
    both = em.one("cat", TileValueType(I8, (half, 2)), *columns, dim=1)
    return em.one("reshape", kind.of(I8), both)


def _room(kind: TileValueType) -> int:
    return -(-kind.size * max(kind.scalar.width // 8, 1) // 8) * 8


def _store_at(em: TileEmitter, start: Val, at: int, value: Val) -> None:
    """Write a tile, row by row, so many bytes behind a start in the record."""
    assert em.record is not None, "a kernel that prints has a launch record"
    kind = tile(value)
    pointer = Pointer(kind.scalar)
    address = em.same("addi", em.one("ptr_to_int", WORD, em.record), start)
    where = em.same("addi", address, em.number(at, WORD))
    base = em.spread(em.one("int_to_ptr", TileValueType(pointer), where), kind.shape)
    if kind.shape:
        count = em.one("iota", TileValueType(I32, (kind.size,)))
        places = count if len(kind.shape) == 1 else em.one("reshape", kind.of(I32), count)
        base = em.one("offset", kind.of(pointer), base, places)
    em.op("store_ptr_tko", [TOKEN], base, value, memory_ordering_semantics=MemoryOrdering.WEAK)


CHECK: dict[str, Rule] = {"check": _check}
"""Declared with memory, but a report like the others."""


# -------------------------------------------------------------------------------------------------
# Structured control flow, after `lower_control_flow`: only exits that Tile IR has.

BITS: dict[ScalarType | Pointer, ScalarType] = {
    **{kind: kind for kind in (I8, I16, I32, I64)},
    F16: I16, BF16: I16, F32: I32, F64: I64, F8E4M3FN: I8, F8E5M2: I8,
}  # fmt: skip
"""The integer of the same width as a number."""


def _for(em: TileEmitter, op: Op) -> Sequence[Val]:
    lower, upper, step = (em.get(op.one(name)) for name in ("lower", "upper", "step"))
    signed = is_signed(op.one("lower"))
    if em.ranges.of(op.one("step")).low <= 0:
        # A step that is not positive means no iterations, and must not mean endless ones.
        kind = tile(step)
        positive = em.compare(ComparisonCode.GREATER_THAN, step, em.number(0, kind), signed=signed)
        upper = em.one("select", kind, positive, upper, lower)
        step = em.one("select", kind, positive, step, em.number(1, kind))
    inits = [em.get(v) for v in op.all("init")]
    kinds = [v.kind for v in inits]
    body = em.region(op.regions[0])
    upper = bounded(em, op, (lower, upper, step), body)
    return em.op("for", kinds, lower, upper, step, inits, regions=(body,), unsigned_cmp=not signed)


def _loop(em: TileEmitter, op: Op) -> Sequence[Val]:
    inits = em.all(op)
    kinds = [kind_of_value(v) for v in op.results]
    return em.op("loop", kinds, inits, regions=(em.region(op.regions[0]),))


def _if(em: TileEmitter, op: Op) -> Sequence[Val]:
    condition = em.get(op.one("cond"))
    kinds = [kind_of_value(v) for v in op.results]
    then, otherwise = (em.region(region) for region in op.regions)
    empty = len(otherwise.code) == 1 and not kinds and otherwise.code[0].op.name == "yield"
    return _branched(em, kinds, condition, then, None if empty else otherwise)


def _branched(
    em: TileEmitter,
    kinds: Sequence[Kind],
    condition: Val,
    then: InstructionRegion,
    otherwise: InstructionRegion | None,
) -> tuple[Val, ...]:
    """Emit an `if` whose results are of these types; boolean tiles leave its arms as bytes.

    If one arm yields a tile of true and the other one of false, even only after folding, tileiras
    replaces the tile by the condition, which is a scalar, and then fails: booleans are yielded as
    bytes. In loops some versions crash where an arm yields a value from outside of it unchanged.
    Copying the value costs time, so it is done only after such a crash (`target.careful`).
    """
    carried = [_carried(kind) for kind in kinds]
    for arm in (then, otherwise):
        if arm is not None and (carried != list(kinds) or em.target.careful):
            _yield_as(em, arm, carried)
    results = em.op("if", carried, condition, regions=(then, otherwise))
    return tuple(_as_truth(em, v, kind) for v, kind in zip(results, kinds, strict=True))


def _carried(kind: Kind) -> Kind:
    """Return the type in which a value leaves an arm."""
    return (
        kind.of(I8) if isinstance(kind, TileValueType) and kind.shape and kind.elem == I1 else kind
    )


def _yield_as(em: TileEmitter, arm: InstructionRegion, kinds: Sequence[Kind]) -> None:
    """Convert the operands of the `yield` at the end of an arm."""
    last = arm.code[-1]
    if last.op.name != "yield":
        return
    del arm.code[-1]
    own = {result for instr in arm.code for result in instr.results}
    with em.inside(arm):
        given = [
            _given(em, v, kind, v in own) for v, kind in zip(last.operands, kinds, strict=True)
        ]
        em.op("yield", (), given)


def _given(em: TileEmitter, value: Val, kind: Kind, is_own: bool) -> Val:
    """Return a value as an arm of a branch yields it; `is_own` if the arm computed it."""
    given = value
    if value.kind != kind:
        given = em.one("exti", kind, value, signedness=Signedness.UNSIGNED)
    if is_own or not em.target.careful or not isinstance(kind, TileValueType) or not kind.shape:
        return given
    return _remade(em, given, kind)


def _remade(em: TileEmitter, value: Val, kind: TileValueType) -> Val:
    """Copy bits by a redundant instruction that the assembler cannot remove."""
    if kind.elem not in BITS:
        return value
    whole = kind.of(BITS[kind.elem])
    bits = value if whole == kind else em.one("bitcast", whole, value)
    one = em.number(1, whole)
    high = em.same("shli", em.same("shri", bits, one, signedness=Signedness.UNSIGNED), one)
    joined = em.same("ori", high, em.same("andi", bits, one))
    return joined if whole == kind else em.one("bitcast", kind, joined)


def _as_truth(em: TileEmitter, value: Val, kind: Kind) -> Val:
    if value.kind == kind:
        return value
    return em.compare(ComparisonCode.NOT_EQUAL, value, em.number(0, tile(value)))


def _jump(em: TileEmitter, op: Op) -> Sequence[Val]:
    return em.op(op.name, (), em.all(op))


def _return(em: TileEmitter, op: Op) -> Sequence[Val]:
    return ()  # the last op of the function: `entry` ends it


def _desugared(em: TileEmitter, op: Op) -> Sequence[Val]:
    raise AssertionError(f"{op.name} is left: lower_control_flow comes before this backend")


RULES: dict[str, Rule] = {
    "for": _for,
    "loop": _loop,
    "if": _if,
    "return": _return,
    **dict.fromkeys(("yield", "continue", "break"), _jump),
    **dict.fromkeys(("scope", "leave"), _desugared),
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "tile_index": _tile_index,
    "print": _print,
    "assert": _assert,
}
