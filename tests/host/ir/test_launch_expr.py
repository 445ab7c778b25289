"""Launch expressions: their value for one launch, their text, what they speak of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.ir import launch_expr
from tilewright.ir.launch_expr import BINARY, LaunchFacts, evaluate, leaves, show

FACTS = LaunchFacts({"x": (1000, 30), "out": (64,)}, {"n": 7, "eps": 0.5}, (4, 2, 1))

X1 = ("extent", "x", 1)
N = ("scalar", "n")


@pytest.mark.parametrize(
    ("expr", "value", "text"),
    [
        (("const", 3), 3, "3"),
        (("extent", "x", 0), 1000, "x.shape[0]"),
        (("scalar", "eps"), 0.5, "eps"),
        (("grid", 1), 2, "num_tile_blocks(1)"),
        (("grid_dim", 0), 1, "grid_dim(0)"),  # x is the last axis
        (("grid_dim", 1), 2, "grid_dim(1)"),
        (("grid_dim", 2), 4, "grid_dim(2)"),
        (("add", X1, N), 37, "x.shape[1] + n"),
        (("mul", ("sub", X1, N), ("const", 2)), 46, "(x.shape[1] - n) * 2"),
        (("floordiv", X1, N), 4, "x.shape[1] // n"),
        (("mod", X1, N), 2, "x.shape[1] % n"),
        (("ceildiv", X1, N), 5, "ceil_div(x.shape[1], n)"),
        (("max", ("min", X1, N), ("const", 1)), 7, "max(min(x.shape[1], n), 1)"),
        (("and", ("lt", N, X1), ("not", ("eq", N, X1))), True,
         "(n < x.shape[1]) and not (n == x.shape[1])"),
        (("or", ("ge", N, X1), ("ne", N, X1)), True, "(n >= x.shape[1]) or (n != x.shape[1])"),
    ],
)  # fmt: skip
def test_value_and_text(expr, value, text):
    assert evaluate(expr, FACTS) == value
    assert show(expr) == text


@pytest.mark.parametrize(("name", "value"), [("floordiv", 0), ("ceildiv", 0), ("mod", 30)])
def test_division_by_zero_has_the_kernels_value(name, value):
    assert evaluate((name, X1, ("const", 0)), FACTS) == value


def test_leaves_come_once_and_in_order():
    expr = ("and", ("lt", N, X1), ("eq", ("mul", X1, ("const", 2)), ("grid", 0)))
    assert leaves(expr) == [N, X1, ("grid", 0)]
    assert leaves(("const", 1)) == []


def test_what_is_no_expression_is_refused():
    with pytest.raises(ValueError, match="not a launch expression"):
        evaluate(("sqrt", N), FACTS)


ATOMS = st.sampled_from([("const", 0), ("const", 3), X1, N, ("grid", 0)])
EXPRS = st.recursive(
    ATOMS, lambda e: st.tuples(st.sampled_from(["add", "sub", "mul", "floordiv", "mod"]), e, e)
)


@given(EXPRS)
def test_the_text_means_what_the_value_says(expr):
    """Where nothing divides by zero the text, read by Python, has the same value."""

    class Tensor:
        shape = FACTS.extents["x"]

    scope = {"x": Tensor, "n": 7, "num_tile_blocks": lambda axis: FACTS.grid[axis]}
    try:
        expected = eval(show(expr), scope)
    except ZeroDivisionError:
        return
    assert evaluate(expr, FACTS) == expected


def test_every_form_is_documented():
    assert all(f'"{name}"' in launch_expr.__doc__ for name in BINARY)
