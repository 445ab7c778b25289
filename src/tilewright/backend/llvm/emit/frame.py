"""One loop nest being written: its loop variables, registers and prepared tensor accesses."""

from __future__ import annotations

from dataclasses import dataclass

from ....ir.core import Value
from ..functions.text import Value as Vec
from ..plan.index import Field, Loop, Terms
from ..plan.statements import Combine, Nest, WriteView
from ..plan.values import Access, Operand, Reg
from .accumulate import Accumulators
from .emitter import Emitter


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
class Place:
    """A number that is `base` in the first lane and grows by `step` from lane to lane."""

    base: Vec
    step: int


class Frame:
    """Writes one version of a nest: `edge` code tests what it touches, full code does not."""

    def __init__(self, emitter: Emitter, nest: Nest, windows: dict[Access, Window]) -> None:
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

    def beside(self, loop: Loop, number: int) -> Frame:
        """The frame of a later step of a loop that runs side by side with this one's."""
        other = Frame(self.emitter, self.nest, self.windows)
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

    def field(self, field: Field) -> Vec:
        """The number a field stands for, in the first lane."""
        source = field.source
        if isinstance(source, Loop):
            return self.variables[source]
        if isinstance(source, int):
            return self.emitter.integer(source % field.size)
        return self._part(source, field)

    def _part(self, source: Value, field: Field) -> Vec:
        number = self.emitter.scalar(source).cast("sext", "i64")
        whole = field.size * field.divide
        # A remainder that is never negative, whatever the sign of the number.
        number = (number.binary("srem", whole) + whole).binary("srem", whole)
        return number.binary("sdiv", field.divide)

    def sum(self, terms: Terms) -> Place:
        """A sum of fields."""
        total = self.emitter.integer(0)
        step = 0
        for field, factor in terms:
            if self.nest.lanes > 1 and field.source is self.nest.loops[-1]:
                step += factor
            number = self.field(field)
            total = total + (number if factor == 1 else number * factor)
        return Place(total, step)

    def spread(self, place: Place, lanes: int) -> Vec:
        """A place as one number per lane."""
        base = self.emitter.splat(place.base, lanes)
        if lanes == 1 or place.step == 0:
            return base
        return base + self.emitter.lanes_of("i64", lanes, place.step)
