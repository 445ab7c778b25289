"""Which divisions become products with a reciprocal, and which stay."""

from __future__ import annotations

import pytest

from support.ir import Kernel
from tilewright.backend.cpu.loopnest.legalize import share_reciprocals
from tilewright.base.dtypes import bool_, f16, f32, f64
from tilewright.ir.attrs import Rounding
from tilewright.ir.printer import print_func

FULL = Rounding.FULL


def divide(small, shape=(4, 32), dtype=f32, rounding=FULL, times=1):
    """A tile divided by a smaller one that is repeated."""
    k = Kernel()
    x, y, z = k.tensor("x", dtype, 2), k.tensor("y", dtype, 2), k.output("z", dtype, 2)
    total = k.load(x, shape)
    for _ in range(times):
        divisor = k.emit("broadcast", k.load(y, small), shape=shape)
        total = k.emit("divf", total, divisor, rounding=rounding)
    k.store(total, z)
    return k.finish()


def divisions(func):
    return [op.result.tile.shape for op in func.walk() if op.name == "divf"]


def test_rows_share_a_reciprocal(golden):
    golden(print_func(share_reciprocals(divide((4, 1)))))


@pytest.mark.parametrize(
    ("small", "shape"), [((4, 1), (4, 32)), ((1, 1), (4, 32)), ((1, 1), (8, 1)), ((8, 1), (8, 8))]
)
def test_many_numbers_are_multiplied(small, shape):
    assert divisions(share_reciprocals(divide(small, shape))) == [small]


@pytest.mark.parametrize(
    ("small", "shape"), [((1, 32), (4, 32)), ((4, 1), (4, 4)), ((1, 1), (4, 1)), ((8, 1), (8, 1))]
)
def test_lanes_of_their_own_or_few_numbers_are_divided(small, shape):
    assert divisions(share_reciprocals(divide(small, shape))) == [shape]


@pytest.mark.parametrize("change", [
    {"rounding": Rounding.NEAREST_EVEN}, {"rounding": Rounding.ZERO},
    {"dtype": f16, "rounding": Rounding.NEAREST_EVEN},
    {"dtype": f64, "rounding": Rounding.NEAREST_EVEN},
])  # fmt: skip
def test_correctly_rounded_divisions_stay(change):
    assert divisions(share_reciprocals(divide((4, 1), **change))) == [(4, 32)]


def test_scalars_and_constants_divide():
    """A tile divided by a number is most often waiting for memory, and is what NumPy gives."""
    k = Kernel()
    x, y, z = k.tensor("x", f32, 2), k.scalar("y", f32), k.output("z", f32, 2)
    scalar = k.emit("broadcast", k.emit("reshape", y, shape=(1, 1)), shape=(4, 32))
    constant = k.constant(3.0, f32, (4, 32))
    once = k.emit("divf", k.load(x, (4, 32)), constant, rounding=FULL)
    k.store(k.emit("divf", once, scalar, rounding=FULL), z)
    assert divisions(share_reciprocals(k.finish())) == [(4, 32), (4, 32)]


def test_one_reciprocal_for_several_divisions():
    k = Kernel()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2)
    divisor = k.emit("broadcast", k.load(y, (4, 1)), shape=(4, 32))
    once = k.emit("divf", k.load(x, (4, 32)), divisor, rounding=FULL)
    k.store(k.emit("divf", once, divisor, rounding=FULL), z)
    assert divisions(share_reciprocals(k.finish())) == [(4, 1)]


def test_a_reciprocal_stays_in_its_block():
    """What one branch computed is not there in the other."""
    k = Kernel()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2)
    tile = k.load(x, (4, 32))
    divisor = k.emit("broadcast", k.load(y, (4, 1)), shape=(4, 32))
    branches = []
    for _ in range(2):
        with k.region() as block:
            k.op("yield", [k.emit("divf", tile, divisor, rounding=FULL)])
        branches.append(block)
    flag = k.constant(True, bool_)
    (result,) = k.op("if", flag, regions=branches, types=(tile.type,)).results
    k.store(result, z)
    assert divisions(share_reciprocals(k.finish())) == [(4, 1), (4, 1)]
