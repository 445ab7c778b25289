"""Rules of reductions and scans, with built-in or custom combiners."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...base.dtypes import AnyDType, bf16, bool_, f16, f32, i32, int_range
from ...base.errors import Code
from ...base.shapes import size
from ...ir.attrs import Predicate
from ...ir.core import Value
from ..semantics import promotion
from ..semantics.access import Number
from ..semantics.builder import SemanticBuilder
from ..semantics.operands import is_function, op_body, parts, user_body
from ..semantics.padding import is_nonnegative, shown, warn_if_not_neutral
from ..semantics.values import describe


@dataclass(frozen=True, slots=True)
class ReductionKind:
    """A built-in reduction: the op for each kind of number, and the neutral value of a dtype."""

    name: str
    ops: dict[str, str]
    neutral: Callable[[AnyDType], Number]
    wide: bool = False
    """Whether short floats accumulate in f32 and booleans are counted in i32."""


def _greatest(dtype: AnyDType) -> Number:
    return math.inf if dtype.is_float else _limit(dtype, 1)


def _least(dtype: AnyDType) -> Number:
    return -math.inf if dtype.is_float else _limit(dtype, 0)


def _limit(dtype: AnyDType, end: int) -> Number:
    return bool(end) if dtype.is_bool else int_range(dtype)[end]


def _number(value: int) -> Callable[[AnyDType], Number]:
    return lambda dtype: float(value) if dtype.is_float else value


def _ops(floats: str, ints: str, bools: str = "") -> dict[str, str]:
    return {"f": floats, "i": ints, "u": ints, "b": bools}


def _nothing(dtype: AnyDType) -> Number:
    """Return the initial value of a sum: -0.0 keeps even the sign of a zero, 0.0 does not."""
    return -0.0 if dtype.is_float else 0


SUM = ReductionKind("reduce_sum", _ops("addf", "addi"), _nothing, wide=True)
PROD = ReductionKind("reduce_prod", _ops("mulf", "muli"), _number(1), wide=True)
MAX = ReductionKind("reduce_max", _ops("maxf", "maxi", "ori"), _least)
MIN = ReductionKind("reduce_min", _ops("minf", "mini", "andi"), _greatest)
ANY = ReductionKind("any", {"b": "ori"}, lambda dtype: False)
ALL = ReductionKind("all", {"b": "andi"}, lambda dtype: True)


# --- reductions by a built-in kind -------------------------------------------------------------


def _reduce_kind(
    em: SemanticBuilder, kind: ReductionKind, tile: Any, axis: Any = None, keepdims: Any = False
) -> Value:
    value = em.numbers(tile, "tile")
    keep = em.static_bool(keepdims, "keepdims")
    axes = _axes(em, axis, value.tile.rank)
    result, dtype = _widen(em, kind, value)
    shape = value.tile.shape
    for k in sorted(axes, reverse=True):  # the last first: the others keep their numbers
        result = reduce_axis(em, kind, result, k)
    result = em.cast(result, dtype)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    return em.emit("reshape", result, shape=kept) if keep and axes else result


def _widen(em: SemanticBuilder, kind: ReductionKind, value: Value) -> tuple[Value, AnyDType]:
    """Return the tile in the type it accumulates in, and the type the result has."""
    dtype = value.tile.dtype
    if kind in (ANY, ALL):
        value = em.cast(value, bool_)
        return value, bool_
    if dtype.is_bool and kind.wide:
        return em.cast(value, i32), i32
    if not (dtype.has_arithmetic or dtype.is_bool):
        em.fail(
            Code.DTYPE,
            f"`{kind.name}` does not take {dtype.name}",
            expected="integers, bool, f16, bf16, f32 or f64",
            got=describe(value),
            hint="convert it first: x.astype(tw.f32)",
        )
    return (em.cast(value, f32) if kind.wide and dtype in (f16, bf16) else value), dtype


def reduce_axis(em: SemanticBuilder, kind: ReductionKind, value: Value, axis: int) -> Value:
    """Reduce along one axis, warning where padding would change the result."""
    dtype = value.tile.dtype
    neutral = kind.neutral(dtype)
    warn_if_not_neutral(
        em, value, axis, kind.name, partial(_is_neutral, em, kind, value), shown(neutral)
    )
    body = op_body(em, kind.ops[dtype.kind], dtype)
    return em.op("reduce", [value], regions=[body], axis=axis, identities=(neutral,)).result


def _is_neutral(em: SemanticBuilder, kind: ReductionKind, value: Value, padding: Number) -> bool:
    """Return whether padding changes no reduction of a tile: also 0 beside what is never below."""
    if kind.name == "reduce_max" and padding == 0 and is_nonnegative(em, value):
        return True
    return padding == kind.neutral(value.tile.dtype)


def _axes(em: SemanticBuilder, axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    axes = tuple(em.static_axis(k, rank) for k in parts(axis))
    if len(set(axes)) < len(axes):
        em.fail(Code.RANK, "an axis is named twice", expected="different axes", got=str(axes))
    return axes


# --- where the greatest and the least stand ----------------------------------------------------


def _arg_kind(
    em: SemanticBuilder,
    kind: ReductionKind,
    tile: Any,
    axis: Any = None,
    keepdims: Any = False,
) -> Value:
    value, _ = _widen(em, kind, em.numbers(tile, "tile"))
    keep = em.static_bool(keepdims, "keepdims")
    shape = value.tile.shape
    if axis is None:
        value = em.emit("reshape", value, shape=(size(shape),))
    rank = value.tile.rank
    k = em.static_axis(0 if axis is None else axis, rank)
    neutral = kind.neutral(value.tile.dtype)
    name = kind.name.replace("reduce_", "arg")
    warn_if_not_neutral(em, value, k, name, partial(_is_neutral, em, kind, value), shown(neutral))
    index = _first_best(em, kind, value, k, neutral)
    kept = tuple(1 if axis is None or i == k else n for i, n in enumerate(shape))
    return em.emit("reshape", index, shape=kept) if keep else index


def _first_best(
    em: SemanticBuilder, kind: ReductionKind, value: Value, axis: int, neutral: Number
) -> Value:
    """Return the least position of the best element, where NaN is better than any number.

    Two reductions by single instructions take less than one of pairs, and the first one is often
    wanted as well.
    """
    dtype, shape = value.tile.dtype, value.tile.shape
    body = op_body(em, kind.ops[dtype.kind], dtype)
    best = em.op("reduce", [value], regions=[body], axis=axis, identities=(neutral,)).result
    ones = tuple(1 if k == axis else n for k, n in enumerate(shape))
    row = em.broadcast_to(em.emit("reshape", best, shape=ones), shape)
    found = em.emit("cmpf" if dtype.is_float else "cmpi", value, row, predicate=Predicate.EQ)
    if dtype.is_float:
        nan = em.emit("cmpf", value, value, predicate=Predicate.NE, unordered=True)
        found = em.emit("ori", found, nan)
    beyond = int_range(i32)[1]
    places = em.emit("select", found, _places(em, value, axis), em.constant(beyond, i32, shape))
    least = op_body(em, MIN.ops["i"], i32)
    return em.op("reduce", [places], regions=[least], axis=axis, identities=(beyond,)).result


def _places(em: SemanticBuilder, value: Value, axis: int) -> Value:
    """Return the position along `axis` of each element."""
    shape = value.tile.shape
    line = em.emit("iota", size=shape[axis], dtype=i32)
    ones = tuple(n if k == axis else 1 for k, n in enumerate(shape))
    return em.broadcast_to(em.emit("reshape", line, shape=ones), shape)


# --- the user's combiners ----------------------------------------------------------------------


def reduce(
    em: SemanticBuilder, tile: Any, axis: Any, identity: Any, combiner: Any, keepdims: Any = False
) -> Any:
    """Reduce one tile, or several together, with a function of the user's."""
    inputs, identities = _inputs(em, tile, identity)
    keep = em.static_bool(keepdims, "keepdims")
    k = em.static_axis(axis, inputs[0].tile.rank)
    for value, neutral in zip(inputs, identities, strict=True):
        same = partial(_same_number, neutral)
        warn_if_not_neutral(em, value, k, "reduce", same, shown(neutral))
    body = user_body(em, combiner, [v.tile.dtype for v in inputs], "reduce")
    op = em.op("reduce", inputs, regions=[body], axis=k, identities=identities)
    kept = tuple(1 if i == k else n for i, n in enumerate(inputs[0].tile.shape))
    results = tuple(em.emit("reshape", v, shape=kept) if keep else v for v in op.results)
    return results if isinstance(tile, tuple | list) else results[0]


