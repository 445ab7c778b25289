"""How the elements of a reduction along the lanes accumulate: as the body says, or faster.

The greatest and the least of floats are found by their bits. Read as integers, floats of one sign
are in order and NaNs lie beyond the infinities, so three extremes of the bits say everything:

- the greatest signed one is the greatest float without a sign, +0 and NaN too, if there is one;
- the least unsigned one is the float nearest to 0 of those with a sign, if all have one;
- the greatest unsigned one is the float farthest from 0 of those with a sign, NaN too.

Each costs one instruction where a maximum that minds NaN and the signs of zeros costs five.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import NamedTuple, Protocol

from ....base.dtypes import AnyDType
from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import where
from ..target import CpuTarget
from .emitter import Emitter
from .types import REAL, literal

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


class Slot(NamedTuple):
    """Memory of one accumulator."""

    address: Vec
    elem: str
    lanes: int


class Accumulators(NamedTuple):
    """What a reduction has so far, and how more goes in."""

    way: Way
    slots: list[Slot]

    def load(self, emitter: Emitter) -> list[Vec]:
        """What they hold."""
        return [emitter.load(slot.address, slot.elem, slot.lanes) for slot in self.slots]

    def store(self, emitter: Emitter, values: Sequence[Vec]) -> None:
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
    if inner.name not in ("maxf", "minf") or not inner.attrs["nan"]:
        return None
    whole = set(inner.operands) == set(block.args) and block.terminator.operands == inner.results
    dtype = inner.result.tile.dtype
    if not whole or not cpu.orders_integers(dtype.bits):
        return None
    return Extreme(dtype, inner.name == "maxf")
