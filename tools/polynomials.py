"""Makes the coefficients of elementary functions again: `python tools/polynomials.py [name ...]`.

Each polynomial is declared below: which function it stands for, on which interval, how its error
counts, and where its coefficients are. Remez's exchange, in 60 digits, finds the polynomial whose
greatest error is least. Its coefficients are rounded one after the other, the lowest first; those
that follow are found again with what is fixed. Prints, for each, the greatest error of the
committed coefficients, of the ones that were made, and of the best ones before they are rounded.
`tests/host/base/test_polynomials.py` compares them with the sources.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

mp: Any = mpmath.mp
mpf: Any = mp.mpf
"""Ship no types."""

DIGITS = 60
POINTS = 24
"""Of the grid on which extrema are looked for, for each coefficient."""
ROUNDS = 500
CLOSE = 1e-9
"""By how much the error at a point of the grid may exceed that at the chosen points."""
MOVES = 3
UNITS = {"f16": 2.0**-12, "f32": 2.0**-24, "f64": 2.0**-53}
"""Half an ulp of a number just below a power of two, relative to it."""
Number = Any
"""A float of many digits; mpmath has no types."""


@dataclass(frozen=True)
class Polynomial:
    """P(x) for `function(x)`, or P(x^2) where `even`; the error is `weight(x)` times theirs."""

    module: str
    name: str
    function: Callable[[Number], Number]
    weight: Callable[[Number], Number]
    interval: Callable[[], tuple[Number, Number]]
    dtype: str
    key: str | None = None
    even: bool = False
    result: str = ""
    """The type of the function's results, where coefficients have another."""

    @property
    def unit(self) -> float:
        """Half an ulp of the result, relative to it."""
        return UNITS[self.result or self.dtype]

    @property
    def label(self) -> str:
        """What it is called."""
        return self.name if self.key is None else f"{self.name}.{self.key}"

    def committed(self) -> tuple[float, ...]:
        """The coefficients that are in the sources, the lowest first."""
        found = getattr(importlib.import_module(f"tilewright.{self.module}"), self.name)
        made: tuple[float, ...] = found if self.key is None else found[self.key]
        return made

    def rounded(self, x: Number) -> float:
        """The nearest number of the element type."""
        return float(np.float32(float(x))) if self.dtype == "f32" else float(x)


# --- what is declared ----------------------------------------------------------------------------


def _symmetric(end: Callable[[], Number]) -> Callable[[], tuple[Number, Number]]:
    return lambda: (-end(), end())


def _from_zero(end: Callable[[], Number]) -> Callable[[], tuple[Number, Number]]:
    return lambda: (mpf(0), end())


def _number(n: int) -> Callable[[], Number]:
    return lambda: mpf(n)


def _log_interval() -> tuple[Number, Number]:
    return mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1


def _atanh_end() -> Number:
    f = mp.sqrt(2) - 1
    return f / (2 + f)


def _half_ln2() -> Number:
    return mp.log(2) / 2


def _exp(r: Number) -> Number:
    return (mp.expm1(r) - r) / r**2


def _exp2(r: Number) -> Number:
    return mp.expm1(r * mp.log(2)) / r


def _log(f: Number) -> Number:
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def _atanh(s: Number) -> Number:
    return 2 * (mp.atanh(s) - s) / s**3


def _pow_log(s: Number) -> Number:
    return (mp.atanh(s) / s - 1 - s**2 / 3) / s**4


def _erf(x: Number) -> Number:
    return mp.erf(x) / x - 1


def _erfc(t: Number) -> Number:
    return mp.log(mp.erfc(1 + t) / mp.erfc(1), 2) / t


def _erfc_weight(t: Number) -> Number:
    return mp.erfc(1 + t) * mp.log(2) * t / mp.erf(1 + t)


def _log_erfc(z: Number) -> Number:
    return mp.log(mp.erfc(z), 2) / z


