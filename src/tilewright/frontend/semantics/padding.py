"""Padding: the values of padded elements, and masks of valid ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...base.dtypes import bool_, i32, i64
from ...base.errors import Code
from ...ir.attrs import Predicate
from ...ir.core import Op, Value
from ...ir.launch_expr import Expr
from ...ir.opdef import Trait
from ...ir.ops.elementwise import MULF
from ...ir.ops.memory import LOAD_VIEW
from ...ir.semantics import estimate, number_of, wrap
from ...ir.types import ViewType
from .access import Number
from .builder import SemanticBuilder
from .values import describe

# -------------------------------------------------------------------------------------------------
# Values of padded elements, by a backward walk through the ops that made a tile.
#
# A reduction over padding that is not neutral gets a warning. The analysis is incomplete on
# purpose: if it cannot compute the padded value, there is no warning.

MAX_STEPS = 64
"""How many ops are followed back before giving up."""


@dataclass(frozen=True, slots=True)
class PaddingFact:
    """The value that elements beyond the tensor have, and the axes along which there may be some.

    A tile that has this value everywhere has `axes` None; a `value` of None may be anything.
    """

    value: Number | None
    axes: frozenset[int] | None


def padding_of(em: SemanticBuilder, value: Value) -> PaddingFact | None:
    """Return the known value of the padded elements of a tile, or None."""
    found = _PaddingWalk(em)(value)
    return found if found is not None and found.axes else None


class _PaddingWalk:
    """A backward walk from a tile to the loads and constants it was made from."""

    def __init__(self, em: SemanticBuilder) -> None:
        self.em = em
        self.steps = 0

    def __call__(self, value: Value) -> PaddingFact | None:
        self.steps += 1
        op = self.em.defining.get(value)
        if op is None or self.steps > MAX_STEPS:
            return None
        follow = _FOLLOW.get(op.name)
        if follow is not None:
            return follow(self, op)
        return self.elementwise(op)

    def elementwise(self, op: Op) -> PaddingFact | None:
        if not op.has(Trait.ELEMENTWISE):
            return None
        parts = [self(v) for v in op.operands]
        known = [p for p in parts if p is not None and p.value is not None]
        if len(known) < len(parts):
            return None
        padded = {p.axes for p in known if p.axes is not None}
        # Tiles padded in different places: in some of them only one operand is known.
        if len(padded) > 1:
            return None
        numbers = [
            number_of(p.value, v.tile.dtype)
            for p, v in zip(known, op.operands, strict=True)
            if p.value is not None
        ]
        # Wrapping and rounding do not matter for a warning.
        result = estimate(op, numbers)
        if result is None or (not math.isfinite(result) and all(map(math.isfinite, numbers))):
            return None  # a pole, such as 1 / 0, is what a kernel knows to mask
        return PaddingFact(result, next(iter(padded), None))


Follow: TypeAlias = Callable[[_PaddingWalk, Op], PaddingFact | None]


def _load(walk: _PaddingWalk, op: Op) -> PaddingFact:
    view = op.one("view").view
    return PaddingFact(view.padding, padded_axes(walk.em, view))


def padded_axes(em: SemanticBuilder, view: ViewType) -> frozenset[int]:
    """Return the tile axes along which a tile of this view may exceed the tensor or frame."""
    return frozenset(k for k in range(view.rank) if not _surely_full(em, view, k))


def _surely_full(em: SemanticBuilder, view: ViewType, axis: int) -> bool:
    tile, dim = view.tile[axis], view.dim_map[axis]
    if tile == 1 or axis == view.sparse:
        return True
    if view.step is not None and view.step[axis] % tile:
        return False
    if view.frame is not None and view.frame[dim] % tile:
        return False
    extent = view.tensor.shape[dim]
    if extent is not None:
        return extent % tile == 0
    known = ("extent", view.tensor.param, dim)
    return any(_says_divisible(check.expr, known, tile) for check in em.launch_checks)


def _says_divisible(expr: Expr, extent: Expr, tile: int) -> bool:
    """Return whether a launch check makes an extent a multiple of the tile: `==`, or `% n == 0`."""
    match expr:
        case ("eq", left, ("const", n)) | ("eq", ("const", n), left):
            if left == extent:
                return bool(n % tile == 0)
            return bool(n == 0 and left[:2] == ("mod", extent) and _const(left[2]) % tile == 0)
        case _:
            return False


def _const(expr: Expr) -> int:
    return int(expr[1]) if expr[0] == "const" else 1


def _constant(walk: _PaddingWalk, op: Op) -> PaddingFact:
    return PaddingFact(op.attrs["value"], None)


def _moved(walk: _PaddingWalk, op: Op, to: Callable[[int], int | None]) -> PaddingFact | None:
    inner = walk(op.operands[0])
    if inner is None or inner.axes is None:
        return inner
    axes = [to(k) for k in inner.axes]
    known = frozenset(k for k in axes if k is not None)
    return PaddingFact(inner.value, known) if len(known) == len(axes) else None


def _permute(walk: _PaddingWalk, op: Op) -> PaddingFact | None:
    order: Sequence[int] = op.attrs["order"]
    return _moved(walk, op, order.index)


def _reshape(walk: _PaddingWalk, op: Op) -> PaddingFact | None:
    """Follow axes through a reshape that only adds or drops axes of length 1."""
    before, after = op.operands[0].tile.shape, op.result.tile.shape
    old = [k for k, n in enumerate(before) if n != 1]
    new = [k for k, n in enumerate(after) if n != 1]
    if [before[k] for k in old] != [after[k] for k in new]:
        return _moved(walk, op, lambda _: None)
    places = dict(zip(old, new, strict=True))
    return _moved(walk, op, places.get)


def _broadcast(walk: _PaddingWalk, op: Op) -> PaddingFact | None:
    return _moved(walk, op, lambda k: k)


def _reduce(walk: _PaddingWalk, op: Op) -> PaddingFact | None:
    """Return the padding of a reduction: lines of padding alone reduce to a known value."""
    inner = walk(op.operands[0])
    body = op.regions[0].ops
    axis: int = op.attrs["axis"]
    if inner is None or inner.axes is None or inner.value is None or len(body) != 2:
        return None
    combine = _REPEATED.get(body[0].name)
    if combine is None:
        return None
    axes = frozenset(k - (k > axis) for k in inner.axes if k != axis)
    number, dtype = combine(inner.value, op.operands[0].tile.shape[axis]), op.result.tile.dtype
    return PaddingFact(wrap(dtype, number) if dtype.is_int else number, axes)


_REPEATED: dict[str, Callable[[Any, int], Any]] = {
    "addf": operator.mul,
    "addi": operator.mul,
    "maxf": lambda x, n: x,
    "maxi": lambda x, n: x,
    "minf": lambda x, n: x,
    "mini": lambda x, n: x,
    "andi": lambda x, n: x,
    "ori": lambda x, n: x,
}
"""What n equal values combine to."""

_FOLLOW: dict[str, Follow] = {
    "load_view": _load,
    "constant": _constant,
    "permute": _permute,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "reduce": _reduce,
}


def warn_if_not_neutral(
    em: SemanticBuilder,
    value: Value,
    axis: int,
    what: str,
    neutral: Callable[[Any], bool],
    fix: str,
) -> None:
    """Warn where a reduction along an axis may meet padding that changes its result."""
    padding = padding_of(em, value)
    if padding is None or axis not in (padding.axes or ()):
        return
    if padding.value is not None and neutral(padding.value):
        return
    held = "unspecified values" if padding.value is None else shown(padding.value)
    replaced = f"replace it: tl.where(tile.mask(), x, {fix})"
    made = _made_by(em, value)
    em.warn(
        f"`{what}` along axis {axis} may include padding, which is {held}",
        hint=f"pad with its neutral value where the tile is loaded, padding={fix}, or {replaced}"
        if made is not None and made.is_a(LOAD_VIEW)
        else f"{replaced}, where `tile` was loaded",
    )


def is_nonnegative(em: SemanticBuilder, value: Value) -> bool:
    """Return whether no element of a tile is below 0, by the op that made it."""
    op = _made_by(em, value)
    if op is None:
        return False
    return op.has(Trait.NONNEGATIVE) or (op.is_a(MULF) and len({*op.operands}) == 1)


def _made_by(em: SemanticBuilder, value: Value) -> Op | None:
    """Return the op that made the elements of a tile, whatever its shape was then."""
    op = em.defining.get(value)
    while op is not None and op.name in ("broadcast", "permute", "reshape"):
        op = em.defining.get(op.operands[0])
    return op


def shown(value: Number) -> str:
    """Return a padding value as a kernel writes it."""
    if isinstance(value, float) and math.isnan(value):
        return "tl.nan"
    if isinstance(value, float) and value == 0.0:
        return "0.0"  # of either sign: both are neutral for all but the sign of a zero
    names = {math.inf: "tl.pos_inf", -math.inf: "tl.neg_inf"}
    return names.get(value, f"{value!r}")


# -------------------------------------------------------------------------------------------------
# `tile.mask()`: the elements of a loaded tile that are in bounds.


def mask_of(em: SemanticBuilder, tile: Value) -> Value:
    """Return a bool tile that is true where the load of `tile` was in bounds."""
    op = em.defining.get(tile)
    if op is None or not op.is_a(LOAD_VIEW):
        em.fail(
            Code.TYPE,
            "only a loaded tile has a mask",
            expected="the tile that a load returned",
            got=describe(tile),
            hint="take the mask where the tile is loaded: t = p.load(index); m = t.mask()",
        )
    view = op.one("view").view
    mask = _whole(em, op, tile)
    for axis in sorted(_partial_axes(em, op, view)):
        line = _line_mask(em, op, view, axis)
        if view.rank > 1:
            ones = tuple(n if k == axis else 1 for k, n in enumerate(view.tile))
            line = em.broadcast_to(em.emit("reshape", line, shape=ones), view.tile)
        mask = line if mask is None else em.emit("andi", mask, line)
    return em.constant(True, bool_, view.tile) if mask is None else mask


def _whole(em: SemanticBuilder, op: Op, tile: Value) -> Value | None:
    guard = op.maybe("guard")
    return None if guard is None else em.broadcast_to(guard, tile.tile.shape)


def _partial_axes(em: SemanticBuilder, op: Op, view: ViewType) -> frozenset[int]:
    """Return the axes with padding: all axes if the index was not checked."""
    return frozenset(range(view.rank)) if _is_free(em, op) else padded_axes(em, view)


def _is_free(em: SemanticBuilder, op: Op) -> bool:
    return op.result in em.unchecked or op.one("view").view.sparse is not None


def _line_mask(em: SemanticBuilder, op: Op, view: ViewType, axis: int) -> Value:
    """Return the mask along one axis: positions with a coordinate inside the tensor."""
    tensor = em.defining[op.one("view")].one("tensor")
    dim, index = view.dim_map[axis], op.all("index")[axis]
    extent = em.emit("extent", tensor, axis=dim)
    if axis == view.sparse:
        shape = index.tile.shape
        return _between(em, index, em.constant(0, i32, shape), em.broadcast_to(extent, shape))
    step = 1 if view.sparse is not None else (view.step or view.tile)[axis]
    start, end = _times(em, index, step), _wide(em, extent)
    if view.frame is not None:
        frame = view.frame[dim]
        left = em.emit("subi", end, _times(em, em.emit("block_id", axis=dim), frame))
        end = em.emit("mini", left, em.constant(frame, i64))
    size = view.tile[axis]
    positions = em.emit("iota", size=size, dtype=i32)
    high = em.broadcast_to(_clamped(em, em.emit("subi", end, start), size), (size,))
    if not _is_free(em, op):
        return em.emit("cmpi", positions, high, predicate=Predicate.LT)
    low = em.broadcast_to(_clamped(em, em.emit("negi", start), size), (size,))
    return _between(em, positions, low, high)


def _clamped(em: SemanticBuilder, value: Value, size: int) -> Value:
    """Return a 64-bit position as one from 0 to size: computed wide, so that no index can wrap."""
    low = em.emit("maxi", value, em.constant(0, i64))
    return em.emit("trunci", em.emit("mini", low, em.constant(size, i64)), to=i32)


def _between(em: SemanticBuilder, position: Value, low: Value, high: Value) -> Value:
    above = em.emit("cmpi", position, low, predicate=Predicate.GE)
    return em.emit("andi", above, em.emit("cmpi", position, high, predicate=Predicate.LT))


def _times(em: SemanticBuilder, index: Value, step: int) -> Value:
    return em.emit("muli", _wide(em, index), em.constant(step, i64))


def _wide(em: SemanticBuilder, value: Value) -> Value:
    return em.emit("exti", value, to=i64)
