"""Rules of the matmul family: shapes and element types of matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...base.dtypes import AnyDType, f4e2m1fn, f8e4m3fn, f8e5m2, f8e8m0fnu, f32, i8, i32, u8
from ...base.errors import Code
from ...base.shapes import Shape
from ...ir.core import Value
from ...ir.ops.matmul import FLOAT_ACCUMULATORS
from ...ir.types import TileType
from ..semantics.builder import SemanticBuilder
from ..semantics.values import describe

_BYTES: tuple[AnyDType, ...] = (i8, u8)

_RUNS: dict[AnyDType, dict[AnyDType, Shape]] = {
    f8e4m3fn: {f8e8m0fnu: (32,)},
    f8e5m2: {f8e8m0fnu: (32,)},
    f4e2m1fn: {f8e8m0fnu: (16, 32), f8e4m3fn: (16,)},
}
"""How many elements along K may share a scale, by element type and type of the scale."""


def mma(em: SemanticBuilder, a: Any, b: Any, acc: Any) -> Value:
    """Compute acc + a @ b, by the kind of the elements."""
    left = _operand(em, a, "a")
    return mmai(em, a, b, acc) if left.tile.dtype in _BYTES else mmaf(em, a, b, acc)


def mmaf(em: SemanticBuilder, a: Any, b: Any, acc: Any, *, fast_acc: Any = False) -> Value:
    """Compute a float product."""
    left, right, sums = _operands(em, a, b, acc)
    x, y = left.tile.dtype, right.tile.dtype
    if x not in FLOAT_ACCUMULATORS:
        _refuse_elements(em, x)
    if x is not y:
        em.fail(
            Code.PROMOTION,
            f"cannot multiply matrices of {x.name} and {y.name}",
            expected="the same element type on both sides",
            got=f"{x.name} and {y.name}",
            hint=f"convert one side: b.astype(tw.{x.__name__})",
        )
    _accumulator(em, x, sums.tile.dtype, FLOAT_ACCUMULATORS[x])
    fast = em.static_bool(fast_acc, "fast_acc")
    return em.emit("mmaf", left, right, sums, fast_acc=fast)


def mmai(em: SemanticBuilder, a: Any, b: Any, acc: Any) -> Value:
    """Compute a product of 8-bit integers."""
    left, right, sums = _operands(em, a, b, acc)
    for side in (left, right):
        if side.tile.dtype not in _BYTES:
            _refuse_elements(em, side.tile.dtype, "i8 or u8 on both sides")
    _accumulator(em, left.tile.dtype, sums.tile.dtype, (i32,))
    return em.emit("mmai", left, right, sums)


def mmaf_scaled(em: SemanticBuilder, a: Any, b: Any, acc: Any, a_scale: Any, b_scale: Any) -> Value:
    """Compute a product of block-scaled small floats."""
    left, right, sums = _operands(em, a, b, acc)
    x, y = left.tile.dtype, right.tile.dtype
    scales = _operand(em, a_scale, "a_scale"), _operand(em, b_scale, "b_scale")
    runs = _RUNS.get(x, {}).get(scales[0].tile.dtype)
    if x is not y or runs is None or scales[1].tile.dtype is not scales[0].tile.dtype:
        em.fail(
            Code.DTYPE,
            "these element types have no scaled product",
            expected="f8e4m3fn or f8e5m2 with f8e8m0fnu scales, or f4e2m1fn with f8e8m0fnu or "
            "f8e4m3fn scales, the same on both sides",
            got=f"{x.name} and {y.name} with {scales[0].tile.dtype.name} and "
            f"{scales[1].tile.dtype.name} scales",
        )
    _accumulator(em, x, sums.tile.dtype, (f32,))
    _scale_shapes(em, left.tile, right.tile, (scales[0].tile, scales[1].tile), runs)
    return em.emit("mmaf_scaled", left, right, sums, *scales)


def _scale_shapes(
    em: SemanticBuilder, a: TileType, b: TileType, scales: tuple[TileType, TileType], runs: Shape
) -> None:
    k = a.shape[-1]
    fitting = [
        ((*a.shape[:-1], k // run), (*b.shape[:-2], k // run, b.shape[-1]))
        for run in runs
        if k % run == 0
    ]
    got = (scales[0].shape, scales[1].shape)
    if got not in fitting:
        expected = " or ".join(f"{x} and {y}" for x, y in fitting)
        em.fail(
            Code.SHAPE,
            "scales of the wrong shape",
            expected=expected or f"K, here {k}, to be a multiple of {runs[0]}",
            got=f"{got[0]} and {got[1]}",
        )


def matmul(em: SemanticBuilder, a: Any, b: Any) -> Value:
    """Compute `a @ b`: the product added to zeros of the accumulator's type."""
    left, right = _operand(em, a, "the left operand"), _operand(em, b, "the right operand")
    _check_shapes(em, left.tile.shape, right.tile.shape)
    x = left.tile.dtype
    if x not in _BYTES and x not in FLOAT_ACCUMULATORS:
        _refuse_elements(em, x)
    to = i32 if x in _BYTES else f32 if f32 in FLOAT_ACCUMULATORS[x] else FLOAT_ACCUMULATORS[x][0]
    shape = (*left.tile.shape[:-1], right.tile.shape[-1])
    return mma(em, left, right, em.constant(0 if to.is_int else 0.0, to, shape))


