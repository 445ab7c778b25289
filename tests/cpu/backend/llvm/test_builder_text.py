"""The writer: types, constants, operators, control flow."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import run_symbol
from tilewright.backend.libm.library import Library
from tilewright.backend.llvm.builder import (
    FunctionBody,
    any_lane,
    branch,
    define,
    literal,
    repeat,
    vector,
    where,
)


def test_types():
    assert vector("float", 8) == "<8 x float>"
    assert vector("i32", 1) == "i32"


def test_constants_are_exact():
    assert literal("double", 0.1) == "0x3FB999999999999A"
    assert literal("float", 0.1) == "0x3FB99999A0000000"
    assert literal("i32", -7) == "-7"
    assert (
        str(FunctionBody().constant("float", 4, 1.0))
        == "<4 x float> splat (float 0x3FF0000000000000)"
    )
    assert str(FunctionBody().constant("float", 1, 1.0)) == "float 0x3FF0000000000000"


def test_operands_must_have_one_type():
    body = FunctionBody()
    with pytest.raises(TypeError, match="operands differ: <4 x float> and <2 x float>"):
        _ = body.constant("float", 4, 1.0) + body.constant("float", 2, 1.0)


def test_operators_write_instructions():
    text, _ = define("@f", ("float",), 4, lambda x: 2.0 - x * x)
    assert text.splitlines() == [
        "define internal <4 x float> @f(<4 x float> %a0) alwaysinline nounwind {",
        "entry:",
        "  %v1 = fmul <4 x float> %a0, %a0",
        "  %v2 = fsub <4 x float> splat (float 0x4000000000000000), %v1",
        "  ret <4 x float> %v2",
        "}",
    ]


def run(write, x, lanes):
    """Compile a function of one f32 vector and run it."""
    text, body = define("@f", ("float",), lanes, write)
    library = Library()
    library._definitions["@f"] = text
    library._declarations |= body.declarations
    return run_symbol(library, "@f", "float", "float", lanes, (x,))


@pytest.mark.parametrize("lanes", [1, 4])
def test_branch(lanes):
    def write(x):
        (result,) = branch(any_lane(x > 5.0), (x,), lambda: (x * 10.0,))
        return result

    x = np.array([1, 2, 3, 4, 5, 6, 7, 0], np.float32)
    expected = np.where(x > 5, x * 10, x) if lanes == 1 else [1, 2, 3, 4, 50, 60, 70, 0]
    assert np.array_equal(run(write, x, lanes), expected)


@pytest.mark.parametrize("lanes", [1, 4])
def test_repeat(lanes):
    """Halve until all are below 1."""

    def write(x):
        def step(value):
            half = where(value >= 1.0, value * 0.5, value)
            return any_lane(half >= 1.0), (half,)

        return repeat((x,), step)[0]

    x = np.array([0.5, 3, 100, 1], np.float32)
    assert np.array_equal(run(write, x, lanes), [0.5, 0.75, 0.78125, 0.5])
