"""IR to IR before planning: types of matrix products, division by reciprocals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.dtypes import AnyDType, f16, f32, f64, i32
from ....ir.attrs import Predicate, Rounding
from ....ir.builder import Rewriter, rewrite
from ....ir.core import Block, Func, Op, Value
from ....ir.opdef import OpDef, declare
from ....ir.ops.elementwise import DIVF
from ....ir.ops.layout import BROADCAST, PERMUTE, RESHAPE
from ....ir.ops.matmul import MMAF, MMAI
from ....ir.ops.memory import MAKE_VIEW
from ....ir.types import Type, ViewType
from .facts import SMALLEST_TURN

# -------------------------------------------------------------------------------------------------
# Matrix products: each becomes `matmul` on operands of the type it computes in.
#
# Conversions, and the scales of block-scaled inputs, become elementwise ops at the definition of
# the operand, so that they fuse into the loop that packs it and run outside of inner loops. Tiles
# that are accessed across the dense axis of a tensor are accessed along it, and transposed.

COMPUTED_IN: dict[AnyDType, AnyDType] = {f16: f32, f32: f32, f64: f64, i32: i32}
"""The type a multiply runs in, by the type of its accumulator."""


def _rule(types: Sequence[Type], attrs: object) -> tuple[Type, ...]:
    return (types[2],)


MATMUL: OpDef = declare(
    "matmul", "plan", "lhs rhs acc", _rule, "acc + lhs @ rhs, all of one computing type."
)


def legalize(func: Func) -> Func:
    """Rewrite the multiplies; all other ops are copied in their order."""
    operands = _operands(func)
    converted: dict[tuple[Value, AnyDType], Value] = {}
    tensors = {op.result: op.one("tensor") for op in func.walk() if op.is_a(MAKE_VIEW)}

    def visit(rewriter: Rewriter, op: Op) -> Sequence[Value] | None:
        if op.name in MULTIPLIES:
            return [MULTIPLIES[op.name](rewriter, op, converted)]
        if op.name in ACROSS and (order := straight_order(op.one("view").view)) is not None:
            new = ACROSS[op.name](rewriter, op, rewriter.get(tensors[op.one("view")]), order)
        else:
            new = rewriter.copy(op)
        for old, result in zip(op.results, new.results, strict=True):
            for dtype in operands.get(old, ()):
                converted[result, dtype] = _converted(rewriter, new, result, dtype)
        return new.results

    return rewrite(func, visit)


def _operands(func: Func) -> dict[Value, list[AnyDType]]:
    """Return the operands of multiplies, and the types they must be converted to."""
    found: dict[Value, list[AnyDType]] = {}
    for op in func.walk():
        if op.is_a(MMAF, MMAI):
            to = COMPUTED_IN[op.one("acc").tile.dtype]
            for value in (op.one("lhs"), op.one("rhs")):
                known = found.setdefault(value, [])
                if value.tile.dtype is not to and to not in known:
                    known.append(to)
    return found


def _converted(rewriter: Rewriter, op: Op, value: Value, to: AnyDType) -> Value:
    """Return a result in another type; convert before a rearrangement, so that packing fuses it."""
    if not op.is_a(PERMUTE):
        return _convert(rewriter, value, to)
    arg = _convert(rewriter, op.operands[0], to)
    return rewriter.emit("permute", arg, order=op.attrs["order"])


def _convert(rewriter: Rewriter, value: Value, to: AnyDType) -> Value:
    if value.tile.dtype is to:
        return value
    return rewriter.emit("ftof" if to.is_float else "exti", value, to=to)


Converted = dict[tuple[Value, AnyDType], Value]


def _multiply(rewriter: Rewriter, op: Op, converted: Converted) -> Value:
    lhs, rhs, acc = (rewriter.get(op.one(name)) for name in ("lhs", "rhs", "acc"))
    to = COMPUTED_IN[acc.tile.dtype]
    a, b = (converted.get((v, to)) or _convert(rewriter, v, to) for v in (lhs, rhs))
    return _matmul(rewriter, op, a, b, acc, to)


def _matmul(rewriter: Rewriter, op: Op, lhs: Value, rhs: Value, acc: Value, to: AnyDType) -> Value:
    start = _convert(rewriter, acc, to)
    result = Value(start.type)
    new = Op(MATMUL, (lhs, rhs, start), (1, 1, 1), {}, (result,), (), op.span)
    rewriter.block.ops.append(new)
    return _convert(rewriter, result, acc.tile.dtype)


def _scaled(rewriter: Rewriter, op: Op, converted: Converted) -> Value:
    get = rewriter.get
    lhs = _scale(rewriter, get(op.one("lhs")), get(op.one("lhs_scale")), -1)
    rhs = _scale(rewriter, get(op.one("rhs")), get(op.one("rhs_scale")), -2)
    return _matmul(rewriter, op, lhs, rhs, get(op.one("acc")), f32)


def _scale(rewriter: Rewriter, value: Value, scale: Value, axis: int) -> Value:
    """Return value * scale, where one scale covers a run of elements along `axis`."""
    shape = value.tile.shape
    at = len(shape) + axis
    blocks = scale.tile.shape[at]
    run = shape[at] // blocks
    spread = (*shape[:at], blocks, 1, *shape[at + 1 :])
    wide = (*shape[:at], blocks, run, *shape[at + 1 :])
    factor = rewriter.emit("reshape", _convert(rewriter, scale, f32), shape=spread)
    factor = rewriter.emit("broadcast", factor, shape=wide)
    factor = rewriter.emit("reshape", factor, shape=shape)
    return rewriter.emit("mulf", _convert(rewriter, value, f32), factor)


# Accesses across the dense axis.


def straight_order(view: ViewType) -> tuple[int, ...] | None:
    """Return the order of tile axes that puts the dense one last; None if it is not needed."""
    strides = [view.tensor.strides[d] for d in view.dim_map]
    wide = [k for k in range(view.rank) if view.tile[k] > 1]
    dense = [k for k in wide if strides[k] == 1]
    if view.sparse is not None or len(dense) != 1 or dense[0] == wide[-1]:
        return None
    if min(view.tile[dense[0]], view.tile[wide[-1]]) < SMALLEST_TURN:
        return None
    return (*(k for k in range(view.rank) if k != dense[0]), dense[0])


def _straight(
    rewriter: Rewriter, op: Op, tensor: Value, order: Sequence[int]
) -> tuple[Value, list[Value], Value | None]:
    """Return the view and the indices with axes in the order of memory, and the guard."""
    view, index, guard = op.one("view").view, op.all("index"), op.maybe("guard")
    new = rewriter.emit(
        "make_view",
        tensor,
        tile=tuple(view.tile[k] for k in order),
        dim_map=tuple(view.dim_map[k] for k in order),
        step=view.step and tuple(view.step[k] for k in order),
        padding=view.padding,
        frame=view.frame,
    )
    return new, [rewriter.get(index[k]) for k in order], guard and rewriter.get(guard)


def _load_across(rewriter: Rewriter, op: Op, tensor: Value, order: tuple[int, ...]) -> Op:
    loaded = rewriter.emit("load_view", *_straight(rewriter, op, tensor, order))
    return rewriter.op("permute", loaded, order=tuple(order.index(k) for k in range(len(order))))


def _store_across(rewriter: Rewriter, op: Op, tensor: Value, order: tuple[int, ...]) -> Op:
    value = rewriter.emit("permute", rewriter.get(op.one("value")), order=order)
    return rewriter.op("store_view", value, *_straight(rewriter, op, tensor, order))


ACROSS: dict[str, Callable[[Rewriter, Op, Value, tuple[int, ...]], Op]] = {
    "load_view": _load_across,
    "store_view": _store_across,
}
MULTIPLIES: dict[str, Callable[[Rewriter, Op, Converted], Value]] = {
    "mmaf": _multiply,
    "mmai": _multiply,
    "mmaf_scaled": _scaled,
}


# -------------------------------------------------------------------------------------------------
# Division of f32 rows by one divisor becomes multiplication by its reciprocal.
#
# Only divisions that may be wrong by 2 ulp are rewritten: the reciprocal and the product are
# rounded once each, an error of at most 1.5 ulp. The reciprocal of a divisor near an end of the
# range is no normal number, so dividend and divisor are multiplied by a power of two first. That
# loses nothing unless the quotient overflows, or is 0, in any case.

WITHIN_BOUND = (Rounding.FULL, Rounding.APPROX)
MANY = 8
"""From so many numbers per divisor on, a division and two products cost less."""
SMALL, LARGE = 2.0**-126, 2.0**126
"""Between these a divisor and its reciprocal are normal numbers."""
UP, DOWN = 2.0**64, 2.0**-64


def share_reciprocals(func: Func) -> Func:
    """Rewrite the divisions by tiles that repeat one number along their last axis."""
    definition = {value: op for op in func.walk() for value in op.results}
    known: dict[tuple[Block, Value], tuple[Value, Value]] = {}

    def visit(rewriter: Rewriter, op: Op) -> Sequence[Value] | None:
        divisor = _shared_divisor(op, definition)
        if divisor is None:
            return None
        key = (rewriter.block, rewriter.get(divisor))
        if key not in known:
            known[key] = _factors(rewriter, key[1])
        product = rewriter.get(op.one("lhs"))
        for factor in known[key]:
            spread = rewriter.emit("broadcast", factor, shape=op.result.tile.shape)
            product = rewriter.emit("mulf", product, spread)
        return [product]

    return rewrite(func, visit)


def _shared_divisor(op: Op, definition: dict[Value, Op]) -> Value | None:
    """Return the scalar divisor of an op before it is broadcast; None if the division must stay."""
    if not op.is_a(DIVF) or op.attrs["rounding"] not in WITHIN_BOUND:
        return None
    tile, spread = op.result.tile, definition.get(op.one("rhs"))
    if tile.elem is not f32 or spread is None or not spread.is_a(BROADCAST):
        return None
    (divisor,) = spread.operands
    if tile.size < MANY * divisor.tile.size or _is_one_number(divisor, definition):
        return None
    last = max(k for k, n in enumerate(tile.shape) if n > 1)
    return divisor if divisor.tile.shape[last] == 1 else None


def _is_one_number(divisor: Value, definition: dict[Value, Op]) -> bool:
    """Return whether the tile has one scalar divisor: its quotients stay correctly rounded."""
    op = definition.get(divisor)
    while op is not None and op.is_a(RESHAPE):
        (divisor,) = op.operands
        op = definition.get(divisor)
    return divisor.tile.rank == 0


def _factors(rewriter: Rewriter, divisor: Value) -> tuple[Value, Value]:
    """Return a power of two, and the reciprocal of the divisor times it."""
    shape = divisor.tile.shape

    def number(value: float) -> Value:
        return rewriter.constant(value, f32, shape)

    size = rewriter.emit("absf", divisor)
    is_small = rewriter.emit("cmpf", size, number(SMALL), predicate=Predicate.LT)
    is_large = rewriter.emit("cmpf", size, number(LARGE), predicate=Predicate.GT)
    scale = rewriter.emit("select", is_large, number(DOWN), number(1.0))
    scale = rewriter.emit("select", is_small, number(UP), scale)
    scaled = rewriter.emit("mulf", divisor, scale)
    return scale, rewriter.emit("divf", number(1.0), scaled)
