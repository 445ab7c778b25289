"""Rotary embedding against its formula in PyTorch, in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, numbers, torch
from tilewright import ops


def rotated(x, cos, sin, interleaved):
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    pair = a * cos - b * sin, b * cos + a * sin
    return torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "shape", [(1, 2), (5, 8), (2, 3, 7, 10), (2, 17, 80), (0, 5, 4), (3, 2050)]
)
@pytest.mark.thinned
def test_results(interleaved, dtype, shape):
    table = (shape[-2], shape[-1] // 2)
    check(
        lambda x, c, s: ops.rope(x, c, s, interleaved=interleaved),
        lambda x, c, s: rotated(x, c, s, interleaved), numbers(shape, table, table), dtype, scale=4,
    )  # fmt: skip


@pytest.mark.parametrize("interleaved", [False, True])
def test_gradients(interleaved):
    x, cos, sin = numbers((2, 3, 6), (3, 3), (3, 3))
    check_gradients(lambda x: ops.rope(x, cos, sin, interleaved=interleaved), (x,))


@pytest.mark.parametrize("tables", [1, 3])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_table_for_each_sequence(tables, dtype):
    x, cos, sin = numbers((3, 2, 5, 8), (tables, 5, 4), (tables, 5, 4))
    expected = lambda x, c, s: rotated(x, c[:, None], s[:, None], False)  # noqa: E731
    check(ops.rope, expected, (x, cos, sin), dtype, scale=4)
    swapped = x.transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(ops.rope(swapped, cos, sin), ops.rope(x, cos, sin))
    if dtype == "float64":
        check_gradients(lambda x: ops.rope(x, cos, sin), (x,))


def test_what_is_refused():
    x, table = np.ones((2, 3), "f4"), np.ones((2, 1), "f4")
    with pytest.raises(ValueError, match=r"of even depth, got the shape \(2, 3\)"):
        ops.rope(x, table, table)
    with pytest.raises(ValueError, match=r"`sin` of `rope` has the shape \(2, 1\)"):
        ops.rope(x[:, :2], table, x)