def scan(
    em: SemanticBuilder, tile: Any, axis: Any, identity: Any, combiner: Any, reverse: Any = False
) -> Any:
    """Scan one tile, or several together, with a function of the user's."""
    inputs, identities = _inputs(em, tile, identity)
    back = em.static_bool(reverse, "reverse")
    k = em.static_axis(axis, inputs[0].tile.rank)
    for value, neutral in zip(inputs, identities, strict=True):
        _warn_scan(em, value, k, "scan", neutral, back)
    body = user_body(em, combiner, [v.tile.dtype for v in inputs], "scan")
    op = em.op("scan", inputs, regions=[body], axis=k, reverse=back, identities=identities)
    return op.results if isinstance(tile, tuple | list) else op.result


def _same_number(a: Number, b: Number) -> bool:
    return a == b or (a != a and b != b)


def _warn_scan(
    em: SemanticBuilder, value: Value, axis: int, what: str, neutral: Number, reverse: bool
) -> None:
    """Warn about padding in a scan; a scan from the start reaches it only at the end."""
    if reverse:
        same = partial(_same_number, neutral)
        warn_if_not_neutral(em, value, axis, what, same, shown(neutral))


def _inputs(
    em: SemanticBuilder, tile: Any, identity: Any
) -> tuple[list[Value], tuple[Number, ...]]:
    given, neutral = parts(tile), parts(identity)
    if is_function(identity):
        em.fail(
            Code.CALL,
            "the identity comes before the combiner",
            expected="a number that the combiner does not change, such as 0 of a sum",
            got=describe(identity),
            hint="tl.reduce(x, axis, identity, f), tl.scan(x, axis, identity, f)",
        )
    if not given or len(given) != len(neutral):
        em.fail(
            Code.CALL,
            "one identity per tile is needed",
            expected=f"{max(len(given), 1)} numbers",
            got=describe(identity),
        )
    values = [em.numbers(t, "tile") for t in given]
    shapes = {v.tile.shape for v in values}
    if len(shapes) > 1:
        em.fail(
            Code.SHAPE,
            "tiles that are reduced together must have one shape",
            expected="equal shapes",
            got=" and ".join(str(v.tile.shape) for v in values),
        )
    return values, tuple(
        _identity(em, x, v.tile.dtype) for x, v in zip(neutral, values, strict=True)
    )


