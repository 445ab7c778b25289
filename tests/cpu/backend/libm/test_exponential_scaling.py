"""Powers of two: rounded once, in registers of every size, with and without the instruction."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import run_symbol
from support.numbers import fresh_rng
from tilewright.backend.libm.exponential import nearest, register_lanes, scale, scale_normal
from tilewright.backend.libm.library import Library
from tilewright.backend.llvm.builder import FunctionBody, define
from tilewright.backend.llvm.object import host_target

WAYS = sorted({False, host_target().scales})


def run(write, x, lanes, scales=False):
    """Compile a function of one vector and run it."""
    elem = {"f4": "float", "f8": "double"}[x.dtype.str[1:]]
    text, body = define("@f", (elem,), lanes, write, scales=scales)
    library = Library()
    library._definitions["@f"] = text
    library._declarations |= body.declarations
    return run_symbol(library, "@f", elem, elem, lanes, (x,))


@pytest.mark.parametrize("scales", WAYS)
def test_subnormal_results_are_rounded_once(scales):
    """1.5 * 2^-149 is a tie and goes to even; a product in two roundings would not."""
    x = np.array([1.5, 1.25, 1.75, 1.0], np.float32)
    got = run(lambda v: scale(v, nearest(v * 0.0 - 149.0)), x, 4, scales)
    assert np.array_equal(got / np.finfo(np.float32).smallest_subnormal, [2, 1, 2, 1])


@pytest.mark.parametrize("scales", WAYS)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize(("dtype", "limit"), [("f4", 150), ("f8", 1075)])
def test_every_exponent_in_every_width(lanes, dtype, limit, scales):
    n = fresh_rng().permutation(np.arange(-limit, limit + 1)).astype(dtype)
    got = run(lambda v: scale(v * 0.0 + 1.25, nearest(v)), n, lanes, scales)
    with np.errstate(over="ignore"):
        assert np.array_equal(got, np.ldexp(n.dtype.type(1.25), n.astype(int)))


def test_nearest_rounds_products_to_even():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 100.26, -100.26, 3.0], np.float32)
    assert np.array_equal(run(lambda v: nearest(v).number, x, 8), np.rint(x))
    assert np.array_equal(run(lambda v: nearest(v, 2.0).number, x, 8), np.rint(2 * x))
    assert np.isnan(run(lambda v: nearest(v).number, x * np.nan, 8)).all()


def test_normal_powers_take_one_product():
    n = np.arange(-126, 128).astype(np.float32)
    got = run(lambda v: scale_normal(v * 0.0 + 1.5, nearest(v)), n, 8)
    with np.errstate(over="ignore"):
        assert np.array_equal(got, np.ldexp(np.float32(1.5), n.astype(int)))


def test_registers_that_lanes_fill():
    lanes = {n: register_lanes(FunctionBody().constant("float", n, 1.0)) for n in (1, 2, 4, 8, 64)}
    assert lanes == {1: 0, 2: 0, 4: 4, 8: 8, 64: 16}
