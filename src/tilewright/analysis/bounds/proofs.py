"""Linear forms over launch values, and proofs that they are not negative.

An atom is a launch expression that is not a sum: an extent, a scalar, a grid size, a quotient, a
minimum or maximum. The form is canonical: expressions that are equal by linear algebra have the
same form. The integers are exact, as in Presburger arithmetic; nothing wraps here.

The facts are what every launch checks before it runs: asserted and declared conditions on extents
and scalars, and the ranges of the leaves (`atom_bounds`). The search eliminates one atom per step,
as Fourier-Motzkin elimination does, and gives up after a few steps. It is sound and incomplete: if
it finds no proof, the caller checks at launch or in the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from ...base.dtypes import i32, int_range
from ...ir.launch_expr import BINARY, LEAVES, Expr, LaunchCheck, conjuncts, leaves, parts
from ...ir.signature import OutputSpec, ScalarSpec, Signature, TensorSpec

# --- linear forms of integers known at launch --------------------------------------------------


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
            total = total.plus(atom(_product_of_atoms(x, y)), n * m)
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


def _product_of_atoms(x: Expr, y: Expr) -> Expr:
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


# --- prove that linear forms over launch values are not negative, by bounded elimination -------

Bounds: TypeAlias = tuple[float, float]
"""The least and greatest value; infinite where unknown."""

EVERYTHING: Bounds = (-math.inf, math.inf)
LARGEST = int_range(i32)[1]

MAX_DEPTH = 6
"""Steps in a row of one proof; each eliminates an atom or uses a fact."""

MAX_STEPS = 150
"""Steps of one proof in all, those that led nowhere included."""

MOST_BLOCKS = (LARGEST, 65535, 65535)
"""Along x, y and z, in every launch of a SIMT kernel."""

HUGE = 1 << 200
"""Products beyond this count as infinite."""


class Prover:
    """The conditions that every launch satisfies, and what follows from them."""

    def __init__(self, signature: Signature, checks: Sequence[LaunchCheck] = ()) -> None:
        self.signature = signature
        self.scalars = {s.name: s.dtype for s in signature.params if isinstance(s, ScalarSpec)}
        self.algebra = Algebra(*_equalities(signature, checks))
        self.facts = tuple(
            fact for check in checks if not check.where for fact in self.forms(check.expr)
        )
        self.facts += tuple(f for f in self._about_grid(signature) if f.terms)
        self.here: tuple[Linear, ...] = ()
        """What holds besides where control is."""
        self.asked: list[Linear] | None = None
        """What launches are asked for so that numbers of threads do not wrap; None: nothing."""

    # --- what is believed ------------------------------------------------------------------------

    def _about_grid(self, signature: Signature) -> Iterator[Linear]:
        """Yield the conditions that launches ensure, and that there is at least one block."""
        of = self.algebra.of
        # A block that evaluates anything exists, so every axis of the grid has at least one block.
        for axis in range(signature.grid_rank):
            yield of(("grid", axis)).shifted(-1)
        for spec in signature.params:
            if not isinstance(spec, OutputSpec) or spec.shared:
                continue
            if spec.partial:
                for axis in range(len(spec.tile)):
                    # A partial output may have more tiles than blocks, never fewer.
                    yield of(("sub", _tiles(spec, axis), ("grid", axis)))
            elif spec.groups is not None:
                walked = [_tiles(spec, k) for k, group in enumerate(spec.groups) if group]
                total = reduce(lambda a, b: ("mul", a, b), walked)
                # Launches of mapped outputs reject more tiles than an i32 counts.
                yield number(LARGEST).minus(of(total))

    def forms(self, expr: Expr) -> Iterator[Linear]:
        """Yield forms that are not negative where a condition holds."""
        if expr[0] == "and":
            yield from self.forms(expr[1])
            yield from self.forms(expr[2])
        # Launch expressions also compare floats, for which a < b does not mean a + 1 <= b.
        elif expr[0] in _NOT_NEGATIVE and _is_integral(expr[1]) and _is_integral(expr[2]):
            a, b = self.algebra.of(expr[1]), self.algebra.of(expr[2])
            yield from (f for f in _NOT_NEGATIVE[expr[0]](a, b) if f.terms)

    def bounds(self, form: Linear) -> Bounds:
        """Return the bounds of a form from those of its atoms, each taken for itself."""
        low: float = form.constant
        high: float = form.constant
        for part, factor in form.terms:
            # Interval arithmetic without correlation: each atom is at its own worst value.
            a, b = (factor * x for x in self.atom_bounds(part))
            low, high = low + min(a, b), high + max(a, b)
        return low, high

    def atom_bounds(self, part: Expr) -> Bounds:
        """Return the bounds of one atom."""
        rule = ATOM_BOUNDS.get(part[0])
        if rule is not None:
            return rule(*(self.bounds(self.algebra.of(e)) for e in part[1:]))
        return _LEAVES[part[0]](self, part)

    def least(self, a: Linear, b: Linear) -> Linear:
        """Return the least of some forms, without those that are never less than another."""
        kept: list[Linear] = []
        for form in (*_alternatives(a), *_alternatives(b)):
            if not any(self.holds(form.minus(other)) for other in kept):
                kept = [k for k in kept if not self.holds(k.minus(form))] + [form]
        return reduce(self.algebra.min, kept)

    # --- proofs ----------------------------------------------------------------------------------

    def holds(self, form: Linear, given: Sequence[Linear] = ()) -> bool:
        """Return whether a form is provably >= 0 here, if the forms `given` are >= 0."""
        return self.always(form, (*given, *self.here))

    def always(self, form: Linear, given: Sequence[Linear] = ()) -> bool:
        """Return whether a form is provably >= 0 everywhere, if the forms `given` are >= 0."""
        return self._search(form, (*given, *self.facts), MAX_DEPTH, set())

    def believe(self, forms: Iterable[Linear]) -> None:
        """Assume that forms are 0 or more `here`, where control gets to only if they are."""
        new = (f for f in forms if f.terms and f not in self.here and self.bounds(f)[0] < 0)
        self.here = (*self.here, *new)

    def granted(self, form: Linear) -> bool:
        """Return whether a form is >= 0, provably or as a condition on the grid for launches."""
        if self.holds(form):
            return True
        # Only the size of the grid may become a condition of launches that the user did not write:
        # a grid that violates it has thread numbers that wrap.
        if self.asked is None or any(leaf[0] != "grid_dim" for leaf in leaves(form.expr())):
            return False
        self.asked.append(form)
        self.facts += (form,)
        return True

    def _search(self, form: Linear, facts: Sequence[Linear], depth: int, seen: set[Linear]) -> bool:
        # Backward search in the manner of Fourier-Motzkin elimination: subtract a fact (known to be
        # >= 0) that shares a term, or replace an atom by a bound of it, until interval arithmetic
        # suffices. Depth and steps are limited, so the search is incomplete but cheap.
        if self.bounds(form)[0] >= 0:
            return True
        if not depth or not form.terms or form in seen or len(seen) >= MAX_STEPS:
            return False
        seen.add(form)
        # A fact that shares no term with equal coefficient cannot eliminate an atom in this step.
        helpful = [fact for fact in facts if any(t in form.terms for t in fact.terms)]
        return any(self._search(form.minus(f), facts, depth - 1, seen) for f in helpful) or any(
            all(self._search(case, facts, depth - 1, seen) for case in cases)
            for cases in self._reasons(form)
        )

    def _reasons(self, form: Linear) -> Iterator[Sequence[Linear]]:
        """Yield ways to prove a form: for each, forms of which all must hold."""
        for part, factor in form.terms:
            rest = form.plus(atom(part), -factor)
            if part[0] in ("min", "max"):
                yield from self._extreme(part, factor, rest)
            elif part[0] in ("floordiv", "ceildiv"):
                yield from self._quotient(part, factor, rest)
            elif part[0] == "mod" and factor < 0:
                yield from self._remainder(part, factor, rest)
            elif part[0] == "mul":
                yield from (self._multiple if factor > 0 else self._shared)(part, factor, form)

    def _multiple(self, part: Expr, factor: int, form: Linear) -> Iterator[Sequence[Linear]]:
        """Yield a product less multiples of one of its factors: n x y - m y = (n x - m) y."""
        for one, other in (part[1:], part[:0:-1]):
            # n*x*y - m*y = (n*x - m) * y is >= 0 if both factors are; the other terms are proved on
            # their own.
            less = dict(form.terms).get(one, 0)
            if less <= 0:
                apart = form.plus(atom(part), -factor).plus(atom(one), -less)
                # A factor may be a sum, which is no atom.
                rest = self.algebra.of(other).times(factor).shifted(less)
                yield self.algebra.of(one), rest, apart

    def _shared(self, part: Expr, factor: int, form: Linear) -> Iterator[Sequence[Linear]]:
        """Yield a bound for a quotient times at most its divisor: it is at most the dividend."""
        for quotient, other in (part[1:], part[:0:-1]):
            times = self.algebra.of(other)  # perhaps a sum, which is no atom
            while quotient[0] == "floordiv":
                top, by = self.algebra.of(quotient[1]), self.algebra.of(quotient[2])
                # (top // by) * times <= top where 0 <= times <= by and top >= 0, so top replaces
                # the product.
                apart = form.plus(atom(part), -factor).plus(top, factor)
                yield apart, by.minus(times), times, top
                quotient = quotient[1]

    def _extreme(self, part: Expr, factor: int, rest: Linear) -> Iterator[Sequence[Linear]]:
        cases = [rest.plus(self.algebra.of(e), factor) for e in part[1:]]
        # A lower bound of +min or -max needs all cases (the extreme may be any of them); -min and
        # +max are bounded by each case, so any one will do.
        if (part[0] == "min") == (factor > 0):
            yield cases
        else:
            yield from ((case,) for case in cases)

    def _quotient(self, part: Expr, factor: int, rest: Linear) -> Iterator[Sequence[Linear]]:
        """Yield the bounds of a quotient by a positive number, in terms of the dividend."""
        top, by = self.algebra.of(part[1]), self.algebra.of(part[2])
        if by.number is None:
            # A quotient is no farther from 0 than what is divided; divisors of 0 give 0.
            if factor < 0 and self.bounds(by)[0] >= 0 and self.bounds(top)[0] >= 0:
                yield (rest.plus(top, factor),)
            return
        divisor = by.number
        if divisor < 1:
            return
        if part[0] == "ceildiv":
            # ceil(x / d) = floor((x + d - 1) / d) for d > 0.
            top = top.shifted(divisor - 1)
        yield from self._paired(top, divisor, factor, rest)
        # divisor * quotient lies in top - (divisor - 1) .. top.
        least = top.shifted(1 - divisor) if factor > 0 else top
        # Multiply the goal by the divisor. As it is an integer, goal >= 0 is equivalent to divisor
        # * goal > -divisor, which allows the slack of divisor - 1.
        yield (rest.times(divisor).plus(least, factor).shifted(divisor - 1),)

    def _paired(
        self, top: Linear, divisor: int, factor: int, rest: Linear
    ) -> Iterator[Sequence[Linear]]:
        """Yield a quotient less another by the same divisor: one of more is not less."""
        if factor < 0:
            return
        for part, other in rest.terms:
            # floor(a / d) - floor(b / d) >= 0 follows from a >= b: division by one divisor is
            # monotone.
            if part[0] not in ("floordiv", "ceildiv") or other != -factor:
                continue
            if self.algebra.of(part[2]).number == divisor:
                less = self.algebra.of(part[1])
                less = less.shifted(divisor - 1) if part[0] == "ceildiv" else less
                yield (top.minus(less), rest.plus(atom(part), factor))

    def _remainder(self, part: Expr, factor: int, rest: Linear) -> Iterator[Sequence[Linear]]:
        top, by = self.algebra.of(part[1]), self.algebra.of(part[2])
        if self.bounds(by)[0] >= 1:
            yield (rest.plus(by.shifted(-1), factor),)
            if self.bounds(top)[0] >= 0:
                yield (rest.plus(top, factor),)


def _alternatives(form: Linear) -> Iterator[Linear]:
    """Yield the forms that a form is the least of."""
    parts_of_one = [part for part, factor in form.terms if factor == 1 and part[0] == "min"]
    if len(form.terms) != 1 or not parts_of_one:
        yield form
        return
    for part in parts_of_one[0][1:]:
        yield from _alternatives(PLAIN.of(part).shifted(form.constant))


# --- conditions as forms -------------------------------------------------------------------------

_NOT_NEGATIVE: dict[str, Callable[[Linear, Linear], Sequence[Linear]]] = {
    "ge": lambda a, b: (a.minus(b),),
    "le": lambda a, b: (b.minus(a),),
    "gt": lambda a, b: (a.minus(b).shifted(-1),),
    "lt": lambda a, b: (b.minus(a).shifted(-1),),
    "eq": lambda a, b: (a.minus(b), b.minus(a)),
}
"""The forms that are not negative where a comparison holds."""

GIVEN = ("extent", "length", "scalar")
"""Leaves that are arguments."""

_INTEGRAL = frozenset(
    ("const", *LEAVES, "add", "sub", "mul", "floordiv", "mod", "ceildiv", "min", "max")
)  # fmt: skip


def _is_integral(expr: Expr) -> bool:
    if expr[0] not in _INTEGRAL:
        return False
    if expr[0] == "const":
        return type(expr[1]) is int
    return all(map(_is_integral, parts(expr)))


def _equalities(
    signature: Signature, checks: Sequence[LaunchCheck]
) -> tuple[dict[Expr, Linear], dict[Expr, int]]:
    """Return leaves that equal other forms, and numbers that divide leaves."""
    equal = _fixed(signature)
    divisors: dict[Expr, int] = {}
    believed = [check.expr for check in checks if not check.where]
    for expr in (part for whole in believed for part in conjuncts(whole)):
        if expr[0] != "eq" or not (_is_integral(expr[1]) and _is_integral(expr[2])):
            continue
        algebra = Algebra(equal, divisors)
        form = algebra.of(("sub", expr[1], expr[2]))
        if not _note_divisor(form, divisors):
            _note_equal(form, equal, divisors)
    # Earlier forms were written before later equations were known: substitute once more.
    final = Algebra(equal, divisors)
    return {leaf: final.of(form.expr()) for leaf, form in equal.items()}, divisors


def _fixed(signature: Signature) -> dict[Expr, Linear]:
    """Return the values that the signature fixes: extents, and the grid of all outputs."""
    fixed: dict[Expr, Linear] = {}
    for spec in signature.params:
        if isinstance(spec, TensorSpec | OutputSpec):
            known = [(axis, n) for axis, n in enumerate(spec.shape) if n is not None]
            fixed.update({("extent", spec.name, axis): number(n) for axis, n in known})
    algebra = Algebra(fixed)
    sizes = {axis: _size(signature, axis) for axis in range(signature.grid_rank)}
    for axis, size in sizes.items():
        if size is not None:
            fixed[("grid", axis)] = algebra.of(size)
    return fixed


def _size(signature: Signature, axis: int) -> Expr | None:
    """Return the size of the grid along an axis, if an output has the blocks as its tiles."""
    if signature.grid is not None:
        return ("const", signature.grid[axis] if axis < len(signature.grid) else 1)
    cut = [s for s in signature.params if isinstance(s, OutputSpec) and not s.shared]
    outputs = [spec for spec in cut if not spec.partial]
    plain = [spec for spec in outputs if spec.groups is None]
    if plain:
        return _tiles(plain[0], axis)
    # The blocks of a mapped output form a grid of one axis.
    return ("const", 1) if outputs and axis else None


def _tiles(output: OutputSpec, axis: int) -> Expr:
    if axis >= len(output.tile):
        return ("const", 1)
    return ("ceildiv", ("extent", output.name, axis), ("const", output.tile[axis]))


def _note_divisor(form: Linear, divisors: dict[Expr, int]) -> bool:
    """Note a condition `leaf % d == 0`; return whether it is one."""
    terms = list(form.terms)
    if form.constant or len(terms) != 1 or terms[0][0][0] != "mod":
        return False
    _, leaf, by = terms[0][0]
    if leaf[0] not in GIVEN or by[0] != "const" or by[1] < 1:
        return False
    divisors[leaf] = math.lcm(divisors.get(leaf, 1), by[1])
    return True


def _note_equal(form: Linear, equal: dict[Expr, Linear], divisors: dict[Expr, int]) -> None:
    """Solve an equation for a leaf with coefficient 1 or -1, and substitute it everywhere."""
    for leaf, factor in sorted(form.terms, key=repr):
        # Only a leaf with coefficient 1 or -1 can be solved for in the integers. A leaf with a
        # known divisor stays: the divisor would be lost.
        if leaf[0] not in GIVEN or abs(factor) != 1 or leaf in divisors:
            continue
        rest = form.plus(atom(leaf), -factor).times(-factor)
        # The leaf also occurs inside a quotient or product: the equation is not solved for it.
        if any(leaf in leaves(part) for part, _ in rest.terms):
            continue
        replaced = Algebra({leaf: rest}, divisors)
        for known, other in equal.items():
            equal[known] = replaced.of(other.expr())
        equal[leaf] = rest
        return


# --- bounds of atoms -----------------------------------------------------------------------------


def _product_bounds(a: Bounds, b: Bounds) -> Bounds:
    corners = [_times(x, y) for x in a for y in b]
    least, most = min(corners), max(corners)
    return (least if least > -HUGE else -math.inf, most if most < HUGE else math.inf)


def _times(x: float, y: float) -> float:
    # Infinity times nothing is nothing: the bound is of finite numbers.
    return 0 if not x or not y else x * y


def _quotient(name: str) -> Callable[[Bounds, Bounds], Bounds]:
    divide = BINARY[name][1]

    def bounds(a: Bounds, b: Bounds) -> Bounds:
        if b[0] < 0:
            return EVERYTHING
        if b[0] < 1 or b[1] != b[0] or math.inf in (-a[0], a[1]):
            # Whatever the divisor is, the quotient lies between 0 and what is divided.
            return min(a[0], 0), max(a[1], 0)
        return divide(a[0], b[0]), divide(a[1], b[0])

    return bounds


def _remainder(a: Bounds, b: Bounds) -> Bounds:
    if b[0] < 1:
        return EVERYTHING
    return 0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1


_LEAVES: dict[str, Callable[[Prover, Expr], Bounds]] = {
    "extent": lambda prover, leaf: (0, LARGEST),
    "length": lambda prover, leaf: (0, LARGEST),
    "grid": lambda prover, leaf: (1, LARGEST),
    "grid_dim": lambda prover, leaf: (1, MOST_BLOCKS[int(leaf[1])]),
    "scalar": lambda prover, leaf: int_range(prover.scalars[leaf[1]]),
    "given": lambda prover, leaf: (leaf[2], leaf[2]),
}
"""The bounds of leaves, by kind."""

ATOM_BOUNDS: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "mul": _product_bounds, "mod": _remainder,
    "floordiv": _quotient("floordiv"), "ceildiv": _quotient("ceildiv"),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}  # fmt: skip
