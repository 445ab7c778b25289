"""Convolutions against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, check_gradients_as, numbers, torch
from tilewright import ops

functional = torch.nn.functional
IMAGES = {
    "one": ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    "plain": ((2, 3, 9, 11), (4, 3, 3, 3), {}),
    "many channels": ((1, 33, 8, 8), (65, 33, 1, 1), {}),
    "larger than tiles": ((1, 2, 17, 67), (17, 2, 2, 3), {"padding": 1}),
    "stride": ((2, 3, 9, 11), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    "rows that no window sees": ((1, 2, 8, 9), (3, 2, 2, 2), {"stride": 3}),
    "all of it": ((2, 4, 9, 11), (6, 2, 3, 2),
                  {"stride": (2, 3), "padding": (2, 1), "dilation": (1, 2), "groups": 2}),
    "depthwise": ((2, 5, 9, 11), (5, 1, 3, 3), {"padding": 1, "groups": 5}),
    "depthwise stride": ((2, 4, 9, 11), (4, 1, 3, 2),
                         {"stride": 2, "padding": 1, "groups": 4, "dilation": (2, 1)}),
    "multiplied": ((2, 4, 7, 5), (8, 1, 3, 3), {"padding": 1, "groups": 4}),
    "no images": ((0, 3, 9, 11), (4, 3, 3, 3), {}),
}  # fmt: skip
ROWS = {
    "plain": ((3, 5, 40), (7, 5, 4), {"stride": 3, "padding": 2}),
    "one row": ((5, 130), (7, 5, 3), {"dilation": 3}),
    "causal": ((2, 4, 13), (4, 1, 4), {"padding": 3, "groups": 4}),
}
ALL = [(ops.conv2d, functional.conv2d, *case) for case in IMAGES.values()]
ALL += [(ops.conv1d, functional.conv1d, *case) for case in ROWS.values()]
NAMES = [*IMAGES, *[f"rows, {name}" for name in ROWS]]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("op", "expected", "x", "w", "named"), ALL, ids=NAMES)
@pytest.mark.thinned(8)
def test_results(op, expected, x, w, named, dtype):
    check(
        lambda x, w, b: op(x, w, b, **named), lambda x, w, b: expected(x, w, b, **named),
        numbers(x, w, w[0]), dtype, scale=20,
    )  # fmt: skip


@pytest.mark.parametrize(("op", "expected", "x", "w", "named"), ALL, ids=NAMES)
@pytest.mark.thinned(7)
def test_gradients(op, expected, x, w, named):
    inputs = numbers(x, w, w[0])
    check_gradients_as(
        lambda x, w, b: op(x, w, b, **named), lambda x, w, b: expected(x, w, b, **named), inputs
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_gradients_by_differences(groups):
    inputs = numbers((2, 4, 4, 5), (4, 4 // groups, 2, 3), 4)
    named = {"stride": (1, 2), "padding": 1, "groups": groups}
    check_gradients(lambda x, w, b: ops.conv2d(x, w, b, **named), inputs)
    check_gradients(lambda x, w: ops.conv2d(x, w, **named), inputs[:2])


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
def test_padding_by_name():
    for size in (1, 2, 3):
        inputs = numbers((1, 2, 7, 8), (3, 2, size, 4), 3)
        for named in ({"padding": "same", "dilation": 2}, {"padding": "valid"}):
            check(
                lambda x, w, b, named=named: ops.conv2d(x, w, b, **named),
                lambda x, w, b, named=named: functional.conv2d(x, w, b, **named),
                inputs,
            )


def test_numbers_of_other_groups_stay_there():
    x, w = np.ones((1, 4, 3, 3), "f4"), np.ones((4, 2, 1, 1), "f4")
    x[0, 2:] = np.inf
    found = ops.conv2d(x, w, groups=2)
    assert (found[0, :2] == 2).all() and np.isinf(found[0, 2:]).all()


def test_views():
    x, w = (t.numpy() for t in numbers((2, 9, 8, 3), (4, 3, 2, 2)))
    seen = np.moveaxis(x, -1, 1)[:, :, ::2]
    expected = functional.conv2d(torch.tensor(seen.copy()), torch.tensor(w))
    np.testing.assert_allclose(ops.conv2d(seen, w), expected, rtol=1e-10, atol=1e-10)


def test_what_is_refused():
    x, w = np.ones((1, 4, 5, 5), "f4"), np.ones((2, 4, 3, 3), "f4")
    for named, message in (
        ({"groups": 2}, "in 2 groups cannot take 4 channels"),
        ({"padding": "same", "stride": 2}, "'same' for a stride of 1 alone"),
        ({"padding": "full"}, "`padding` of `conv2d` is 'same', 'valid' or numbers; got 'full'"),
        ({"stride": 0}, "`stride` of `conv2d` is 1 or more for each axis, got 0"),
        ({"padding": -1}, "`padding` of `conv2d` is 0 or more for each axis, got -1"),
        ({"dilation": 3}, "windows of .* are larger than images"),
    ):
        with pytest.raises(ValueError, match=message):
            ops.conv2d(x, w, **named)
    with pytest.raises(ValueError, match="x of 3 or 4 axes and a weight of 4"):
        ops.conv2d(x[0, 0], w)
    with pytest.raises(ValueError, match="x of 2 or 3 axes and a weight of 3"):
        ops.conv1d(x, w)


def test_jax():
    jax = pytest.importorskip("jax")
    x, w = (jax.numpy.asarray(t.numpy(), "float32") for t in numbers((1, 3, 6, 5), (4, 3, 2, 3)))

    def expected(x, w):
        return jax.lax.conv_general_dilated(x, w, (2, 2), [(1, 1), (1, 1)])

    found = jax.jit(jax.grad(lambda x, w: (ops.conv2d(x, w, None, 2, 1) ** 2).sum(), (0, 1)))(x, w)
    wanted = jax.grad(lambda x, w: (expected(x, w) ** 2).sum(), (0, 1))(x, w)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
