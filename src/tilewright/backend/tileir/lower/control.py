"""Structured control flow, and the grid."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.shapes import Numbers, tile_index
from ....ir.core import Op
from ..bytecode.enums import ComparisonCode, RoundingCode, Signedness
from ..bytecode.program import InstructionRegion, Val
from ..bytecode.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    Kind,
    Pointer,
    ScalarType,
    TileValueType,
)
from . import reports
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
    if em.is_guarded_check(op):
        return reports.check_under(em, op, None)
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
    replaces the tile by the condition, which is a scalar, and then fails: so booleans are yielded
    as bytes. In loops some versions crash where an arm yields a value from outside of it unchanged.
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
}
