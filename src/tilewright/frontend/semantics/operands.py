"""Operands of rules: type promotion, conversions, single elements, bodies of reductions.

Two typed operands of different dtype: integers of one signedness widen, floats widen (f16 and bf16
do not mix), everything else is rejected with the cast to write. Python numbers are weak: they take
the other operand's dtype and must be representable in it.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeVar

from ...base.dtypes import AnyDType, DTypeMeta, bf16, bool_, f16, f32, f64, i32, int_range, round_to
from ...base.errors import Code
from ...ir.attrs import Predicate, Rounding
from ...ir.core import Block, Value
from ...ir.ops.control import YIELD
from ...ir.ops.layout import CONSTANT
from ...ir.types import TileType
from .builder import SemanticBuilder
from .values import RunRef, RunsRef, SliceRef, describe

# --- type promotion ----------------------------------------------------------------------------


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
            hint="convert the tile first: x.astype(tilewright.f32)"
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
            hint=_cast_hint(x, y),
        )
    return cast(em, left, common), cast(em, right, common)


def _cast_hint(x: AnyDType, y: AnyDType) -> str:
    if _mixes_halves(x, y):
        return "convert both: a.astype(tilewright.f32), b.astype(tilewright.f32)"
    if x.is_float != y.is_float:
        side, dtype = ("b", x) if x.is_float else ("a", y)
        if not dtype.has_arithmetic:
            dtype = f32
        return f"convert one side: {side}.astype(tilewright.{dtype.__name__})"
    return f"convert one side: b.astype(tilewright.{x.__name__})"


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


# --- operands of rules -------------------------------------------------------------------------

# -------------------------------------------------------------------------------------------------
# Operands of elementwise rules: which types have arithmetic, and attribute arguments.

Word = TypeVar("Word", bound=StrEnum)

DIRECTED = (Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF)
NEAREST = (Rounding.NEAREST_EVEN,)


def has_arithmetic(em: SemanticBuilder, x: Any, verb: str, beside: Any = None) -> None:
    """Reject a tile whose elements have no arithmetic, and say how to get some.

    `beside` is the other operand, if there is one: its elements are the ones to convert to.
    """
    if not (isinstance(x, Value) and isinstance(x.type, TileType)):
        return
    if x.type.is_pointer:
        em.fail(
            Code.TYPE,
            f"cannot {verb} pointers",
            expected="numbers",
            got=describe(x),
            hint="move pointers with p.offset(n)",
        )
    dtype = x.type.dtype
    if not dtype.has_arithmetic:
        em.fail(
            Code.DTYPE,
            f"cannot {verb} {dtype.name}: it has no arithmetic",
            expected="integers, f16, bf16, f32 or f64",
            got=describe(x),
            hint=arithmetic_hint(dtype, _elements_of(beside)),
        )


def _elements_of(x: Any) -> AnyDType:
    """Return the elements of an operand that have arithmetic, or the plainest ones."""
    if isinstance(x, Value) and isinstance(x.type, TileType) and not x.type.is_pointer:
        return x.type.dtype if x.type.dtype.has_arithmetic else i32
    return f32 if isinstance(x, float) else i32


def arithmetic_hint(dtype: AnyDType, wanted: AnyDType = i32) -> str:
    """Return how to turn elements without arithmetic into some that have it."""
    if dtype.is_bool:
        return f"convert it: x.astype(tilewright.{wanted.__name__}); for logic use &, |, ^ and ~"
    if dtype.is_float:
        return "convert it: x.astype(tilewright.f32)"
    return "unpack and convert: x.unpack().astype(tilewright.f32)"


def arithmetic_pair(em: SemanticBuilder, a: Any, b: Any, verb: str) -> tuple[Value, Value]:
    """Return two operands of one shape and one dtype that has arithmetic."""
    # Before they are paired: the error for a bool and a 1 must not be that 1 is no bool.
    has_arithmetic(em, a, verb, beside=b)
    has_arithmetic(em, b, verb, beside=a)
    left, right = em.pair(a, b, verb)
    has_arithmetic(em, left, verb)
    return left, right


def int_pair(em: SemanticBuilder, a: Any, b: Any, name: str) -> tuple[Value, Value]:
    """Return two integer operands of one type."""
    left, right = arithmetic_pair(em, a, b, f"use `{name}` on")
    _need_kind(em, left, name, ints=True)
    return left, right


def float_pair(em: SemanticBuilder, a: Any, b: Any, name: str) -> tuple[Value, Value]:
    """Return two float operands of one type; Python ints count as floats."""
    x, y = as_floats((a, b))
    left, right = arithmetic_pair(em, x, y, f"use `{name}` on")
    _need_kind(em, left, name, ints=False)
    return left, right


def one_int(em: SemanticBuilder, x: Any, name: str) -> Value:
    """Return one integer operand."""
    has_arithmetic(em, x, f"use `{name}` on")
    value = em.numbers(x)
    _need_kind(em, value, name, ints=True)
    return value


def one_float(em: SemanticBuilder, x: Any, name: str) -> Value:
    """Return one float operand; a Python int counts as a float."""
    has_arithmetic(em, x, f"use `{name}` on")
    value = em.numbers(*as_floats((x,)))
    _need_kind(em, value, name, ints=False)
    return value


def as_floats(operands: Sequence[Any]) -> Sequence[Any]:
    """Convert Python ints to floats if only weak numbers decide the type."""
    if all(is_weak(x) for x in operands):
        return [float(x) if type(x) is int else x for x in operands]
    return operands


def parts(x: Any) -> tuple[Any, ...]:
    """Return the items of a tuple or list; anything else is the only item."""
    return tuple(typing.cast("Sequence[Any]", x)) if isinstance(x, tuple | list) else (x,)


def _need_kind(em: SemanticBuilder, value: Value, name: str, *, ints: bool) -> None:
    dtype = value.tile.dtype
    if dtype.is_int != ints:
        em.fail(
            Code.DTYPE,
            f"`{name}` takes {'integers' if ints else 'floats'}",
            expected="i8 to i64 or u8 to u64" if ints else "f16, bf16, f32 or f64",
            got=describe(value),
            hint=f"convert it: x.astype(tilewright.{'i32' if ints else 'f32'})",
        )


def three(em: SemanticBuilder, a: Any, b: Any, c: Any, verb: str) -> tuple[Value, Value, Value]:
    """Return three operands brought to one dtype and one shape."""
    for x in (a, b, c):
        has_arithmetic(em, x, verb)
    operands = as_floats((a, b, c))
    # Typed operands first: they decide the dtype, Python numbers follow.
    order = sorted(range(3), key=lambda k: is_weak(operands[k]))
    x, y, z = (operands[k] for k in order)
    x, y = em.pair(x, y, verb)
    x, z = em.pair(x, z, verb)
    y, z = em.pair(y, z, verb)
    found = dict(zip(order, (x, y, z), strict=True))
    return found[0], found[1], found[2]


def word(
    em: SemanticBuilder, x: Any, kind: type[Word], what: str, allowed: Sequence[Word] = ()
) -> Word:
    """Return one of a closed set of words, or its text."""
    choices = allowed or tuple(kind)
    for choice in choices:
        if x == choice:
            return choice
    em.fail(
        Code.TYPE,
        f"{what} must be one of {kind.__name__}",
        expected=", ".join(f"tl.{kind.__name__}.{w.name}" for w in choices),
        got=f"tl.{kind.__name__}.{x.name}" if isinstance(x, kind) else describe(x),
    )


def rounding_for(
    em: SemanticBuilder, x: Any, dtype: AnyDType, name: str, extra: Sequence[Rounding] = ()
) -> Rounding:
    """Return a rounding mode; f32 has the directed ones and `extra`, f64 the directed ones."""
    mode = word(em, x, Rounding, "rounding", (*NEAREST, *DIRECTED, *extra))
    fits = mode in NEAREST or dtype is f32 or (dtype is f64 and mode in DIRECTED)
    if not fits:
        em.fail(
            Code.DTYPE,
            f"`{name}` on {dtype.name} rounds to nearest even only",
            expected="f32 or f64" if mode in DIRECTED else "f32",
            got=f"{dtype.name} with rounding {mode.value}",
            hint=f"compute in f32: tl.{name}(x.astype(tilewright.f32), ..., rounding=...)",
        )
    return mode


def flush(em: SemanticBuilder, x: Any, dtype: AnyDType, name: str) -> bool:
    """Return whether subnormals may be flushed to zero; only f32 has the choice."""
    ftz = em.static_bool(x, "ftz")
    if ftz and dtype is not f32:
        em.fail(
            Code.DTYPE,
            f"`{name}` flushes subnormals only of f32",
            expected="f32",
            got=dtype.name,
            hint="leave ftz out",
        )
    return ftz


# -------------------------------------------------------------------------------------------------
# Single elements of memory: bounds, stored values, atomic updates.


def stored_element(em: SemanticBuilder, name: str, dtype: AnyDType, value: Any) -> Value:
    """Return a number that may be stored as it is."""
    number = em.number(value, dtype) if is_weak(value) else em.numbers(value, "value")
    if number.tile.rank:
        em.fail(
            Code.SHAPE,
            f"an element of `{name}` is a scalar",
            expected=f"a scalar {dtype.name}",
            got=describe(number),
            hint="a thread computes with scalars, one element at a time",
        )
    if number.tile.dtype is not dtype:
        em.fail(
            Code.DTYPE,
            f"a value stored to `{name}` must have its element type",
            expected=dtype.name,
            got=describe(number),
            hint=f"convert it: tilewright.{dtype.__name__}(...)",
        )
    return number


def inside(em: SemanticBuilder, ref: SliceRef, index: Value) -> Value:
    """Return whether an index lies in a slice; a launch in which it does not fails."""
    length = em.emit("length", ref.value)
    return em.emit("check_index", index, length, slice=ref.name)


def pointer_of(em: SemanticBuilder, ref: SliceRef, index: Value) -> tuple[Value, Value]:
    """Return the address of an element, and whether there is one."""
    return em.emit("slice_pointer", ref.value, index), inside(em, ref, index)


def runs_in(em: SemanticBuilder, ref: RunsRef) -> Value:
    """Return how many whole runs a slice has."""
    length = em.emit("length", ref.slice.value)
    return em.emit("divi", length, em.number(ref.size, i32))


def run_at(em: SemanticBuilder, ref: RunsRef, index: Value) -> RunRef:
    """Return a run by its number, which is looked at once for all of its elements."""
    there = em.emit("check_index", index, runs_in(em, ref), slice=ref.name)
    return RunRef(ref, em.emit("muli", index, em.number(ref.size, i32)), there)


def place_in_run(em: SemanticBuilder, ref: RunRef, index: Any) -> tuple[Value, Value]:
    """Return an element of a run: its index in the slice, and whether it is there."""
    size = ref.runs.size
    if isinstance(index, int) and not 0 <= index < size:
        em.fail(
            Code.INDEX,
            f"{describe(ref)} has no element {index}",
            expected=f"0 to {size - 1}",
            got=str(index),
        )
    at = em.index(index, f"an index of `{ref.name}`")
    there = ref.there
    if not isinstance(index, int):
        inner = em.emit("check_index", at, em.number(size, i32), slice=ref.name)
        there = em.emit("andi", there, inner)
    return em.emit("addi", ref.start, at), there


# -------------------------------------------------------------------------------------------------
# Regions of reduce and scan, built from one op or from the user's function.


class CombinerBody:
    """A combiner's region: its block arguments are (element, accumulator) pairs of scalars."""

    def __init__(self, dtypes: Sequence[AnyDType]) -> None:
        types = [TileType(d) for d in dtypes]
        self.elements = tuple(Value(t) for t in types)
        self.accumulators = tuple(Value(t) for t in types)
        pairs = zip(self.elements, self.accumulators, strict=True)
        self.block = Block(tuple(v for pair in pairs for v in pair))


