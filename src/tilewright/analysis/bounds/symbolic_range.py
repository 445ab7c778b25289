"""Symbolic ranges: bounds of an integer as linear forms over what the launch knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ...base.dtypes import AnyDType, int_range
from .linear import Linear, number
from .proofs import Prover

MOST = 4
"""Bounds kept of one value on each side."""


@dataclass(frozen=True, eq=False, slots=True)
class Cause:
    """Something that makes values differ between blocks and rounds: a grid axis, a loop.

    `ties` are the causes that it depends on in turn. The causes with one `whole` belong to values
    that take all their combinations, as the numbers of one tile do; `part` tells these apart.
    """

    ties: frozenset[Cause] = frozenset()
    whole: object = None
    part: int = 0

    def depends(self, other: Cause) -> bool:
        """Whether one may tell something of the other."""
        if self.whole is not None and self.whole is other.whole:
            return self.part == other.part
        return not ({self, *self.ties}).isdisjoint((other, *other.ties))


def tied(causes: frozenset[Cause]) -> frozenset[Cause]:
    """Causes with all that they depend on."""
    return causes.union(*(cause.ties for cause in causes))


def depend(some: Iterable[Cause], others: Iterable[Cause]) -> bool:
    """Whether any of some causes may tell something of any of the others."""
    return any(a.depends(b) for a in some for b in others)


@dataclass(frozen=True, slots=True)
class Span:
    """The range of a value over all blocks and rounds, if all `needs` are 0 or more.

    `varies` has what it depends on besides the launch. It is `exact` if both ends are values that
    occur, `dense` if every number between them occurs too.
    """

    low: Linear
    high: Linear
    needs: frozenset[Linear] = frozenset()
    varies: frozenset[Cause] = frozenset()
    exact: bool = True
    dense: bool = True

    @property
    def point(self) -> Linear | None:
        """The value, where the launch alone decides it."""
        return self.low if self.low == self.high and not self.varies else None

    def apart(self, other: Span) -> bool:
        """Whether two values vary independently of each other."""
        return not depend(self.varies, other.varies)

    def moved(self, move: Callable[[Linear], Linear], *, dense: bool = False) -> Span:
        """The range of a growing function of the value."""
        return replace(self, low=move(self.low), high=move(self.high), dense=self.dense and dense)

    def turned(self) -> Span:
        """The range of the negated value."""
        return replace(self, low=self.high.times(-1), high=self.low.times(-1))

    def joined(self, other: Span, low: Linear, high: Linear) -> Span:
        """The range of a function of two values that is monotone in each."""
        apart = self.apart(other)
        return Span(
            low, high, self.needs | other.needs, self.varies | other.varies,
            exact=apart and self.exact and other.exact, dense=apart and self.dense and other.dense,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SymbolicRange:
    """What is known of a value: each of `lows` and `highs` surely bounds it; `span` may be None."""

    lows: tuple[Linear, ...]
    highs: tuple[Linear, ...]
    span: Span | None = None

    @property
    def point(self) -> Linear | None:
        """The value, where the launch alone decides it without wrapping."""
        return None if self.span is None or self.span.needs else self.span.point

    def with_span(self, span: Span | None) -> SymbolicRange:
        """The same bounds with another range."""
        return replace(self, span=span)


def unknown(dtype: AnyDType) -> SymbolicRange:
    """Anything that fits the type."""
    low, high = int_range(dtype)
    return SymbolicRange((number(low),), (number(high),))


def point_range(form: Linear) -> SymbolicRange:
    """A value that the launch decides."""
    return SymbolicRange((form,), (form,), Span(form, form))


def few(forms: Iterable[Linear]) -> tuple[Linear, ...]:
    """The first few different ones."""
    return tuple(dict.fromkeys(forms))[:MOST]


def fitted(prover: Prover, dtype: AnyDType, exact: SymbolicRange) -> SymbolicRange:
    """What is known of a result that wraps where it leaves its type."""
    low, high = int_range(dtype)
    fits = _granted(prover, [form.shifted(-low) for form in exact.lows]) and _granted(
        prover, [number(high).minus(form) for form in exact.highs]
    )
    bounds = exact if fits else unknown(dtype)
    span = exact.span
    if span is not None and not fits:
        needs = (span.low.shifted(-low), number(high).minus(span.high))
        unproved = frozenset(form for form in needs if not prover.holds(form))
        span = replace(span, needs=span.needs | unproved)
    return bounds.with_span(span)


def _granted(prover: Prover, forms: Sequence[Linear]) -> bool:
    """Whether one of some forms holds, or may be asked of launches."""
    return any(map(prover.holds, forms)) or any(map(prover.granted, forms))