def _over_cube(f: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """(f(x) / x - 1) / x^2."""
    return lambda x: (f(x) / x - 1) / x**2


def _cube_over(f: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """The weight of that, for errors relative to f."""
    return lambda x: x**3 / f(x)


def _cos(r: Number) -> Number:
    return (mp.cos(r) - 1 + r**2 / 2) / r**4


def _odd(
    module: str, name: str, f: Callable[[Number], Number], end: Callable[[], Number], dtype: str,
    *, key: str | None = None, result: str = "",
) -> Polynomial:  # fmt: skip
    return Polynomial(
        module, name, _over_cube(f), _cube_over(f), _from_zero(end), dtype, key, True, result
    )


def declared() -> Iterator[Polynomial]:
    """All polynomials of the sources."""
    shared, functions = "base.polynomials", "backend.libm"
    waves, curves = f"{functions}.trigonometric", f"{functions}.exponential"
    for dtype in ("f32", "f64"):
        yield Polynomial(shared, "EXP", _exp, lambda r: r**2 / mp.exp(r), _symmetric(_half_ln2),
                         dtype, dtype)  # fmt: skip
    yield Polynomial(shared, "EXP2_F32", _exp2, lambda r: r / 2**r,
                     _symmetric(lambda: mpf(1) / 2), "f32")  # fmt: skip
    yield Polynomial(shared, "LOG_F32", _log, lambda f: f**3 / mp.log1p(f), _log_interval, "f32")
    yield Polynomial(shared, "LOG_F64", _atanh, lambda s: s**3 / (2 * mp.atanh(s)),
                     _from_zero(_atanh_end), "f64", even=True)  # fmt: skip
    yield Polynomial(f"{functions}.power", "POW_LOG", _pow_log, lambda s: s**5 / mp.atanh(s),
                     _from_zero(_atanh_end), "f64", even=True)  # fmt: skip
    for dtype, end in (("f32", _number(3)), ("f64", _number(5))):
        yield Polynomial(shared, "ERF", _erf, lambda x: x / mp.erf(x), _from_zero(lambda: mpf(1)),
                         dtype, dtype, even=True)  # fmt: skip
        yield Polynomial(shared, "ERFC", _erfc, _erfc_weight,
                         _from_zero(end), dtype, dtype)  # fmt: skip
    yield Polynomial(shared, "LOG_ERFC", _log_erfc, lambda z: z * mp.log(2),
                     _from_zero(lambda: mpf("9.3")), "f32", result="f16")  # fmt: skip
    for result in ("f32", "f64"):
        yield _odd(waves, f"SIN_{result.upper()}", mp.sin, lambda: mp.pi / 4, "f64", result=result)
        yield Polynomial(
            waves, f"COS_{result.upper()}", _cos, lambda r: r**4 / mp.cos(r),
            _from_zero(lambda: mp.pi / 4), "f64", even=True, result=result,
        )  # fmt: skip
    yield _odd(waves, "ATAN_F32", mp.atan, lambda: mpf(1), "f64", result="f32")
    yield _odd(waves, "ATAN_F64", mp.atan, lambda: mp.tan(mp.pi / 8), "f64")
    yield _odd(curves, "SINH_F64", mp.sinh, lambda: mpf(1), "f64")
    yield _odd(curves, "TANH", mp.tanh, lambda: mpf("0.6"), "f32", key="float")
    yield _odd(curves, "TANH", mp.tanh, lambda: mpf("0.55"), "f64", key="double")


# --- Remez's exchange ----------------------------------------------------------------------------


class Exchange:
    """Finds coefficients behind some that are fixed; functions are evaluated once at a point."""

    def __init__(self, polynomial: Polynomial, count: int) -> None:
        self.polynomial = polynomial
        self.count = count
        self._known: dict[Number, tuple[Number, Number, Number]] = {}
        low, high = polynomial.interval()
        steps = POINTS * count
        middle, half = (low + high) / 2, (high - low) / 2
        grid = [middle - half * mp.cos(mp.pi * k / steps) for k in range(steps + 1)]
        self.grid = [x for x in grid if abs(x) > half * mpf(10) ** -12]

    def at(self, x: Number) -> tuple[Number, Number, Number]:
        """The variable of the polynomial, the function, the weight."""
        if x not in self._known:
            p = self.polynomial
            with mp.workdps(2 * DIGITS):  # functions cancel near 0
                self._known[x] = (x * x if p.even else +x, p.function(x), p.weight(x))
        return self._known[x]

    def error(self, x: Number, coefficients: Sequence[Number]) -> Number:
        """The weighted error at a point."""
        t, value, weight = self.at(x)
        made = mpf(0)
        for c in reversed(coefficients):
            made = made * t + c
        return weight * (made - value)

    def largest(self, coefficients: Sequence[Number]) -> Number:
        """The greatest error."""
        return max(abs(self.error(x, coefficients)) for x in self._extrema(coefficients))

    def _sign(self, x: Number, fixed: int) -> int:
        """The sign of what multiplies a polynomial that follows fixed coefficients.

        Where that is negative an error counts with the other sign, so that all of it is one
        problem of approximation with a weight that is never negative.
        """
        t, _, weight = self.at(x)
        return -1 if weight * t**fixed < 0 else 1

    def best(self, fixed: Sequence[Number]) -> list[Number]:
        """All coefficients: those that are fixed, and the best that can follow them.

        Points are exchanged one at a time (Stiefel), on a grid, until none has a greater error;
        then they move to where the error is extremal between the points of the grid.
        """
        free = self.count - len(fixed)
        last = len(self.grid) - 1
        points = [round((k + 0.5) * last / (free + 1)) for k in range(free + 1)]
        made: list[Number] = []
        for _ in range(ROUNDS):
            made, level = self._solved([self.grid[k] for k in points], fixed)
            errors = [self.error(x, made) * self._sign(x, len(fixed)) for x in self.grid]
            worst = max(range(last + 1), key=lambda k: abs(errors[k]))
            if worst in points or abs(errors[worst]) <= abs(level) * (1 + CLOSE):
                break
            points = _exchanged(points, worst, errors)
        for _ in range(MOVES):
            tops = [self._refined(k, made) if 0 < k < last else self.grid[k] for k in points]
            made, _ = self._solved(tops, fixed)
        return made

    def _solved(
        self, points: Sequence[Number], fixed: Sequence[Number]
    ) -> tuple[list[Number], Number]:
        """The polynomial whose errors at some points are equal, with signs in turn; the error."""
        free = len(points) - 1
        rows, right = mp.matrix(free + 1, free + 1), mp.matrix(free + 1, 1)
        for number, x in enumerate(points):
            t, value, weight = self.at(x)
            power = t ** len(fixed)
            for k in range(free):
                rows[number, k] = weight * power
                power *= t
            rows[number, free] = (-1) ** number * self._sign(x, len(fixed))
            known = sum((c * t**k for k, c in enumerate(fixed)), mpf(0))
            right[number] = weight * (value - known)
        found = mp.lu_solve(rows, right)
        return [*fixed, *(found[k] for k in range(free))], found[free]

    def _extrema(self, coefficients: Sequence[Number]) -> list[Number]:
        """Where the error is extremal: on the grid, then between its points."""
        errors = [self.error(x, coefficients) for x in self.grid]
        found: list[Number] = []
        for k, x in enumerate(self.grid):
            near = errors[max(k - 1, 0) : k + 2]
            if abs(errors[k]) == max(abs(error) for error in near) and errors[k]:
                inside = 0 < k < len(self.grid) - 1
                found.append(self._refined(k, coefficients) if inside else x)
        return found

    def _refined(self, k: int, coefficients: Sequence[Number]) -> Number:
        """The top of parabolas through three points (successive parabolic interpolation)."""
        points = self.grid[k - 1 : k + 2]
        for _ in range(4):
            (a, b, c), (fa, fb, fc) = points, [abs(self.error(x, coefficients)) for x in points]
            left, right = (b - a) * (fb - fc), (b - c) * (fb - fa)
            if left == right:
                break
            top = b - ((b - a) * left - (b - c) * right) / (2 * (left - right))
            if not a < top < c or top == b or abs(self.error(top, coefficients)) < fb:
                break
            points = [b, top, c] if top > b else [a, top, b]
        return points[1]


def _exchanged(points: Sequence[int], worst: int, errors: Sequence[Number]) -> list[int]:
    """Take a point in, and leave one out, so that the signs of errors still alternate."""
    made = list(points)
    positive = errors[worst] > 0
    after = next((k for k, point in enumerate(made) if point > worst), len(made))
    for k in (after - 1, after):  # its neighbours; one of two has its sign
        if 0 <= k < len(made) and (errors[made[k]] > 0) == positive:
            made[k] = worst
            return made
    return [worst, *made[:-1]] if after == 0 else [*made[1:], worst]


@dataclass(frozen=True)
class Made:
    """Coefficients, and greatest errors: theirs, the best, that of those in the sources."""

    coefficients: tuple[float, ...]
    error: float
    best: float
    committed: float


def make(polynomial: Polynomial) -> Made:
    """Make a polynomial again."""
    with mp.workdps(DIGITS):
        committed = [mpf(c) for c in polynomial.committed()]
        exchange = Exchange(polynomial, len(committed))
        best = exchange.best([])
        fixed: list[Number] = []
        for k in range(len(committed)):
            made = exchange.best(fixed) if k else best
            fixed.append(mpf(polynomial.rounded(made[k])))
        errors = [float(exchange.largest(each)) for each in (fixed, best, committed)]
    return Made(tuple(map(float, fixed)), *errors)


def error_of(polynomial: Polynomial) -> float:
    """The greatest error of the coefficients in the sources."""
    with mp.workdps(DIGITS):
        committed = [mpf(c) for c in polynomial.committed()]
        return float(Exchange(polynomial, len(committed)).largest(committed))


def main(names: Sequence[str]) -> None:
    """Print all polynomials, or some."""
    for polynomial in declared():
        if names and polynomial.label not in names and polynomial.name not in names:
            continue
        made = make(polynomial)
        same = "as committed" if made.coefficients == polynomial.committed() else "OTHERS"
        unit = polynomial.unit
        print(f"{polynomial.label} ({polynomial.dtype}): {same}; errors in half ulps: "
              f"made {made.error / unit:.2g}, best {made.best / unit:.2g}, "
              f"committed {made.committed / unit:.2g}", flush=True)  # fmt: skip
        if same == "OTHERS":
            print("   ", ", ".join(map(repr, made.coefficients)))


if __name__ == "__main__":
    main(sys.argv[1:])
