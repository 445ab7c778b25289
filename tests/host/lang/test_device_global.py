from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32, i32


def test_what_a_global_says_of_itself():
    one, many = tl.Global(i32), tl.Global(f32, shape=(2, 8))
    assert (one.dtype, one.shape, many.dtype, many.shape) == (i32, (), f32, (2, 8))
    assert repr(one) == "Global(i32, shape=())"
    assert repr(many) == "Global(f32, shape=(2, 8))"


def test_dtypes_of_others_are_accepted():
    assert tl.Global(np.float16).dtype is f16
    assert tl.Global("int32").dtype is i32


def test_the_host_reads_and_writes_it():
    g = tl.Global(i32, 7)
    assert g.to_numpy().tolist() == 7
    g.copy_from(-3)
    assert g.to_numpy().tolist() == -3
    g.reset()
    assert g.to_numpy().tolist() == 7


def test_each_device_has_its_own():
    g = tl.Global(i32, 7)
    g.copy_from(1, device="cpu")
    g.copy_from(2, device="reference")
    with tw.device("reference"):
        assert g.to_numpy() == 2
    assert (g.to_numpy(device="cpu"), g.to_numpy(device="reference")) == (1, 2)
    g.reset(device="reference")
    assert (g.to_numpy(device="cpu"), g.to_numpy(device="reference")) == (1, 7)


@pytest.mark.parametrize(
    ("method", "args", "instead"),
    [
        ("load", (), "g.to_numpy()"), ("store", (1,), "g.copy_from(value)"),
        ("atomic_add", (1,), "g.copy_from(g.to_numpy() + value)"),
    ],
)  # fmt: skip
def test_methods_of_kernels_are_refused_on_the_host(method, args, instead):
    with pytest.raises(TypeError) as caught:
        getattr(tl.Global(i32), method)(*args)
    message, hint = str(caught.value).splitlines()
    assert message == f"Global.{method} can only be used inside a kernel"
    assert hint == f"  hint: on the host use {instead}"


def test_a_global_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="no truth value"):
        bool(tl.Global(i32))
