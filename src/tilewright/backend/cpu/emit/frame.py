"""The state of one emitted loop nest: loop variables, registers, accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan, prod
from typing import NamedTuple, Protocol

from ....base.dtypes import AnyDType
from ....ir.core import Op, Value
from ....ir.ops.elementwise import MAXF, MINF
from ...llvm.builder import Vec, where
from ...llvm.object import CpuTarget
from ..loopnest.index import IndexField, Loop, Terms
from ..loopnest.nodes import Combine, ElementAccess, Nest, Operand, Reg, WriteView
from .emitter import REAL, LlvmEmitter, literal

# -------------------------------------------------------------------------------------------------
# Methods of accumulation along the lanes: by the body, or by integer extremes of float bits.
#
# Maxima and minima of floats can be found by their bits. As integers, floats of one sign are
# ordered and NaNs are beyond the infinities, so three extremes of the bits suffice:
#
# - the greatest signed one is the greatest float without a sign, +0 and NaN too, if there is one;
# - the least unsigned one is the float nearest to 0 of those with a sign, if all have one;
# - the greatest unsigned one is the float farthest from 0 of those with a sign, NaN too.
#
# Each takes one instruction; a maximum that respects NaN and the signs of zeros takes five.

CHAINS = ("smax", "umin", "umax")


class Way(Protocol):
    """A method of accumulation: spread elements into accumulators, join them, finish."""

    def spread(self, elements: Sequence[Vec]) -> list[Vec]:
        """Return elements as accumulators."""
        ...

    def join(self, new: Sequence[Vec], old: Sequence[Vec]) -> list[Vec]:
        """Return the accumulators of all that went into either."""
        ...

    def finish(self, totals: Sequence[Vec]) -> list[Vec]:
        """Return the results."""
        ...


class AccumulatorSlot(NamedTuple):
    """The stack slot of one accumulator."""

    address: Vec
    elem: str
    lanes: int


class Accumulators(NamedTuple):
    """The accumulators of a reduction, and the code that adds elements to them."""

    way: Way
    slots: list[AccumulatorSlot]

    def load(self, emitter: LlvmEmitter) -> list[Vec]:
        """Return the values of the slots."""
        return [emitter.load(slot.address, slot.elem, slot.lanes) for slot in self.slots]

    def store(self, emitter: LlvmEmitter, values: Sequence[Vec]) -> None:
        """Hold other values."""
        for slot, value in zip(self.slots, values, strict=True):
            emitter.store(value, slot.address)


@dataclass(frozen=True, slots=True)
class Direct:
    """Accumulators that are elements, joined by the body."""

    body: Callable[[Sequence[Vec], Sequence[Vec]], list[Vec]]

    def spread(self, elements: Sequence[Vec]) -> list[Vec]:
        """Return the elements unchanged."""
        return list(elements)

    def join(self, new: Sequence[Vec], old: Sequence[Vec]) -> list[Vec]:
        """Join by the body."""
        return self.body(new, old)

    def finish(self, totals: Sequence[Vec]) -> list[Vec]:
        """Return the accumulators unchanged."""
        return list(totals)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest or the least of floats, by their bits; NaN if there is one."""

    dtype: AnyDType
    greatest: bool

    def spread(self, elements: Sequence[Vec]) -> list[Vec]:
        """Return the bits, once per chain."""
        return [_bits(elements[0])] * len(CHAINS)

    def join(self, new: Sequence[Vec], old: Sequence[Vec]) -> list[Vec]:
        """Combine accumulators chain by chain."""
        return [a.intrinsic(word, b) for word, a, b in zip(CHAINS, new, old, strict=True)]

    def finish(self, totals: Sequence[Vec]) -> list[Vec]:
        """Combine the chains; NaN if there is one."""
        plain, nearest, signed = totals
        # Greatest: the signed maximum is right unless all floats are negative; then the least
        # unsigned bits are the negative float nearest to 0. Least: the unsigned maximum has a sign
        # bit if any float is negative.
        if self.greatest:
            result = where(plain < 0, nearest, plain)
        else:
            result = where(signed < 0, signed, nearest)
        # NaN bits are beyond the infinities on both sides; any NaN makes the result NaN.
        beyond = plain > self._bits_of(plain, inf)
        beyond |= signed.compare("", "ugt", self._bits_of(signed, -inf))
        result = where(beyond, self._bits_of(result, nan), result)
        return [result.as_float() if self.dtype.bits >= 32 else result]

    def _bits_of(self, like: Vec, number: float) -> Vec:
        return _bits(literal(like.body, self.dtype, number, like.lanes))


def _bits(x: Vec) -> Vec:
    return x.bits() if x.elem in REAL else x


def extreme(op: Op, cpu: CpuTarget) -> Extreme | None:
    """Return the fast form of a reduction by the maximum or minimum of floats."""
    (block,) = op.regions
    inner = block.ops[0]
    if not inner.is_a(MAXF, MINF) or not inner.attrs["nan"]:
        return None
    # The body must be this one op: its operands are the element and the accumulator.
    whole = set(inner.operands) == set(block.args) and block.terminator.operands == inner.results
    dtype = inner.result.tile.dtype
    if not whole or not cpu.orders_integers(dtype.bits):
        return None
    return Extreme(dtype, inner.is_a(MAXF))


