"""Operands of rules: arithmetic types, single elements, bodies of reductions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeVar, cast

from ...base.dtypes import AnyDType, f32, f64, i32
from ...base.errors import Code
from ...ir.attrs import Rounding
from ...ir.core import Block, Value
from ...ir.ops.control import YIELD
from ...ir.types import TileType
from . import promotion
from .builder import SemanticBuilder
from .promotion import is_weak
from .values import RunRef, RunsRef, SliceRef, describe

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
    """Return the element type of an operand; i32 if it has no arithmetic, or is a Python int."""
    if isinstance(x, Value) and isinstance(x.type, TileType) and not x.type.is_pointer:
        return x.type.dtype if x.type.dtype.has_arithmetic else i32
    return f32 if isinstance(x, float) else i32


def arithmetic_hint(dtype: AnyDType, wanted: AnyDType = i32) -> str:
    """Return the hint that converts elements without arithmetic to a type that has it."""
    if dtype.is_bool:
        return f"convert it: x.astype(tw.{wanted.__name__}); for logic use &, |, ^ and ~"
    if dtype.is_float:
        return "convert it: x.astype(tw.f32)"
    return "unpack and convert: x.unpack().astype(tw.f32)"


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
    return tuple(cast("Sequence[Any]", x)) if isinstance(x, tuple | list) else (x,)


def _need_kind(em: SemanticBuilder, value: Value, name: str, *, ints: bool) -> None:
    dtype = value.tile.dtype
    if dtype.is_int != ints:
        em.fail(
            Code.DTYPE,
            f"`{name}` takes {'integers' if ints else 'floats'}",
            expected="i8 to i64 or u8 to u64" if ints else "f16, bf16, f32 or f64",
            got=describe(value),
            hint=f"convert it: x.astype(tw.{'i32' if ints else 'f32'})",
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
    """Return a member of an enumeration, given as such or by its text."""
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
            hint=f"compute in f32: tl.{name}(x.astype(tw.f32), ..., rounding=...)",
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
    number = em.number(value, dtype) if promotion.is_weak(value) else em.numbers(value, "value")
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
            hint=f"convert it: tw.{dtype.__name__}(...)",
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
    """Return the number of complete runs of a slice."""
    length = em.emit("length", ref.slice.value)
    return em.emit("divi", length, em.number(ref.size, i32))


def run_at(em: SemanticBuilder, ref: RunsRef, index: Value) -> RunRef:
    """Return a run by its number, with one bounds check for all of its elements."""
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
    _refuse_combiner(em, combiner, len(dtypes), what)
    span = em.span
    with em.at(body.block):
        result = em.inline(combiner, [*body.accumulators, *body.elements])
        em.span = span
        em.op("yield", _results(em, result, dtypes, what))
    _only_computes(em, body.block, what)
    return body.block


def is_function(value: Any) -> bool:
    """Return whether a value is a function: one of Python, or one that the kernel defines."""
    return callable(value) or hasattr(value, "signature")


def _refuse_combiner(em: SemanticBuilder, combiner: Any, count: int, what: str) -> None:
    """Refuse what cannot be called with the accumulated parts and the next ones."""
    expected = f"a function of {2 * count} scalars"
    if not is_function(combiner):
        em.fail(
            Code.CALL,
            f"the combiner of `{what}` must be a function",
            expected=expected,
            got=describe(combiner),
            hint=f"tl.{what}(x, axis, identity, f)",
        )
    signature = _signature_of(combiner)
    try:
        if signature is not None:
            signature.bind(*[None] * (2 * count))
    except TypeError:
        example = "f(a, b)" if count == 1 else "f(a0, a1, b0, b1) of two tiles"
        em.fail(
            Code.CALL,
            f"the combiner of `{what}` has the wrong number of parameters",
            expected=f"{expected}: all that is accumulated, then all next elements",
            got=f"a function of {signature}",
            hint=f"write {example}",
        )


def _signature_of(function: Any) -> inspect.Signature | None:
    """Return the parameters of a function; None: it is one of C that does not say."""
    if hasattr(function, "signature"):
        known: inspect.Signature = function.signature
        return known
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


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
                hint=f"convert the result: x.astype(tw.{dtype.__name__})",
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
