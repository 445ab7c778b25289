"""Rules for conversions between element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import AnyDType, bf16, bool_, f4e2m1fn, f4e2m1fnx2, f16, f32, f64, i32
from ...base.errors import Code
from ...ir.attrs import Overflow, Rounding
from ...ir.core import Op, Value
from ...ir.ops.elementwise import EXTI, FTOF
from ..semantics import promotion
from ..semantics.builder import SemanticBuilder
from ..semantics.operands import word
from ..semantics.values import describe

Rule = Callable[..., Any]


def astype(em: SemanticBuilder, x: Any, dtype: Any) -> Value:
    """Convert the elements, whatever the two types are."""
    to = em.static_dtype(dtype)
    if promotion.is_weak(x):
        return em.number(bool(x) if to.is_bool else x, to)
    return em.cast(em.numbers(x), to)


def _method_astype(em: SemanticBuilder, self: Any, dtype: Any) -> Value:
    return em.cast(em.numbers(self), em.static_dtype(dtype))


def convert_tile(em: SemanticBuilder, tile: Any, dtype: Any) -> Value:
    """Convert the elements of a tile."""
    return astype(em, tile, dtype)


def convert_scalar(em: SemanticBuilder, value: Any, dtype: Any) -> Value:
    """Convert a scalar."""
    return _scalar(em, astype(em, value, dtype), "convert_scalar")


def _scalar(em: SemanticBuilder, value: Value, name: str) -> Value:
    if value.tile.rank:
        code = Code.TRUTH if name == "bool" else Code.TYPE
        em.fail(
            code,
            f"`{name}` takes a scalar",
            expected="a scalar",
            got=describe(value),
            hint="convert tiles with x.astype(...)"
            if name != "bool"
            else "reduce it first, or choose element by element with tl.where",
        )
    return value


def _cast_to(name: str, dtype: AnyDType) -> Rule:
    """Return the rule of `float(x)`, `int(x)` or `bool(x)` of a scalar."""

    def rule(em: SemanticBuilder, x: Any) -> Value:
        value = _scalar(em, em.numbers(x), name)
        return em.cast(value, dtype)

    return rule


# --- one op each -----------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[[AnyDType], bool], str]] = {
    "float": (lambda d: d.is_float, "floats"),
    "int": (lambda d: d.is_int, "integers"),
    "bits": (lambda d: d.is_int or d.is_bool, "integers or bool"),
}


def _checked(
    em: SemanticBuilder, name: str, x: Any, dtype: Any, source: str, target: str
) -> AnyDType:
    """Reject element types that this conversion does not go from, or to."""
    value, to = em.numbers(x), em.static_dtype(dtype)
    for kind, which, label in ((source, value.tile.dtype, "from"), (target, to, "to")):
        accepts, plural = KINDS[kind]
        if not accepts(which):
            _refuse(em, f"`{name}` converts {label} {plural}", plural, which)
    return to


def _refuse(em: SemanticBuilder, message: str, expected: str, dtype: AnyDType) -> None:
    hint = "x.astype(dtype) converts between any two types"
    em.fail(Code.DTYPE, message, expected=expected, got=dtype.name, hint=hint)


def ftof(
    em: SemanticBuilder, x: Any, dtype: Any, *, rounding: Any = Rounding.NEAREST_EVEN
) -> Value:
    """Convert floats to floats."""
    to = _checked(em, "ftof", x, dtype, "float", "float")
    word(em, rounding, Rounding, "rounding of `ftof`", (Rounding.NEAREST_EVEN,))
    return em.cast(em.numbers(x), to)


def ftoi(em: SemanticBuilder, x: Any, dtype: Any, *, rounding: Any = Rounding.ZERO) -> Value:
    """Convert floats to integers."""
    to = _checked(em, "ftoi", x, dtype, "float", "int")
    word(em, rounding, Rounding, "rounding of `ftoi`", (Rounding.ZERO,))
    return em.emit("ftoi", em.numbers(x), to=to)


def itof(
    em: SemanticBuilder, x: Any, dtype: Any, *, rounding: Any = Rounding.NEAREST_EVEN
) -> Value:
    """Convert integers or booleans to floats."""
    to = _checked(em, "itof", x, dtype, "bits", "float")
    word(em, rounding, Rounding, "rounding of `itof`", (Rounding.NEAREST_EVEN,))
    return em.emit("itof", em.numbers(x), to=to)


def exti(em: SemanticBuilder, x: Any, dtype: Any) -> Value:
    """Convert to a wider integer."""
    to = _checked(em, "exti", x, dtype, "bits", "int")
    value = em.numbers(x)
    if to.bits <= value.tile.dtype.bits:
        _refuse(em, "`exti` widens", f"more than {value.tile.dtype.bits} bits", to)
    return em.emit("exti", value, to=to)


def trunci(em: SemanticBuilder, x: Any, dtype: Any, *, overflow: Any = Overflow.NONE) -> Value:
    """Convert to a narrower integer."""
    to = _checked(em, "trunci", x, dtype, "int", "int")
    value = em.numbers(x)
    if to.bits >= value.tile.dtype.bits:
        _refuse(em, "`trunci` narrows", f"fewer than {value.tile.dtype.bits} bits", to)
    return em.emit("trunci", value, to=to, overflow=word(em, overflow, Overflow, "overflow"))


def bitcast(em: SemanticBuilder, x: Any, dtype: Any) -> Value:
    """Reinterpret the bits as another type of the same width."""
    value, to = em.numbers(x), em.static_dtype(dtype)
    source = value.tile.dtype
    if to.bits != source.bits:
        em.fail(
            Code.DTYPE,
            f"{source.name} and {to.name} differ in width",
            expected=f"a type of {source.bits} bits",
            got=f"{to.name}, {to.bits} bits",
            hint="x.astype(dtype) converts the values instead",
        )
    return value if source is to else em.emit("bitcast", value, to=to)


def unwidened(em: SemanticBuilder, x: Any) -> Value:
    """Return what a tile was converted from, if every value of that type has its own here."""
    value = em.numbers(x)
    made = em.defining.get(value)
    while made is not None and _widens(made):
        value = made.operands[0]
        made = em.defining.get(value)
    return value


def _widens(op: Op) -> bool:
    """Return whether an op makes wider integers, or f32 and f64 of f16, bf16 and f32."""
    if op.is_a(EXTI):
        return True
    to = op.result.tile.dtype if op.is_a(FTOF) else None
    return to in (f32, f64) and op.operands[0].tile.dtype in (f16, bf16, f32)


# --- packed f4 -------------------------------------------------------------------------------


def pack(em: SemanticBuilder, x: Any) -> Value:
    """Return two f4 into each byte."""
    value = em.numbers(x)
    if value.tile.dtype is not f4e2m1fn:
        em.fail(
            Code.DTYPE,
            "only f4 is packed",
            expected=f4e2m1fn.name,
            got=describe(value),
            hint=f"convert it: x.astype(tw.{f4e2m1fn.__name__}).pack()",
        )
    if not value.tile.rank or value.tile.shape[-1] == 1:
        em.fail(
            Code.SHAPE,
            "packing joins two elements of the last axis",
            expected="2 or more elements on the last axis",
            got=describe(value),
        )
    return em.emit("pack", value)


def unpack(em: SemanticBuilder, x: Any) -> Value:
    """Return each byte into two f4."""
    value = em.numbers(x)
    if value.tile.dtype is not f4e2m1fnx2 or not value.tile.rank:
        em.fail(
            Code.DTYPE,
            "only packed pairs of f4 are unpacked",
            expected=f"a {f4e2m1fnx2.name} tile of rank 1 or more",
            got=describe(value),
            hint=f"read bytes as pairs: tl.bitcast(x, tw.{f4e2m1fnx2.__name__})",
        )
    return em.emit("unpack", value)


def _method_pack(em: SemanticBuilder, self: Any) -> Value:
    return pack(em, self)


def _method_unpack(em: SemanticBuilder, self: Any) -> Value:
    return unpack(em, self)


RULES: dict[str, Rule] = {
    "astype": astype,
    "convert_tile": convert_tile,
    "convert_scalar": convert_scalar,
    "ftof": ftof,
    "ftoi": ftoi,
    "itof": itof,
    "exti": exti,
    "trunci": trunci,
    "bitcast": bitcast,
    "unwidened": unwidened,
    "pack": pack,
    "unpack": unpack,
    "Tile.astype": _method_astype,
    "Tile.pack": _method_pack,
    "Tile.unpack": _method_unpack,
    "builtins.float": _cast_to("float", f32),
    "builtins.int": _cast_to("int", i32),
    "builtins.bool": _cast_to("bool", bool_),
}
