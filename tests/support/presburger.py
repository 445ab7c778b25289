"""A decision procedure for what the prover is asked: integer sets of isl.

Sums, least and greatest values, and quotients and remainders by numbers make Presburger arithmetic,
in which every question has an answer. Products of leaves do not, and are left to brute force.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy
from hypothesis import strategies as st

from support.launch_space import TILE, X0, X1, M, N, Z
from tilewright.analysis.bounds.proofs import LARGEST, Linear
from tilewright.ir.launch_expr import Expr

NAMES: dict[Expr, str] = {X0: "x0", X1: "x1", Z: "z", N: "n", M: "m"}
RANGES = (
    f"0 <= x0 <= {LARGEST} and 0 <= x1 <= {LARGEST} and 1 <= z <= {LARGEST}"
    " and -128 <= n <= 127 and -128 <= m <= 127"
)
"""What every launch with a block sees to."""

_SYMBOLS = {"add": "+", "sub": "-", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "="}


def text(expr: Expr) -> str:
    """An expression as isl reads it."""
    name = expr[0]
    if expr in NAMES:
        return NAMES[expr]
    if name == "const":
        return str(expr[1])
    if name == "grid":
        return f"floor((z + {TILE - 1})/{TILE})"
    a, b = text(expr[1]), text(expr[2])
    if name in _SYMBOLS:
        return f"({a} {_SYMBOLS[name]} {b})"
    if name in ("min", "max"):
        return f"{name}({a}, {b})"
    if name == "mul":  # by a number, which stands first
        return f"({b} * {a})" if expr[2][0] == "const" else f"({a} * {b})"
    by = expr[2][1]
    if name == "floordiv":
        return f"floor(({a})/{by})"
    if name == "ceildiv":
        return f"floor(({a} + {by - 1})/{by})"
    assert name == "mod", f"no such expression: {expr}"
    return f"(({a}) mod {by})"


def is_true(assumed: Sequence[Expr], form: Linear) -> bool:
    """Whether a form is 0 or more in every launch that meets some conditions."""
    conditions = " and ".join((RANGES, *map(text, assumed), f"{text(form.expr())} <= -1"))
    return bool(islpy.Set(f"{{ [x0, x1, z, n, m] : {conditions} }}").is_empty())


# --- questions drawn at random --------------------------------------------------------------------

LEAF = st.sampled_from((X0, X1, Z, N, M, ("grid", 0)))
NUMBER = st.integers(-6, 9).map(lambda n: ("const", n))
BY = st.integers(1, 6).map(lambda n: ("const", n))


def _deeper(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.tuples(st.sampled_from(("add", "sub", "min", "max")), inner, inner),
        st.tuples(st.sampled_from(("floordiv", "ceildiv", "mod")), inner, BY),
        st.tuples(st.just("mul"), inner, st.integers(-3, 4).map(lambda n: ("const", n))),
    )


LINEAR: st.SearchStrategy[Expr] = st.recursive(st.one_of(LEAF, LEAF, NUMBER), _deeper, max_leaves=4)
SHORT: st.SearchStrategy[Expr] = st.recursive(st.one_of(LEAF, NUMBER), _deeper, max_leaves=2)
ASSUMED = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("lt", "le", "gt", "ge", "eq")), SHORT, SHORT),
        st.tuples(st.just("eq"), st.tuples(st.just("mod"), st.sampled_from((X0, X1, N)), BY),
                  st.just(("const", 0))),
    ),
    max_size=3,
)  # fmt: skip