def _operand(em: SemanticBuilder, x: Any, what: str, hint: str = "use * to scale") -> Value:
    if isinstance(x, int | float):
        em.fail(
            Code.TYPE,
            f"{what} of a matrix product must be a tile",
            expected="a tile of rank 2 or 3",
            got=describe(x),
            hint=hint,
        )
    return em.numbers(x, what)


def _operands(em: SemanticBuilder, a: Any, b: Any, acc: Any) -> tuple[Value, Value, Value]:
    left, right = _operand(em, a, "a"), _operand(em, b, "b")
    _check_shapes(em, left.tile.shape, right.tile.shape)
    expected = (*left.tile.shape[:-1], right.tile.shape[-1])
    sums = _operand(em, acc, "acc", f"begin with tl.zeros({expected}, ...), or write a @ b")
    if sums.tile.shape != expected:
        em.fail(
            Code.SHAPE,
            "the accumulator does not have the shape of the product",
            expected=f"shape {expected}",
            got=describe(sums),
            hint=f"make it with tl.zeros({expected}, ...)",
        )
    return left, right, sums


def _check_shapes(em: SemanticBuilder, a: Shape, b: Shape) -> None:
    if len(a) != len(b) or len(a) not in (2, 3):
        em.fail(
            Code.RANK,
            "a matrix product takes two tiles of rank 2, or two of rank 3 with a batch axis",
            expected="(M, K) and (K, N), or (B, M, K) and (B, K, N)",
            got=f"{a} and {b}",
            hint=_rank_hint(a, b),
        )
    if a[-1] != b[-2]:
        em.fail(
            Code.SHAPE,
            "the inner extents of a matrix product differ",
            expected=f"{a[-1]} rows in the right operand (columns of the left)",
            got=f"{a} and {b}",
            hint="transpose one side: b.T" if a[-1] == b[-1] else None,
        )
    if a[:-2] != b[:-2]:
        em.fail(
            Code.SHAPE,
            "the batch extents of a matrix product differ",
            expected=f"{a[0]} on both sides",
            got=f"{a} and {b}",
            hint="repeat one side: tl.broadcast(b, shape)",
        )


def _rank_hint(a: Shape, b: Shape) -> str:
    if len(a) == len(b) == 1:
        return "for a dot product write tl.reduce_sum(a * b, 0)"
    if 1 in (len(a), len(b)):
        return "give a vector an axis: x[None, :] or x[:, None]"
    return "give both a batch axis: x[None, :, :], then tl.broadcast"


def _accumulator(
    em: SemanticBuilder, x: AnyDType, to: AnyDType, accepted: tuple[AnyDType, ...]
) -> None:
    if to not in accepted:
        em.fail(
            Code.DTYPE,
            f"products of {x.name} do not accumulate in {to.name}",
            expected=" or ".join(t.name for t in accepted),
            got=to.name,
            hint=f"make acc with tl.zeros(shape, tw.{accepted[-1].__name__})",
        )


def _refuse_elements(em: SemanticBuilder, x: AnyDType, expected: str | None = None) -> NoReturn:
    floats = ", ".join(t.name for t in FLOAT_ACCUMULATORS)
    em.fail(
        Code.DTYPE,
        f"there is no matrix product of {x.name}",
        expected=expected or f"{floats}, i8 or u8",
        got=x.name,
        hint="convert first: a.astype(tw.f32)",
    )


RULES: dict[str, Callable[..., Any]] = {
    "mma": mma,
    "mmaf": mmaf,
    "mmai": mmai,
    "mmaf_scaled": mmaf_scaled,
    "operator.matmul": matmul,
}
