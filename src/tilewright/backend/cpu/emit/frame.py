"""One loop nest being written: loop variables, registers, accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import NamedTuple, Protocol

from ....base.dtypes import AnyDType
from ....ir.core import Op, Value
from ....ir.ops.elementwise import MAXF, MINF
from ...llvm.builder import Vec, where
from ...llvm.target import CpuTarget
from ..loopnest.index import IndexField, Loop, Terms
from ..loopnest.nodes import Combine, ElementAccess, Nest, Operand, Reg, WriteView
from .emitter import REAL, LlvmEmitter, literal

# -------------------------------------------------------------------------------------------------
# How the elements of a reduction along the lanes accumulate: as the body says, or faster.
#
# The greatest and the least of floats are found by their bits. Read as integers, floats of one
# sign are in order and NaNs lie beyond the infinities, so three extremes of the bits say
# everything:
#
# - the greatest signed one is the greatest float without a sign, +0 and NaN too, if there is one;
# - the least unsigned one is the float nearest to 0 of those with a sign, if all have one;
# - the greatest unsigned one is the float farthest from 0 of those with a sign, NaN too.
#
# Each costs one instruction where a maximum that minds NaN and the signs of zeros costs five.

CHAINS = ("smax", "umin", "umax")


class Way(Protocol):
    """Elements are spread into accumulators, which are joined until the last give the results."""

    def spread(self, elements: Sequence[Vec]) -> list[Vec]:
        """Elements as accumulators of their own."""
        ...

    def join(self, new: Sequence[Vec], old: Sequence[Vec]) -> list[Vec]:
        """The accumulators of all that went into either."""
        ...

    def finish(self, totals: Sequence[Vec]) -> list[Vec]:
        """The results."""
        ...


class AccumulatorSlot(NamedTuple):
    """Memory of one accumulator."""

    address: Vec
    elem: str
    lanes: int


class Accumulators(NamedTuple):
    """What a reduction has so far, and how more goes in."""

    way: Way
    slots: list[AccumulatorSlot]

    def load(self, emitter: LlvmEmitter) -> list[Vec]:
        """What they hold."""
        return [emitter.load(slot.address, slot.elem, slot.lanes) for slot in self.slots]

    def store(self, emitter: LlvmEmitter, values: Sequence[Vec]) -> None:
        """Hold other values."""
        for slot, value in zip(self.slots, values, strict=True):
            emitter.store(value, slot.address)


@dataclass(frozen=True, slots=True)
class Direct:
    """Accumulators are elements, and the body joins them."""

    body: Callable[[Sequence[Vec], Sequence[Vec]], list[Vec]]

    def spread(self, elements: Sequence[Vec]) -> list[Vec]:
        """They are what they are."""
        return list(elements)

    def join(self, new: Sequence[Vec], old: Sequence[Vec]) -> list[Vec]:
        """By the body."""
        return self.body(new, old)

    def finish(self, totals: Sequence[Vec]) -> list[Vec]:
        """They are what they are."""
        return list(totals)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest or the least of floats, by their bits; NaN if there is one."""

    dtype: AnyDType
    greatest: bool

    def spread(self, elements: Sequence[Vec]) -> list[Vec]:
        """The bits, once per chain."""
        return [_bits(elements[0])] * len(CHAINS)

    def join(self, new: Sequence[Vec], old: Sequence[Vec]) -> list[Vec]:
        """Chain by chain."""
        return [a.intrinsic(word, b) for word, a, b in zip(CHAINS, new, old, strict=True)]

    def finish(self, totals: Sequence[Vec]) -> list[Vec]:
        """The chain that knows, or NaN."""
        plain, nearest, signed = totals
        if self.greatest:
            result = where(plain < 0, nearest, plain)
        else:
            result = where(signed < 0, signed, nearest)
        beyond = plain > self._bits_of(plain, inf)
        beyond |= signed.compare("", "ugt", self._bits_of(signed, -inf))
        result = where(beyond, self._bits_of(result, nan), result)
        return [result.as_float() if self.dtype.bits >= 32 else result]

    def _bits_of(self, like: Vec, number: float) -> Vec:
        return _bits(literal(like.body, self.dtype, number, like.lanes))


