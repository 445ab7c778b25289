"""Needed precision: how inexact the floats may be from which a kernel computes what it keeps.

`passes.needed_precision` notes on a function how many bits of its result must be kept. Each code
generator has a table of what is faster there than the exact form, and how many bits that keeps;
`form_of` takes the fastest that keeps enough.

A backward dataflow analysis (demanded precision) on relative errors. Rounding to a float of 16 bits
or fewer is off by up to half an ulp. What is rounded there may be off by a quarter of an ulp, which
is a relative error of 2**-(p + 2) for p bits of precision: the result is then within 3/4 ulp of the
exact one, so it is the correctly rounded one or its neighbour. This tolerance is followed back to
the functions that the number is computed from:

1. In a product, a quotient and every op with condition numbers (`OpDef.conditions`), the errors of
   the operands add up, each times its condition number. The tolerance is shared equally among the
   operands that may be inexact and, if the op is a function that may be approximated, itself.
2. A sum of terms of one sign is as exact as its terms (`analysis.signs`). So are minima and maxima,
   and what layout ops, branches and loops pass on.
3. A sum whose terms may cancel, a product of matrices, and what a loop multiplies again and again
   have no bounded condition. Functions that end there keep LAST_BITS bits, an error of 4 ulp of f32
   instead of 2: the error of such an expression at most doubles. No tolerance is less, but 0.
4. A sum of n terms that is kept in f32 is off by up to n ulp of the sum of their magnitudes: that
   is all that is promised of it. Half of that is the rounding of the sum. Of LONG terms or more
   the functions need no more than LAST_BITS bits, unless their error may grow on the way.
5. All else needs every bit: memory, comparisons, integers, control flow, and operands of functions
   without condition numbers, such as the argument of `exp`.

A value needs what the most demanding of its uses needs. f64 and results of `precise=True` are never
approximated. Functions of 16-bit floats round their result themselves, whatever it is used for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import ml_dtypes

from ..base.dtypes import AnyDType, f32
from ..base.shapes import shape_text
from ..base.source import where
from ..ir.attrs import Rounding
from ..ir.core import Func, Op, Value
from ..ir.opdef import CARRIES, Trait
from ..ir.ops.elementwise import ADDF, ALL_BITS, FMA, FTOF, MAXF, MINF, SUBF
from ..ir.ops.matmul import PRODUCTS
from ..ir.ops.reduction import REDUCE, SCAN
from ..ir.types import TileType
from .ranges import Signs, signs
from .structure import Structure, arguments, carried, combiners, structure

# --- approximate forms of functions, for results of which not every bit matters ----------------

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Form(Generic[W]):
    """A form of a function: the bits it keeps, what it is, and what writes it."""

    bits: int
    text: str
    write: W
    rounding: Rounding | None = None
    """The rounding that the op must have, if any."""

    def serves(self, op: Op) -> bool:
        """Return whether this form keeps enough bits for an op."""
        enough = 0 < op.attrs.get("bits", 0) <= self.bits
        return enough and self.rounding in (None, op.attrs.get("rounding"))


Forms: TypeAlias = Mapping[str, Sequence[Form[W]]]
"""The approximate forms of each function, the fastest first."""


def form_of(forms: Forms[W], op: Op) -> Form[W] | None:
    """Return the form of a function that keeps enough bits; None if only the exact one does."""
    return next((form for form in forms.get(op.name, ()) if form.serves(op)), None)


def note_of(op: Op, form: Form[W]) -> str:
    """Return a line for `explain()`."""
    shape = shape_text(op.result.tile.shape) or "one element"
    bits = op.attrs["bits"]
    return f"{op.name} of {shape} as {form.text}, {bits} bits of it are needed{where(op.span)}"


# --- needed precision --------------------------------------------------------------------------

WIDEST = 2
"""Bytes of the widest float that counts as narrow."""
SPARE_BITS = 2
"""A rounding hides errors this many bits below the significand: a quarter of an ulp."""
LAST_BITS = 21
"""Bits that a function keeps in an f32 expression whose errors may grow."""
FLOAT_INFO: Any = ml_dtypes.finfo
"""Ships no types."""
NONE = 0.0
"""The tolerance of a value of which every bit may matter."""
LEAST = 2.0**-LAST_BITS
"""The tolerance of a value of which only narrow floats are kept, but errors may grow before."""
LONG = 128
"""So many terms that half the error of their sum exceeds that of functions with LAST_BITS bits."""
OF_TERMS = LEAST / 2
"""The tolerance of the terms of a long sum that is kept: below LEAST, since it must not grow."""


def is_narrow(dtype: AnyDType) -> bool:
    """Return whether a type is a float of 16 bits or fewer."""
    return dtype.is_float and dtype.itemsize <= WIDEST


def tolerance_of(dtype: AnyDType) -> float:
    """Return the relative error that rounding to a narrow type hides: a quarter of an ulp."""
    return float(FLOAT_INFO(dtype.np).eps) * 2.0 ** -(SPARE_BITS + 1)


class NeededPrecision:
    """Tolerances of values, by a worklist: each fall goes on to what the value is made of."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.nesting: Structure = structure(func)
        self.signs: Signs = signs(func)
        self.inexact = _inexact(func)
        self.found: dict[Value, float] = {}
        """The greatest relative error of each value that something depends on."""
        self.todo: list[Value] = []
        for op in func.walk():
            self.root(op)
        while self.todo:
            self.follow(self.todo.pop())

    def of(self, value: Value) -> float:
        """Return the relative error that a value may have; NONE if every bit may matter."""
        return self.found.get(value, NONE)

    def bits(self) -> dict[Op, int]:
        """Return the bits of its result that each function which may be approximated must keep."""
        made: dict[Op, int] = {}
        for op in self.func.walk():
            if is_approximable(op) and (own := self.own(op)) > NONE:
                made[op] = min(math.ceil(-math.log2(own)), LAST_BITS)
        return made

    def own(self, op: Op) -> float:
        """Return the error that a function may make by itself."""
        dtype = op.result.tile.dtype
        if is_narrow(dtype):
            return tolerance_of(dtype)
        return self.share(op, self.of(op.result))

    # --- the worklist --------------------------------------------------------------------------

    def limit(self, value: Value, tolerance: float) -> None:
        """Note that a value is used where it must not be further off."""
        if not _is_wide(value):
            return
        # The worklist runs empty: tolerances only fall, by factors, and below LEAST there is NONE.
        if tolerance < self.found.get(value, math.inf):
            self.found[value] = tolerance
            self.todo.append(value)

    def root(self, op: Op) -> None:
        """Limit operands whose tolerance does not follow from that of the op's results."""
        if op.has(CARRIES):
            # Bounds and conditions decide what runs; initial values follow their slots.
            for value in op.operands[: len(op.operands) - len(carried(op))]:
                self.limit(value, NONE)
        elif _is_sink(op):
            self.limit(op.operands[0], tolerance_of(op.result.tile.dtype))
        elif not self.passes_on(op):
            for value in op.operands:
                self.limit(value, NONE)

    def passes_on(self, op: Op) -> bool:
        """Return whether an op computes floats, or passes floats out of a region."""
        if op in self.nesting.target:
            return not self.nesting.target[op].is_a(REDUCE, SCAN)
        return bool(op.results) and op.defn.pure and all(map(_is_wide, op.results))

    def follow(self, value: Value) -> None:
        """Limit the errors of a value's operands."""
        owner = self.nesting.owner.get(value)
        if owner is None:
            return
        if owner.has(CARRIES):
            self.follow_slot(owner, value)
        elif self.nesting.definer(value) is not None:
            passed = self.passed(owner, self.found[value])
            for operand, tolerance in zip(owner.operands, passed, strict=True):
                self.limit(operand, tolerance)

    def follow_slot(self, owner: Op, value: Value) -> None:
        """Limit the errors of all values passed to a carried value, the initial one included."""
        rows = (owner.results, arguments(owner)) if arguments(owner) else (owner.results,)
        for k, slot in enumerate(zip(*rows, strict=True)):
            if any(value is v for v in slot):
                # The result of a loop and the argument of its body are one slot: an error in one
                # iteration is an error of the next.
                sources = [end.operands[k] for end in self.nesting.exits.get(owner, [])]
                for source in (*sources, *carried(owner)[k : k + 1]):
                    self.limit(source, self.found[value])

    # --- how errors grow -----------------------------------------------------------------------

    def share(self, op: Op, tolerance: float) -> float:
        """Return an equal part of a tolerance, for each of those that add to the error of an op."""
        # LEAST is the tolerance behind a cancellation, where no share has a meaning any more.
        if tolerance <= LEAST:
            return tolerance
        pairs = zip(op.operands, _conditions(op), strict=True)
        uncertain = sum(value in self.inexact and c < math.inf for value, c in pairs)
        return max(tolerance / max(uncertain + is_approximable(op), 1), LEAST)

    def passed(self, op: Op, tolerance: float) -> Sequence[float]:
        """Return the tolerances of the operands of an op that computes floats."""
        count = len(op.operands)
        if op.is_a(REDUCE, SCAN):
            pairs = zip(op.operands, combiners(op), strict=True)
            return [
                max(self.of_terms(terms, combiner, tolerance), _of_long_sum(op, terms, combiner))
                for terms, combiner in pairs
            ]
        if tolerance == NONE:
            return [NONE] * count
        grown = _grown(tolerance)
        if op.is_a(ADDF, SUBF):
            return [tolerance if op.result in self.signs else grown] * count
        if op.is_a(FMA):
            if op.result not in self.signs:
                return [grown] * count
            each = self.share(op, tolerance)
            return [each, each, tolerance]
        if op.is_a(*PRODUCTS):
            return [grown] * count
        each = self.share(op, tolerance)
        return [_through(each, c) for c in _conditions(op)]

    def of_terms(self, terms: Value, combiner: Op | None, tolerance: float) -> float:
        """Return the tolerance of elements that are combined in a reduction or scan."""
        if combiner is None or not combiner.has(Trait.ASSOCIATIVE):
            return NONE
        # Terms of one sign cannot cancel: their sum is relatively as exact as they are.
        exact = combiner.is_a(MAXF, MINF) or (combiner.is_a(ADDF) and terms in self.signs)
        return tolerance if exact else _grown(tolerance)