def _identity(em: SemanticBuilder, x: Any, dtype: AnyDType) -> Number:
    if isinstance(x, Value) or not isinstance(x, int | float):
        em.fail(
            Code.NOT_STATIC,
            "an identity must be a compile-time constant",
            expected="a number",
            got=describe(x),
        )
    return promotion.fit(em, x, dtype)


# --- sums kept on the way ----------------------------------------------------------------------


def scan_sum(em: SemanticBuilder, tile: Any, axis: Any = 0, reverse: Any = False) -> Value:
    """Compute partial sums; short floats accumulate in f32 and round once."""
    value = em.numbers(tile, "tile")
    back = em.static_bool(reverse, "reverse")
    k = em.static_axis(axis, value.tile.rank)
    wide, dtype = _widen(em, SUM, value)
    neutral = SUM.neutral(wide.tile.dtype)
    _warn_scan(em, wide, k, "scan_sum", neutral, back)
    body = op_body(em, SUM.ops[wide.tile.dtype.kind], wide.tile.dtype)
    op = em.op("scan", [wide], regions=[body], axis=k, reverse=back, identities=(neutral,))
    return em.cast(op.result, dtype)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method form: the receiver, then the axis, then keepdims by keyword."""

    def rule(em: SemanticBuilder, self: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        return function(em, self, axis, keepdims)

    return rule


def _function(kind: ReductionKind) -> Callable[..., Any]:
    def rule(em: SemanticBuilder, tile: Any, axis: Any = None, keepdims: Any = False) -> Value:
        return _reduce_kind(em, kind, tile, axis, keepdims)

    return rule


def _arg_function(kind: ReductionKind) -> Callable[..., Any]:
    def rule(em: SemanticBuilder, tile: Any, axis: Any = None, keepdims: Any = False) -> Value:
        return _arg_kind(em, kind, tile, axis, keepdims)

    return rule


def reduce_all(em: SemanticBuilder, condition: Value) -> Value:
    """Return whether a bool tile is true everywhere."""
    return _reduce_kind(em, ALL, condition)


_KINDS = {"reduce_sum": SUM, "reduce_prod": PROD, "reduce_max": MAX, "reduce_min": MIN,
          "any": ANY, "all": ALL}  # fmt: skip

RULES: dict[str, Callable[..., Any]] = {
    **{name: _function(kind) for name, kind in _KINDS.items()},
    "argmax": _arg_function(MAX),
    "argmin": _arg_function(MIN),
    "reduce": reduce,
    "scan": scan,
    "scan_sum": scan_sum,
    "cumsum": scan_sum,
    **{f"Tile.{name.removeprefix('reduce_')}": _method(_function(kind))
       for name, kind in _KINDS.items()},
    "Tile.argmax": _method(_arg_function(MAX)),
    "Tile.argmin": _method(_arg_function(MIN)),
}  # fmt: skip