def _bits(x: Vec) -> Vec:
    return x.bits() if x.elem in REAL else x


def extreme(op: Op, cpu: CpuTarget) -> Extreme | None:
    """The short way of a reduction whose body is a maximum or minimum of floats."""
    (block,) = op.regions
    inner = block.ops[0]
    if not inner.is_a(MAXF, MINF) or not inner.attrs["nan"]:
        return None
    whole = set(inner.operands) == set(block.args) and block.terminator.operands == inner.results
    dtype = inner.result.tile.dtype
    if not whole or not cpu.orders_integers(dtype.bits):
        return None
    return Extreme(dtype, inner.is_a(MAXF))


# -------------------------------------------------------------------------------------------------
# One loop nest being written: its loop variables, registers and prepared tensor accesses.


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
    """A number that is `base` in the first lane and grows by `step` from lane to lane."""

    base: Vec
    step: int


class NestFrame:
    """Writes one version of a nest: `edge` code tests what it touches, full code does not."""

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
        """Whether a store goes past the caches: a scalar, for one run of the innermost loop."""
        self.accumulators: dict[Combine, Accumulators] = {}
        self.begun: frozenset[Loop] = frozenset()
        """Loops whose first step surely is over."""

    @property
    def unroll(self) -> int:
        """How many steps of the lanes follow each other in one round; one among tests."""
        return 1 if self.edge else self.nest.unroll

    @property
    def jam(self) -> int:
        """How many steps of the loop around the lanes run side by side; one among tests."""
        return 1 if self.edge else self.nest.jam

    def beside(self, loop: Loop, number: int) -> NestFrame:
        """The frame of a later step of a loop that runs side by side with this one's."""
        other = NestFrame(self.emitter, self.nest, self.windows)
        other.edge, other.ranged = self.edge, self.ranged
        other.counters = {**self.counters, loop: self.counters[loop] + number}
        other.variables = dict(self.variables)
        other.registers = dict(self.registers)
        other.accumulators = dict(self.accumulators)
        other.begun = self.begun | {loop} if number else self.begun
        return other

    def is_vector(self, loops: frozenset[Loop]) -> bool:
        """Whether something differs from lane to lane."""
        return self.nest.lanes > 1 and self.nest.loops[-1] in loops

    def lanes(self, register: Reg) -> int:
        """How many lanes a register has."""
        return self.nest.lanes if self.is_vector(register.loops) else 1

    def value(self, operand: Operand, lanes: int) -> Vec:
        """An operand in so many lanes."""
        if isinstance(operand, Reg):
            return self.emitter.splat(self.registers[operand], lanes)
        return self.emitter.operand(operand, lanes)

    def width(self, *operands: Operand | None) -> int:
        """How many lanes a statement on these operands needs."""
        return max((self.lanes(o) for o in operands if isinstance(o, Reg)), default=1)

    # Numbers.

    def field(self, field: IndexField) -> Vec:
        """The number a field stands for, in the first lane."""
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
        """A sum of fields."""
        total = self.emitter.integer(0)
        step = 0
        for field, factor in terms:
            if self.nest.lanes > 1 and field.source is self.nest.loops[-1]:
                step += factor
            number = self.field(field)
            total = total + (number if factor == 1 else number * factor)
        return LinearIndex(total, step)

    def spread(self, place: LinearIndex, lanes: int) -> Vec:
        """A place as one number per lane."""
        base = self.emitter.splat(place.base, lanes)
        if lanes == 1 or place.step == 0:
            return base
        return base + self.emitter.lanes_of("i64", lanes, place.step)
