"""Conversions between element types."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import AnyDType, f4e2m1fn, f4e2m1fnx2
from ..attrs import Overflow, Rounding
from ..opdef import declare
from ..types import Type
from .rules import Attrs, convert, is_bits, is_int, need, number


def _any_float(d: AnyDType) -> bool:
    return d.is_float


def _bitcast(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(arg.dtype.bits == to.bits, f"bit widths differ: {arg}, {to}")
    return (arg.with_elem(to),)


def _exti(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(is_bits(arg.dtype) and to.is_int and to.bits > arg.dtype.bits, f"{arg} is not narrower")
    return (arg.with_elem(to),)


def _trunci(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, to = number(types[0]), attrs["to"]
    need(arg.dtype.is_int and to.is_int and to.bits < arg.dtype.bits, f"{arg} is not wider")
    return (arg.with_elem(to),)


def _unpack(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = number(types[0])
    need(arg.dtype is f4e2m1fnx2 and arg.rank >= 1, f"cannot unpack {arg}")
    return (arg.with_elem(f4e2m1fn).with_shape((*arg.shape[:-1], arg.shape[-1] * 2)),)


def _pack(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = number(types[0])
    need(arg.dtype is f4e2m1fn and arg.rank >= 1 and arg.shape[-1] % 2 == 0, f"cannot pack {arg}")
    return (arg.with_elem(f4e2m1fnx2).with_shape((*arg.shape[:-1], arg.shape[-1] // 2)),)


TO = {"to": None}

OPS = (
    declare("ftof", "core", "arg", convert(_any_float, _any_float),
            "Float to another float type, rounded once.",
            attrs=TO | {"rounding": Rounding.NEAREST_EVEN}),
    declare("ftoi", "core", "arg", convert(_any_float, is_int),
            "Float to integer, toward zero, saturating; NaN gives 0.", attrs=TO),
    declare("itof", "core", "arg", convert(is_bits, _any_float),
            "Integer or bool to float, rounded to nearest even.", attrs=TO),
    declare("exti", "core", "arg", _exti,
            "To a wider integer, by the source's sign; bool gives 0 or 1.", attrs=TO),
    declare("trunci", "core", "arg", _trunci, "To a narrower integer, dropping high bits.",
            attrs=TO | {"overflow": Overflow.NONE}),
    declare("bitcast", "core", "arg", _bitcast, "The same bits read as another type.", attrs=TO),
    declare("unpack", "core", "arg", _unpack,
            "Packed pairs to twice as many f4 along the last axis, low half first."),
    declare("pack", "core", "arg", _pack,
            "Neighbouring f4 along the last axis to packed pairs, the first in the low half."),
)  # fmt: skip
