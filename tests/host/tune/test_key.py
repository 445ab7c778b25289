"""Keys: which calls of a tuned kernel share a choice."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f8e4m3fn, f32, i32
from tilewright.tune.key import follows_from_layouts, home_of, layouts_of, plain, reader


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    z.store(tl.load_tile_like(x, z) * n)


PARAMETERS = scale.source.parameters
SPACE = [tw.Config(tile=(4, 4))]


def key(rule, *args):
    return reader("scale", PARAMETERS, rule)(args)


def args(n=7):
    return tw.meta((3, 5)), tw.meta((6, 5)), n


def test_all_shapes_and_types_by_default():
    assert key(None, *args()) == (((3, 5), f32), ((6, 5), f32))
    assert key(None, *args(8)) == key(None, *args(9))


def test_arrays_in_tuples_count_as_well():
    x, y = np.ones(3), np.ones(5, "f4")
    key = reader("kernel", (), None)
    assert key((x, (x, y))) == key((x, [x, y])) != key((x, (x, x)))
    assert key((x, ())) != key((x, (x,)))


def test_facts():
    rule = ["x.shape", "x.shape[0]", "z.shape[-1]", "x.dtype", "n", "x.ndim"]
    assert key(rule, *args()) == ((6, 5), 6, 5, f32, 7, 2)


def test_a_function_puts_shapes_into_buckets():
    def rule(n, x):
        return x.shape[0] // 4, n

    assert key(rule, *args()) == (1, 7)


def test_which_follow_from_layouts():
    assert follows_from_layouts(PARAMETERS, None)
    assert follows_from_layouts(PARAMETERS, ["x.shape[0]", "z.dtype"])
    assert not follows_from_layouts(PARAMETERS, ["x.shape", "n"])
    assert not follows_from_layouts(PARAMETERS, lambda x: x.shape)


def test_layouts_are_those_of_tensors_alone():
    x, y = tw.zeros((3, 5)).sync(), tw.zeros((3, 5)).sync()
    other = tw.zeros((5, 3)).sync()
    assert layouts_of((x.borrow_mut(), y), (0, 1)) == layouts_of((y, x), (0, 1))
    assert layouts_of((x, y), (0, 1)) != layouts_of((x, other), (0, 1))
    assert layouts_of((x, np.zeros(3)), (0, 1)) is None


def test_the_device_of_a_call():
    x = tw.zeros((3,)).sync()
    assert home_of((1, x)) is x.device
    assert home_of((1, 2.0)) is None


def test_keys_as_json():
    assert plain("k", ((1, 2.5), f32, np.dtype("f4"), "a", None, True)) == [
        [1, 2.5], "dtype f32", "dtype f32", "a", None, True,
    ]  # fmt: skip
    assert plain("k", np.dtype(ml_dtypes.bfloat16)) == "dtype bf16"
    assert plain("k", np.dtype(ml_dtypes.float8_e4m3fn)) == plain("k", f8e4m3fn)


WRONG = {
    "an-unknown-parameter": lambda: tw.autotune(SPACE, key=["y.shape"])(scale),
    "an-unknown-fact": lambda: tw.autotune(SPACE, key=["x.length"])(scale),
    "a-fact-that-is-no-text": lambda: tw.autotune(SPACE, key=[3])(scale),
    "one-text": lambda: tw.autotune(SPACE, key="x.shape")(scale),
    "a-function-of-something-else": lambda: tw.autotune(SPACE, key=lambda y: y)(scale),
    "a-value-that-is-no-key": lambda: plain("scale", object),
}


@pytest.mark.parametrize("name", WRONG)
def test_message(name, golden):
    with pytest.raises((TypeError, ValueError)) as caught:
        WRONG[name]()
    golden(f"{type(caught.value).__name__}: {caught.value}")
