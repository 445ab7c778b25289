"""Type promotion: the common dtype of two operands, and every element conversion.

Two typed operands of different dtype: integers of one signedness widen, floats widen (f16 and bf16
do not mix), everything else is rejected with the cast to write. Python numbers are weak: they take
the other operand's dtype and must be representable in it.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import AnyDType, DTypeMeta, bf16, bool_, f16, f32, i32, int_range, round_to
from ...base.errors import Code
from ...ir.attrs import Predicate
from ...ir.core import Value
from ...ir.ops.layout import CONSTANT
from ...ir.types import TileType

if TYPE_CHECKING:
    from ...base.source import Span
    from .builder import SemanticBuilder

LONGEST = 40
"""Characters of an operand that a hint repeats."""


def natural_dtype(x: Any) -> AnyDType:
    """Return the dtype of a Python number without context: bool, i32, f32, or its own."""
    if isinstance(type(x), DTypeMeta):
        return type(x)
    if isinstance(x, bool):
        return bool_
    return i32 if isinstance(x, int) else f32


def is_weak(x: Any) -> bool:
    """Return whether x is a plain Python number (typed scalars such as u32(3) are not)."""
    return type(x) in (bool, int, float)


def common_dtype(a: AnyDType, b: AnyDType) -> AnyDType | None:
    """Return the dtype both widen to, or None where the table rejects."""
    if a is b:
        return a
    if a.kind != b.kind or a.kind not in "iuf" or _mixes_halves(a, b):
        return None
    if not (a.has_arithmetic and b.has_arithmetic):
        return None
    return a if a.bits > b.bits else b


def _mixes_halves(a: AnyDType, b: AnyDType) -> bool:
    return (a is f16 and b is bf16) or (a is bf16 and b is f16)


def fit(em: SemanticBuilder, x: Any, dtype: AnyDType) -> float | bool:
    """Return a Python number as a value of `dtype`, rejected where it is not representable."""
    if dtype.is_bool:
        if isinstance(x, bool) or type(x) is bool_:
            return bool(x)
        em.fail(
            Code.LITERAL,
            f"{x!r} is not a bool",
            expected="True or False",
            got=repr(x),
            hint="compare instead: x != 0",
        )
    if dtype.is_int:
        return _fit_int(em, x, dtype)
    if dtype.is_float:
        return _fit_float(em, x, dtype)
    em.fail(Code.DTYPE, f"no number has the type {dtype.name}", got=repr(x))


def _fit_int(em: SemanticBuilder, x: Any, dtype: AnyDType) -> int:
    low, high = int_range(dtype)
    if isinstance(x, float):
        em.fail(
            Code.PROMOTION,
            f"the float {x!r} does not mix with {dtype.name}",
            expected=f"an int from {low} to {high}",
            got=repr(x),
            hint="convert the tile first: x.astype(tw.f32)"
            + (f", or write {int(x)}" if x.is_integer() else ""),
        )
    if not low <= int(x) <= high:
        em.fail(
            Code.LITERAL,
            f"{x!r} does not fit in {dtype.name}",
            expected=f"{low} to {high}",
            got=repr(x),
            hint="widen the tile first: x.astype(...)",
        )
    return int(x)


def _fit_float(em: SemanticBuilder, x: Any, dtype: AnyDType) -> float:
    try:
        wide = float(x)
    except OverflowError:
        wide = math.inf
    value = round_to(dtype, wide)
    # Types without an infinity overflow to NaN; an int beyond all floats was never infinite.
    infinite = isinstance(x, float) and math.isinf(x)
    if math.isinf(value) != infinite or math.isnan(value) != math.isnan(wide):
        em.fail(
            Code.LITERAL,
            f"{x!r} does not fit in {dtype.name}",
            expected=f"a finite {dtype.name}",
            got=repr(x),
        )
    return value


COUNTS = ("extent", "num_tiles", "num_blocks")
"""Ops that give an extent or a number of tiles, which a shape known while compiling has as ints."""


def is_extent(em: SemanticBuilder, x: Any) -> bool:
    """Return whether x is an integer computed of extents, and of constants, alone.

    Beside floats it counts as a Python int does, which it would be were the shape static.
    """
    if not isinstance(x, Value) or x.type != TileType(i32):
        return False
    found, waiting, seen = False, [x], {x}
    while waiting:
        op = em.defining.get(waiting.pop())
        if op is None or op.regions or not op.defn.pure:
            return False
        if op.name in COUNTS:
            found = True
        elif not op.operands and not op.is_a(CONSTANT):
            return False
        else:
            waiting += [v for v in op.operands if v not in seen]
            seen.update(op.operands)
    return found


def _extents_as_floats(em: SemanticBuilder, a: Any, b: Any) -> tuple[Any, Any]:
    """Return an extent beside a float as a float of that type; beside a Python float as f32."""
    if (dtype := _float_type(b)) is not None and is_extent(em, a):
        return cast(em, a, dtype), b
    if (dtype := _float_type(a)) is not None and is_extent(em, b):
        return a, cast(em, b, dtype)
    return a, b


def _float_type(x: Any) -> AnyDType | None:
    """Return the type in which an extent is computed beside x; None if x is no float."""
    if type(x) is float:
        return f32
    if not isinstance(x, Value) or not isinstance(x.type, TileType) or x.type.is_pointer:
        return None
    dtype = x.type.dtype
    return dtype if dtype.is_float and dtype.has_arithmetic else None


def unify(em: SemanticBuilder, a: Any, b: Any, verb: str) -> tuple[Value, Value]:
    """Bring two operands to one dtype; shapes stay as they are."""
    a, b = _extents_as_floats(em, a, b)
    if is_weak(a) and is_weak(b):
        dtype = natural_dtype(a + b) if not isinstance(a, bool) else natural_dtype(b)
        return em.number(a, dtype), em.number(b, dtype)
    if is_weak(a):
        right = em.numbers(b, "right operand")
        return em.number(a, right.tile.dtype), right
    if is_weak(b):
        left = em.numbers(a, "left operand")
        return left, em.number(b, left.tile.dtype)
    left, right = em.numbers(a, "left operand"), em.numbers(b, "right operand")
    x, y = left.tile.dtype, right.tile.dtype
    common = common_dtype(x, y)
    if common is None:
        em.fail(
            Code.PROMOTION,
            f"cannot {verb} {x.name} and {y.name}",
            expected="the same kind of number on both sides",
            got=f"{x.name} and {y.name}",
            hint=_cast_hint(x, y, *_operands_of(em.span)),
        )
    return cast(em, left, common), cast(em, right, common)


def _cast_hint(x: AnyDType, y: AnyDType, a: str, b: str) -> str:
    if _mixes_halves(x, y):
        return f"convert both: {a}.astype(tw.f32), {b}.astype(tw.f32)"
    if x.is_float != y.is_float:
        side, dtype = (b, x) if x.is_float else (a, y)
        if not dtype.has_arithmetic:
            dtype = f32
        return f"convert one side: {side}.astype(tw.{dtype.__name__})"
    return f"convert one side: {b}.astype(tw.{x.__name__})"


def _operands_of(span: Span | None) -> tuple[str, str]:
    """Return the two operands as the source has them, ready for a method call; or a and b, where
    they are long, or the source is no operation on two.
    """
    names = "a", "b"
    line = span.file.line(span.line) if span is not None else None
    if span is None or line is None or span.end_line != span.line:
        return names
    try:
        (statement,) = ast.parse(line.encode()[span.column : span.end_column]).body
    except (SyntaxError, ValueError):
        return names
    match statement:
        case (
            ast.Expr(ast.BinOp(left, _, right))
            | ast.Expr(ast.Compare(left, [_], [right]))
            | ast.Expr(ast.Call(_, [left, right], []))
            | ast.AugAssign(left, _, right)
        ):
            texts = _called(left), _called(right)
            return texts if max(map(len, texts)) <= LONGEST else names
        case _:
            return names


def _called(node: ast.expr) -> str:
    """Return an expression as one whose method can be called."""
    text = ast.unparse(node)
    plain = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return text if plain else f"({text})"


def cast(em: SemanticBuilder, value: Value, to: AnyDType) -> Value:
    """Convert elements: as `astype` does, with the Numbers contract's rounding and saturation."""
    source = value.tile.dtype
    if source is to:
        return value
    if "p" in (source.kind, to.kind):
        em.fail(
            Code.DTYPE,
            f"{source.name} does not convert to {to.name}",
            hint="unpack() unpacks pairs, pack() packs them",
        )
    if to.is_bool:
        return _to_bool(em, value)
    if source.is_float:
        return em.emit("ftof" if to.is_float else "ftoi", value, to=to)
    if to.is_float:
        return em.emit("itof", value, to=to)
    if to.bits == source.bits:
        return em.emit("bitcast", value, to=to)
    return em.emit("exti" if to.bits > source.bits else "trunci", value, to=to)


def _to_bool(em: SemanticBuilder, value: Value) -> Value:
    dtype = value.tile.dtype
    if dtype.is_float:
        wide = value if dtype.has_arithmetic else cast(em, value, f32)
        zero = em.constant(0.0, wide.tile.dtype, value.tile.shape)
        return em.emit("cmpf", wide, zero, predicate=Predicate.NE, unordered=True)
    zero = em.constant(0, dtype, value.tile.shape)
    return em.emit("cmpi", value, zero, predicate=Predicate.NE)