# -------------------------------------------------------------------------------------------------
# The frame of one nest: its loop variables, registers and prepared tensor accesses.


@dataclass(frozen=True, slots=True)
class Window:
    """An access ready to be used: where its tile starts, and which part of it is inside.

    Element j along tile axis k is inside if low[k] <= j < high[k]; `ok` is the guard, if any.
    """

    origin: Vec
    strides: tuple[Vec, ...]
    low: tuple[Vec, ...]
    high: tuple[Vec, ...]
    ok: Vec | None


@dataclass(frozen=True, slots=True)
class LinearIndex:
    """A number that is `base` in the first lane and grows by `step` from lane to lane.

    If lanes take one of each `step` numbers, `phase` says which: `base` is a multiple of `step`,
    plus `phase`, and all numbers between exist.
    """

    base: Vec
    step: int
    phase: int | None = None


class NestFrame:
    """One version of a nest: `edge` code masks its accesses, full code does not."""

    def __init__(
        self, emitter: LlvmEmitter, nest: Nest, windows: dict[ElementAccess, Window]
    ) -> None:
        self.emitter = emitter
        self.nest = nest
        self.windows = windows
        self.edge = True
        self.ranged = False
        """Whether the steps of loops that need tests, or are needed at all, are found before."""
        self.counters: dict[Loop, Vec] = {}
        self.variables: dict[Loop, Vec] = {}
        self.registers: dict[Reg, Vec] = {}
        self.past: dict[WriteView, Vec] = {}
        """Whether a store is non-temporal: a scalar, for one run of the innermost loop."""
        self.accumulators: dict[Combine, Accumulators] = {}
        self.begun: frozenset[Loop] = frozenset()
        """Loops whose first step has run."""

    @property
    def unroll(self) -> int:
        """The number of lane steps per iteration; one in masked code."""
        return 1 if self.edge else self.nest.unroll

    @property
    def jam(self) -> int:
        """How many steps of the loop around the lanes run side by side; one in masked code."""
        return 1 if self.edge else self.nest.jam

    def beside(self, loop: Loop, number: int) -> NestFrame:
        """Return the frame of a later step of a loop that runs side by side with this one's."""
        other = NestFrame(self.emitter, self.nest, self.windows)
        other.edge, other.ranged = self.edge, self.ranged
        other.counters = {**self.counters, loop: self.counters[loop] + number}
        other.variables = dict(self.variables)
        # Registers from outside of the jammed loop are shared; new ones are separate.
        other.registers = dict(self.registers)
        other.accumulators = dict(self.accumulators)
        other.begun = self.begun | {loop} if number else self.begun
        return other

    def is_vector(self, loops: frozenset[Loop]) -> bool:
        """Return whether something differs from lane to lane."""
        return self.nest.lanes > 1 and self.nest.loops[-1] in loops

    def lanes(self, register: Reg) -> int:
        """Return the number of lanes of a register."""
        return self.nest.lanes if self.is_vector(register.loops) else 1

    def value(self, operand: Operand, lanes: int) -> Vec:
        """Return an operand in so many lanes."""
        if isinstance(operand, Reg):
            return self.emitter.splat(self.registers[operand], lanes)
        return self.emitter.operand(operand, lanes)

    def width(self, *operands: Operand | None) -> int:
        """Return the number of lanes that a statement on these operands needs."""
        return max((self.lanes(o) for o in operands if isinstance(o, Reg)), default=1)

    # Numbers.

    def field(self, field: IndexField) -> Vec:
        """Return the value of an index field in the first lane."""
        source = field.source
        if isinstance(source, Loop):
            return self.variables[source]
        if isinstance(source, int):
            return self.emitter.integer(source % field.size)
        return self._part(source, field)

    def _part(self, source: Value, field: IndexField) -> Vec:
        number = self.emitter.scalar(source).cast("sext", "i64")
        whole = field.size * field.divide
        # A remainder that is never negative, whatever the sign of the number.
        number = (number.binary("srem", whole) + whole).binary("srem", whole)
        return number.binary("sdiv", field.divide)

    def sum(self, terms: Terms) -> LinearIndex:
        """Return a sum of fields."""
        total = self.emitter.integer(0)
        step = 0
        lane = self.nest.loops[-1] if self.nest.lanes > 1 else None
        for field, factor in terms:
            # The lane loop contributes its stride per lane; every other field is uniform over the
            # vector.
            if field.source is lane:
                step += factor
            number = self.field(field)
            total = total + (number if factor == 1 else number * factor)
        return LinearIndex(total, step, phase_of(terms, step))

    def spread(self, place: LinearIndex, lanes: int) -> Vec:
        """Return a place as one number per lane."""
        base = self.emitter.splat(place.base, lanes)
        if lanes == 1 or place.step == 0:
            return base
        return base + self.emitter.lanes_of("i64", lanes, place.step)


def phase_of(terms: Terms, step: int) -> int | None:
    """Return which one of each `step` numbers a sum takes; None if that is not known, or if other
    fields than constants follow that of the lanes."""
    inner = [(field, factor) for field, factor in terms if 0 < factor < step and field.size > 1]
    phase = 0
    for field, factor in inner:
        if not isinstance(field.source, int):
            return None
        phase += field.source % field.size * factor
    return phase if prod(field.size for field, _ in inner) == step else None
