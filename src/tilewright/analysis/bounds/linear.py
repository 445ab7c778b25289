"""Linear forms of integers known at launch: a sum of multiples of atoms, and a constant.

An atom is a launch expression that is not a sum: an extent, a scalar, a grid size, a quotient, a
minimum or maximum. The form is canonical: expressions that are equal by linear algebra have the
same form. The integers are exact, as in Presburger arithmetic; nothing wraps here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import NamedTuple

from ...ir.launch_expr import BINARY, Expr


class Linear(NamedTuple):
    """The sum of `coefficient * atom` over all terms, and `constant`."""

    terms: frozenset[tuple[Expr, int]]
    constant: int

    @property
    def number(self) -> int | None:
        """The value, where it is a plain number."""
        return None if self.terms else self.constant

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """Return this and a multiple of another."""
        # Equal atoms cancel here: this is what makes two forms of one value equal.
        total = dict(self.terms)
        for atom, factor in other.terms:
            total[atom] = total.get(atom, 0) + factor * times
        return _of(total, self.constant + other.constant * times)

    def minus(self, other: Linear) -> Linear:
        """Return the difference."""
        return self.plus(other, -1)

    def shifted(self, by: int) -> Linear:
        """Return this and a number."""
        return Linear(self.terms, self.constant + by)

    def times(self, factor: int) -> Linear:
        """Return a multiple."""
        return _of({a: c * factor for a, c in self.terms}, self.constant * factor)

    def expr(self) -> Expr:
        """Return the form as a launch expression, with the terms in a canonical order."""
        result: Expr | None = None
        # Positive terms first, so that the text reads as a difference and does not begin with a
        # minus.
        for atom, factor in sorted(self.terms, key=lambda t: (t[1] < 0, repr(t[0]))):
            part = atom if abs(factor) == 1 else ("mul", atom, ("const", abs(factor)))
            if result is None:
                result = part if factor > 0 else ("sub", ("const", 0), part)
            else:
                result = ("add" if factor > 0 else "sub", result, part)
        if result is None:
            return ("const", self.constant)
        if not self.constant:
            return result
        return ("add" if self.constant > 0 else "sub", result, ("const", abs(self.constant)))


def _of(terms: Mapping[Expr, int], constant: int) -> Linear:
    return Linear(frozenset((a, c) for a, c in terms.items() if c), constant)


def number(n: int) -> Linear:
    """Return a plain number."""
    return Linear(frozenset(), n)


def atom(expr: Expr) -> Linear:
    """Return one atom."""
    return Linear(frozenset(((expr, 1),)), 0)


ZERO = number(0)
ONE = number(1)

MOST_PRODUCTS = 9
"""The largest number of terms that a product of sums is expanded into."""


class Algebra:
    """The translation of launch expressions into linear form, by known facts about their leaves.

    `equal` has a form for leaves that are known to equal another; `divisors` has numbers that
    divide leaves.
    """

    def __init__(
        self, equal: Mapping[Expr, Linear] | None = None, divisors: Mapping[Expr, int] | None = None
    ) -> None:
        self.equal = equal or {}
        self.divisors = divisors or {}
        self._known: dict[Expr, Linear] = {}

    def of(self, expr: Expr) -> Linear:
        """Return the linear form of a launch expression of integers."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._of(expr)
        return found

    def _of(self, expr: Expr) -> Linear:
        name = expr[0]
        if name == "const":
            return number(int(expr[1]))
        combine = _COMBINE.get(name)
        if combine is not None:
            return combine(self, self.of(expr[1]), self.of(expr[2]))
        return self.equal.get(expr) or atom(expr)

    def _divides(self, divisor: int, parts: Iterable[tuple[Expr, int]]) -> bool:
        return all(factor * self.divisors.get(a, 1) % divisor == 0 for a, factor in parts)

    def add(self, a: Linear, b: Linear) -> Linear:
        """Return a + b."""
        return a.plus(b)

    def sub(self, a: Linear, b: Linear) -> Linear:
        """Return a - b."""
        return a.minus(b)

    def mul(self, a: Linear, b: Linear) -> Linear:
        """Return a * b, distributed over sums; a product of atoms is an atom."""
        if b.number is not None:
            return a.times(b.number)
        if a.number is not None:
            return b.times(a.number)
        # Distributing long sums grows quadratically; beyond the limit the product is one opaque
        # atom, which is still exact but no longer cancels.
        if len(a.terms) * len(b.terms) > MOST_PRODUCTS:
            first, second = sorted((a.expr(), b.expr()), key=repr)
            return atom(("mul", first, second))
        total = a.times(b.constant).plus(Linear(b.terms, 0), a.constant)
        for (x, n), (y, m) in itertools.product(sorted(a.terms, key=repr), b.terms):
            total = total.plus(atom(_product(x, y)), n * m)
        return total

    def floordiv(self, a: Linear, b: Linear) -> Linear:
        """Return a // b (0 if b is 0); multiples of a positive b leave the quotient."""
        return self._divide("floordiv", a, b)

    def ceildiv(self, a: Linear, b: Linear) -> Linear:
        """Return the quotient rounded up."""
        return self._divide("ceildiv", a, b)

    def _divide(self, name: str, a: Linear, b: Linear) -> Linear:
        by = b.number
        if by is None or by <= 0:
            return self._folded(name, a, b)
        # Terms whose coefficient the divisor divides leave the quotient exactly: (by * x + r) / by
        # = x + r / by, in either rounding.
        whole = _of({t: c // by for t, c in a.terms if c % by == 0}, 0)
        rest = _of({t: c for t, c in a.terms if c % by}, a.constant % by)
        whole = whole.shifted(a.constant // by)
        if not rest.terms:
            return whole.shifted(int(BINARY[name][1](rest.constant, by)))
        if self._divides(by, rest.terms):
            # The remainder is that of the constant alone, whichever way is rounded.
            whole = whole.shifted(int(name == "ceildiv" and rest.constant > 0))
            name, rest = "floordiv", rest.shifted(-rest.constant)
        return whole.plus(atom((name, rest.expr(), b.expr())))

    def mod(self, a: Linear, b: Linear) -> Linear:
        """Return a % b (a if b is 0)."""
        by = b.number
        if by is None or by <= 0:
            return self._folded("mod", a, b)
        # A term whose multiples the divisor divides contributes 0 modulo it; coefficients are
        # reduced.
        left = {t: c % by for t, c in a.terms if c * self.divisors.get(t, 1) % by}
        rest = _of(left, a.constant % by)
        return self._folded("mod", rest, b)

    def min(self, a: Linear, b: Linear) -> Linear:
        """Return the lesser one."""
        return self._extreme("min", a, b)

    def max(self, a: Linear, b: Linear) -> Linear:
        """Return the greater one."""
        return self._extreme("max", a, b)

    def _extreme(self, name: str, a: Linear, b: Linear) -> Linear:
        # Two forms that differ by a number are ordered in every launch, so the extreme is one of
        # them.
        apart = a.minus(b).number
        if apart is not None:
            return a if (apart <= 0) == (name == "min") else b
        first, second = sorted((a.expr(), b.expr()), key=repr)
        return atom((name, first, second))

    def _folded(self, name: str, a: Linear, b: Linear) -> Linear:
        if a.number is not None and b.number is not None:
            return number(int(BINARY[name][1](a.number, b.number)))
        return atom((name, a.expr(), b.expr()))


_COMBINE: dict[str, Callable[[Algebra, Linear, Linear], Linear]] = {
    "add": Algebra.add, "sub": Algebra.sub, "mul": Algebra.mul,
    "floordiv": Algebra.floordiv, "ceildiv": Algebra.ceildiv, "mod": Algebra.mod,
    "min": Algebra.min, "max": Algebra.max,
}  # fmt: skip


def _product(x: Expr, y: Expr) -> Expr:
    """Return the product of two atoms, with its factors in one order."""
    # Left-associated and sorted: x * y and y * x, and all groupings, are the same atom.
    return reduce(lambda a, b: ("mul", a, b), sorted((*_factors(x), *_factors(y)), key=repr))


def _factors(part: Expr) -> tuple[Expr, ...]:
    return (*_factors(part[1]), *_factors(part[2])) if part[0] == "mul" else (part,)


PLAIN = Algebra()


def condition(form: Linear) -> Expr:
    """Return "form >= 0" as a comparison of its positive terms with its negative ones."""
    form = _of_quotient(form)
    less = frozenset((a, -c) for a, c in form.terms if c < 0)
    more = frozenset((a, c) for a, c in form.terms if c > 0)
    # `a - b - 1 >= 0` is shown as `b < a`, which is how users write it.
    if less and more and form.constant == -1:
        return ("lt", Linear(less, 0).expr(), Linear(more, 0).expr())
    if not form.terms:
        return ("ge", ("const", form.constant), ("const", 0))
    if not less:
        least = -form.constant
        word, limit = ("gt", least - 1) if least > 0 else ("ge", least)
        return (word, Linear(more, 0).expr(), ("const", limit))
    return (
        "le",
        Linear(less, max(-form.constant, 0)).expr(),
        Linear(more, max(form.constant, 0)).expr(),
    )


def _of_quotient(form: Linear) -> Linear:
    """Rewrite "at least one tile" as "at least one element"."""
    # ceil(n / t) >= 1 holds if and only if n >= 1.
    if form.constant == -1 and len(form.terms) == 1:
        ((part, factor),) = form.terms
        if factor == 1 and part[0] == "ceildiv" and part[2][0] == "const" and part[2][1] > 0:
            return PLAIN.of(part[1]).shifted(-1)
    return form