def op_body(em: SemanticBuilder, name: str, dtype: AnyDType) -> Block:
    """Return a region that combines with one binary op."""
    body = CombinerBody((dtype,))
    with em.at(body.block):
        em.op("yield", [em.emit(name, body.accumulators[0], body.elements[0])])
    return body.block


def user_body(em: SemanticBuilder, combiner: Any, dtypes: Sequence[AnyDType], what: str) -> Block:
    """Return a region that runs the user's function: accumulated parts, then the next ones."""
    body = CombinerBody(dtypes)
    span = em.span
    with em.at(body.block):
        result = em.inline(combiner, [*body.accumulators, *body.elements])
        em.span = span
        em.op("yield", _results(em, result, dtypes, what))
    _only_computes(em, body.block, what)
    return body.block


def _results(
    em: SemanticBuilder, result: Any, dtypes: Sequence[AnyDType], what: str
) -> list[Value]:
    given = parts(result)
    wanted = ", ".join(f"a scalar {d.name}" for d in dtypes)
    if len(given) != len(dtypes):
        em.fail(
            Code.TYPE,
            f"the combiner of `{what}` must return {len(dtypes)} values",
            expected=wanted,
            got=describe(result),
        )
    values = [em.tile(part, dtype) for part, dtype in zip(given, dtypes, strict=True)]
    for value, dtype in zip(values, dtypes, strict=True):
        if value.type != TileType(dtype):
            em.fail(
                Code.TYPE,
                f"the combiner of `{what}` must return the types that it takes",
                expected=wanted,
                got=describe(value),
                hint=f"convert the result: x.astype(tilewright.{dtype.__name__})",
            )
    return values


def _only_computes(em: SemanticBuilder, block: Block, what: str) -> None:
    for op in block.walk():
        if not op.defn.pure and not op.is_a(YIELD):
            em.fail(
                Code.CALL,
                f"the combiner of `{what}` may only compute, but this one contains `{op.name}`",
                hint="use tl.where instead of if; load, store, print and check outside",
                span=op.span,
            )