def _of_long_sum(op: Op, terms: Value, combiner: Op | None) -> float:
    """Return the tolerance that terms have at least: their sum is not known any better."""
    is_sum = op.is_a(REDUCE) and combiner is not None and combiner.is_a(ADDF)
    kind = terms.tile
    return (
        OF_TERMS if is_sum and kind.dtype is f32 and kind.shape[op.attrs["axis"]] >= LONG else NONE
    )


def _grown(tolerance: float) -> float:
    """Return the tolerance of values whose error an op may make much larger."""
    return LEAST if tolerance >= LEAST else NONE


def _through(tolerance: float, condition: float) -> float:
    """Return the tolerance of an operand of which an op makes so much more error, or less."""
    if condition == math.inf or (tolerance < LEAST and condition > 1):
        return NONE
    return max(tolerance / condition, LEAST) if tolerance > LEAST else tolerance


def _is_sink(op: Op) -> bool:
    """Return whether an op rounds to the nearest narrow float."""
    nearest = op.is_a(FTOF) and op.attrs["rounding"] is Rounding.NEAREST_EVEN
    return nearest and is_narrow(op.result.tile.dtype)


def is_approximable(op: Op) -> bool:
    """Return whether an op is a function of f32 or narrower floats that no one wants exact."""
    if op.attrs.get("bits", ALL_BITS):
        return False
    dtype, rounding = op.result.tile.dtype, op.attrs.get("rounding", Rounding.FULL)
    if is_narrow(dtype):
        return rounding in (Rounding.FULL, Rounding.APPROX, Rounding.NEAREST_EVEN)
    return dtype is f32 and rounding in (Rounding.FULL, Rounding.APPROX)


def _conditions(op: Op) -> Sequence[float]:
    """Return the condition numbers of an op for each of its operands."""
    if op.is_a(FMA):
        return [1.0, 1.0, math.inf]  # those of the product
    if op.has(Trait.REARRANGES):
        return [1.0] + [math.inf] * (len(op.operands) - 1)
    return op.defn.conditions or [math.inf] * len(op.operands)


def _inexact(func: Func) -> set[Value]:
    """Return the values that depend on functions which may be approximated.

    A narrow float is what it was rounded to. What a loop carries, or a region passes on, may be.
    """
    found: set[Value] = set()
    for op in func.walk():
        found.update(arg for region in op.regions for arg in region.args if _is_wide(arg))
        if op.regions or is_approximable(op) or any(v in found for v in op.operands):
            found.update(filter(_is_wide, op.results))
    return found


def _is_wide(value: Value) -> bool:
    """Return whether a value holds floats of more than 16 bits."""
    kind = value.type
    if not isinstance(kind, TileType) or kind.is_pointer:
        return False
    return kind.dtype.is_float and not is_narrow(kind.dtype)
