"""Float arithmetic, comparisons and approximations.

An approximation is the exact result in f64, rounded once; on a GPU the last bits may differ.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .integers import SHARED_NAMES
from .layout import Layout
from .program import Instr
from .rounding import canonical, flushed, fma_f64, fma_wide, narrow, odd_sum
from .values import TYPES, Action, Array, Compute, Maker, form, pure, unknown

KINDS = "f16|bf16|f32|f64"
MODES = "rn|rz|rm|rp"
ARITHMETIC = (
    rf"(?P<name>\w+?)(?:\.(?P<mode>{MODES}))?(?P<ftz>\.ftz)?(?P<sat>\.sat)?\.(?P<kind>{KINDS})"
)
WIDE: dict[str, Compute] = {
    "add": odd_sum,
    "sub": lambda a, b: odd_sum(a, -b),
    "mul": lambda a, b: a * b,
    "fma": fma_wide,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
}
"""Of f64 that hold smaller floats: exact, or rounded to odd; quotients and roots in f64 have enough
bits to be rounded to nearest once more."""
EXACT: dict[str, Compute] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": fma_f64,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
}
"""Of f64, rounded to nearest."""
ONLY_NEAREST = ("div", "rcp", "sqrt")


def _arithmetic(count: int) -> Maker:
    def maker(layout: Layout, instr: Instr) -> Action:
        if count == 2 and instr.opcode.startswith(("div.approx", "div.full")):
            return _approximate(layout, instr)
        match = form(instr, ARITHMETIC, count + 1)
        name, kind, mode = match["name"], match["kind"], match["mode"] or "rn"
        if kind == "f64" and (mode != "rn" or match["ftz"] or match["sat"]):
            unknown(instr)
        if name in ONLY_NEAREST and match["mode"] != "rn":
            unknown(instr)
        function = _rounded(name, kind, mode, ftz=bool(match["ftz"]), sat=bool(match["sat"]))
        return pure(layout, instr, kind, (kind,) * count, function)

    return maker


def _rounded(name: str, kind: str, mode: str, *, ftz: bool, sat: bool) -> Compute:
    if kind == "f64":
        return EXACT[name]
    dtype = TYPES[kind]

    def compute(*given: Array) -> Array:
        taken = [flushed(x) for x in given] if ftz else given
        function: Callable[..., Array] = WIDE[name]
        made = narrow(function(*[x.astype(np.float64) for x in taken]), dtype, mode)
        if sat:
            made = saturated(made)
        return canonical(np.asarray(flushed(made) if ftz else made))

    return compute


def saturated(made: Array) -> Array:
    """Cut a result to 0 .. 1; NaN is 0."""
    return np.where(np.isnan(made), 0, np.clip(made, 0, 1)).astype(made.dtype)


def _of_both(name: str, floats: Maker) -> Maker:
    """Return a name that integers have as well."""
    integers = SHARED_NAMES[name]

    def maker(layout: Layout, instr: Instr) -> Action:
        is_float = instr.opcode.rsplit(".", 1)[-1] in KINDS.split("|")
        return (floats if is_float else integers)(layout, instr)

    return maker


# --- signs, least and greatest -------------------------------------------------------------------


def _sign(name: str, function: Callable[[Array, Any], Array]) -> Maker:
    """Run `neg` or `abs`, which change one bit."""

    def maker(layout: Layout, instr: Instr) -> Action:
        match = form(instr, rf"{name}(?P<ftz>\.ftz)?\.(?P<kind>{KINDS})", 2)
        kind, bits = match["kind"], TYPES[match["kind"]].itemsize * 8
        unsigned = TYPES[f"u{bits}"].type
        flush = bool(match["ftz"])

        def change(a: Array) -> Array:
            given = flushed(a) if flush else a
            return function(given.view(unsigned), unsigned(1 << bits - 1)).view(TYPES[kind])

        return pure(layout, instr, kind, (kind,), change)

    return maker


def _copy_sign(layout: Layout, instr: Instr) -> Action:
    kind = form(instr, r"copysign\.(f32|f64)", 3)[1]
    return pure(layout, instr, kind, (kind, kind), lambda a, b: np.copysign(b, a))


def _extremum(name: str, function: Callable[..., Array]) -> Maker:
    def maker(layout: Layout, instr: Instr) -> Action:
        match = form(instr, rf"{name}(?P<ftz>\.ftz)?(?P<nan>\.NaN)?\.(?P<kind>{KINDS})", 3)
        kind, least = match["kind"], name == "min"

        def choose(a: Array, b: Array) -> Array:
            x, y = (flushed(a), flushed(b)) if match["ftz"] else (a, b)
            made = function(x, y)
            # -0 is less than +0.
            zeros = (x == 0) & (y == 0)
            negative = (np.signbit(x) | np.signbit(y)) if least else (np.signbit(x) & np.signbit(y))
            zero = np.copysign(np.zeros_like(made), np.where(negative, -1.0, 1.0))
            made = np.where(zeros, zero, made)
            gone = (np.isnan(x) | np.isnan(y)) if match["nan"] else (np.isnan(x) & np.isnan(y))
            return canonical(np.where(gone, np.nan, made).astype(a.dtype))

        return pure(layout, instr, kind, (kind, kind), choose)

    return maker


# --- comparisons ---------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _compare(layout: Layout, instr: Instr) -> Action:
    words = "|".join((*COMPARISONS, *UNSIGNED, *(f"{w}u" for w in COMPARISONS), "num", "nan"))
    match = form(instr, rf"setp\.(?P<word>{words})(?P<ftz>\.ftz)?\.(?P<kind>[bsuf]\d+|bf16)", 3)
    word, kind = match["word"], match["kind"]
    if kind not in TYPES or kind.endswith("8") or (match["ftz"] and kind != "f32"):
        unknown(instr)
    if "f" in kind:
        function = _compare_floats(word, ftz=bool(match["ftz"]))
    elif word in UNSIGNED and kind[0] == "u":
        function = COMPARISONS[UNSIGNED[word]]
    elif word in ("eq", "ne") or (word in COMPARISONS and kind[0] != "b"):
        function = COMPARISONS[word]
    else:
        unknown(instr)
    return pure(layout, instr, "pred", (kind, kind), function)


def _compare_floats(word: str, *, ftz: bool) -> Callable[[Array, Array], Array]:
    """Compare numbers; predicates with a `u` hold where one of both is NaN, `ne` does not."""
    unordered = word.endswith("u") and word[:-1] in COMPARISONS
    base = COMPARISONS.get(word[:-1] if unordered else word)

    def compare(a: Array, b: Array) -> Array:
        if ftz:
            a, b = flushed(a), flushed(b)
        nan = np.isnan(a) | np.isnan(b)
        if base is None:
            return nan if word == "nan" else ~nan
        return (base(a, b) | nan) if unordered else (base(a, b) & ~nan)

    return compare


def _test(layout: Layout, instr: Instr) -> Action:
    match = form(
        instr, r"testp\.(finite|infinite|number|notanumber|normal|subnormal)\.(f32|f64)", 2
    )
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
    }
    return pure(layout, instr, "pred", (match[2],), tests[match[1]])


# --- approximations ------------------------------------------------------------------------------

APPROXIMATE: dict[str, Compute] = {
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "rcp": lambda a: 1.0 / a, "rsqrt": lambda a: 1.0 / np.sqrt(a), "sqrt": np.sqrt,
    "div": lambda a, b: a / b,
}  # fmt: skip


def _approximate(layout: Layout, instr: Instr) -> Action:
    match = form(
        instr,
        r"(?P<name>\w+)\.(?:approx|full)(?P<ftz>\.ftz)?\.(?P<kind>f32|f64)",
        len(instr.operands),
    )
    name, kind, ftz = match["name"], match["kind"], bool(match["ftz"])
    count = 2 if name == "div" else 1
    if name not in APPROXIMATE or len(instr.operands) != count + 1:
        unknown(instr)
    if kind == "f64" and name not in ("rcp", "rsqrt"):
        unknown(instr)

    def compute(*given: Array) -> Array:
        taken = [flushed(x) for x in given] if ftz else given
        function: Callable[..., Array] = APPROXIMATE[name]
        made = function(*[x.astype(np.float64) for x in taken])
        if kind == "f64" and ftz:  # no more than the upper half of the bits is known
            bits = np.asarray(made).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)
            return flushed(bits.view(np.float64))
        if kind == "f64":
            return made
        single = np.asarray(made).astype(np.float32)
        return canonical(np.asarray(flushed(single) if ftz else single))

    return pure(layout, instr, kind, (kind,) * count, compute)


def _root(layout: Layout, instr: Instr) -> Action:
    maker = _approximate if ".approx" in instr.opcode else _arithmetic(1)
    return maker(layout, instr)


RULES: dict[str, Maker] = {
    "add": _of_both("add", _arithmetic(2)),
    "sub": _of_both("sub", _arithmetic(2)),
    "mul": _of_both("mul", _arithmetic(2)),
    "div": _of_both("div", _arithmetic(2)),
    "fma": _arithmetic(3),
    "sqrt": _root,
    "rcp": _root,
    "rsqrt": _approximate,
    "ex2": _approximate,
    "lg2": _approximate,
    "sin": _approximate,
    "cos": _approximate,
    "tanh": _approximate,
    "neg": _of_both("neg", _sign("neg", lambda a, bit: a ^ bit)),
    "abs": _of_both("abs", _sign("abs", lambda a, bit: a & ~bit)),
    "copysign": _copy_sign,
    "min": _of_both("min", _extremum("min", np.fmin)),
    "max": _of_both("max", _extremum("max", np.fmax)),
    "setp": _compare,
    "testp": _test,
}
