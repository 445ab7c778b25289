from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, run, tensor
from tilewright.base.errors import Code, CompileError
from tilewright.ir.launch_expr import show


def at_launch(kernel, *specs):
    return [show(check.expr) for check in ir_of(kernel, *specs).launch_checks]


def test_shapes_are_compared_axis_by_axis():
    def kernel(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
        assert x.shape == y.shape

    found = at_launch(kernel, out((4,)), tensor(2), tensor(2))
    assert found == ["x.shape[0] == y.shape[0]", "x.shape[1] == y.shape[1]"]


def test_constants_among_the_items_are_compared_at_once():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert (3, x.shape[0], (1, z.shape[0])) == (3, x.shape[1], (1, 4))

    assert at_launch(kernel, out((4,)), tensor(2)) == ["x.shape[0] == x.shape[1]"]


@pytest.mark.parametrize("other", [(4, 5, 6), (), [4, 5]])
def test_tuples_that_cannot_be_equal_are_a_constant(other):
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert x.shape != other
        assert not (x.shape == other)  # noqa: SIM201

    assert at_launch(kernel, out((4,)), tensor(2)) == []


def test_the_kernel_compares_what_it_alone_knows():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        here = (tl.block_id(0), x.shape[0])
        value = 1.0
        if here == (1, 8):
            value = 2.0
        elif here != (0, 8):
            value = 3.0
        z.store(tl.full((4,), value, z.dtype))

    z = np.full(12, np.nan, np.float32)
    run(ir_of(kernel, out((4,)), tensor(1)), z, np.zeros(8, np.float32), grid=(3, 1, 1))
    assert z.tolist() == [1.0] * 4 + [2.0] * 4 + [3.0] * 4


def test_tuples_of_tiles_have_no_equality():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        tile = tl.load_tile_like(x, z)
        if (tile, 1) == (tile, 1):
            z.store(tile)

    with pytest.raises(CompileError, match="tuples of tiles") as caught:
        ir_of(kernel, out((4,)), tensor(1))
    assert caught.value.code is Code.TYPE
    assert caught.value.hint == "compare tiles element by element: (x == a) & (y == b)"
