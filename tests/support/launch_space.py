"""Every launch of a small space at once: launch expressions as arrays, one element per launch.

The leaves of expressions take few values each, those at the ends of their types included; an
expression has an array of all combinations. What a prover claims is compared with the least and
greatest element over the launches in which the assumed conditions hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tilewright.analysis.bounds.proofs import Linear
from tilewright.base.dtypes import f32, i8
from tilewright.ir.launch_expr import Expr
from tilewright.ir.signature import OutputSpec, ScalarSpec, Signature, TensorSpec

Array = np.ndarray[Any, np.dtype[Any]]

TILE = 4
"""Of the output, so that the grid has a block for every four elements."""

X0, X1, Z = ("extent", "x", 0), ("extent", "x", 1), ("extent", "z", 0)
N, M = ("scalar", "n"), ("scalar", "m")
GRID: Expr = ("grid", 0)
SIGNATURE = Signature(
    (
        OutputSpec("z", f32, (None,), (1,), (TILE,)),
        TensorSpec("x", f32, (None, None), (None, 1)),
        ScalarSpec("n", i8),
        ScalarSpec("m", i8),
    ),
    grid_rank=1,
)

VALUES: dict[Expr, tuple[int, ...]] = {
    Z: (1, 2, 4, 5, 9),
    X0: (0, 1, 2, 3, 4, 8, 12),
    X1: (0, 1, 3, 6),
    N: (-128, -5, -2, -1, 0, 1, 2, 3, 4, 6, 127),
    M: (-128, -3, -1, 0, 1, 2, 4, 5, 127),
}
"""The values of the leaves; those of an i8 end where the type does."""


def _over_all(values: Mapping[Expr, tuple[int, ...]]) -> dict[Expr, Array]:
    grids = np.meshgrid(*(np.array(v, np.int64) for v in values.values()), indexing="ij")
    return {leaf: grid.ravel() for leaf, grid in zip(values, grids, strict=True)}


SPACE: dict[Expr, Array] = _over_all(VALUES)
SPACE[GRID] = -(-SPACE[Z] // TILE)


def _divided(a: Array, b: Array) -> Array:
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "floordiv": _divided,
    "ceildiv": lambda a, b: -_divided(-a, b),
    "mod": lambda a, b: a - _divided(a, b) * b,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}
"""What launch expressions mean, said a second time: this is what they are compared with."""

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def value(expr: Expr) -> Array:
    """An expression in all launches."""
    if expr[0] == "const":
        return np.full(len(SPACE[Z]), expr[1], np.int64)
    if expr[0] == "not":
        return np.logical_not(value(expr[1]))
    if expr in SPACE:
        return SPACE[expr]
    return ARITHMETIC[expr[0]](value(expr[1]), value(expr[2]))


def form_value(form: Linear) -> Array:
    """A linear form in all launches."""
    total = np.full(len(SPACE[Z]), form.constant, np.int64)
    for part, factor in form.terms:
        total = total + value(part) * factor
    return total


def where(conditions: Iterable[Expr]) -> Array:
    """In which launches all conditions hold."""
    held = np.ones(len(SPACE[Z]), np.bool_)
    for condition in conditions:
        held &= value(condition)
    return held


# --- expressions drawn at random ------------------------------------------------------------------

LEAF = st.one_of(
    st.sampled_from((X0, X1, Z, N, M, GRID)), st.integers(-4, 9).map(lambda n: ("const", n))
)
BINARY = ("add", "sub", "mul", "floordiv", "ceildiv", "mod", "min", "max")


def _deeper(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    # A divisor is most often a number, as in kernels; then it is one with laws of its own.
    by = st.integers(-3, 6).map(lambda n: ("const", n))
    quotient = st.tuples(st.sampled_from(("floordiv", "ceildiv", "mod")), inner, by)
    return st.one_of(st.tuples(st.sampled_from(BINARY), inner, inner), quotient)


EXPRESSIONS: st.SearchStrategy[Expr] = st.recursive(LEAF, _deeper, max_leaves=5)
SMALL: st.SearchStrategy[Expr] = st.recursive(LEAF, _deeper, max_leaves=2)
CONDITIONS: st.SearchStrategy[Expr] = st.one_of(
    st.tuples(st.sampled_from(COMPARISONS), SMALL, SMALL),
    st.tuples(
        st.just("eq"),
        st.tuples(st.just("mod"), st.sampled_from((X0, X1, N)),
                  st.integers(1, 6).map(lambda n: ("const", n))),
        st.just(("const", 0)),
    ),
    st.tuples(
        st.just("and"),
        st.tuples(st.sampled_from(COMPARISONS), LEAF, SMALL),
        st.tuples(st.sampled_from(COMPARISONS), LEAF, LEAF),
    ),
)  # fmt: skip
"""Comparisons, divisibility, and two comparisons at once."""
