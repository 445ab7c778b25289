"""Float ops on every float type: f16 and bf16 are widened, computed with, and rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.dtypes import AnyDType, bf16, f16, f32, f64
from ....ir.core import Op
from ..functions.text import Value as Vec
from .emitter import Compute, Emitter

NARROW = (f16, bf16)


def widened(
    emitter: Emitter, op: Op, args: Sequence[Vec], compute: Callable[..., Vec], to: AnyDType = f32
) -> Vec:
    """Compute in f32 (or `to`) what has no arithmetic of its own."""
    dtype = op.operands[0].tile.dtype
    if dtype not in NARROW:
        return compute(*args)
    wide = [emitter.convert(x, dtype, to) for x in args]
    result = compute(*wide)
    return emitter.convert(result, to, dtype)


def simple(compute: Callable[..., Vec]) -> Compute:
    """An op that is one expression of floats."""

    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        return widened(emitter, op, args, compute)

    return emit


def intrinsic(name: str) -> Callable[..., Vec]:
    """An intrinsic of LLVM, on operands of one type."""

    def compute(first: Vec, *others: Vec) -> Vec:
        return first.intrinsic(name, *others)

    return compute


def library(name: str) -> Compute:
    """An op that is a function of the math library."""

    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        def compute(*wide: Vec) -> Vec:
            kind = "f64" if wide[0].elem == "double" else "f32"
            return emitter.call(emitter.library.use(name, kind, wide[0].lanes), wide[0].elem, wide)

        return widened(emitter, op, args, compute)

    return emit


def wide_type(dtype: AnyDType) -> AnyDType:
    """The type a float is computed in."""
    return f64 if dtype is f64 else f32
