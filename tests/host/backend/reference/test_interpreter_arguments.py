"""Arguments that fit their parameters, and messages for those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import (
    FLOATS,
    INTS,
    bool_,
    f8e5m2,
    f32,
    i32,
    i64,
    tf32,
    u64,
)  # fmt: skip
from tilewright.base.errors import ShapeError


def scalar_kernel(dtype):
    k = Kernel()
    value, z = k.scalar("value", dtype), k.output("z", dtype, 0)
    k.store(value, z)
    return k.finish()


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, bool_, f8e5m2])
@pytest.mark.parametrize("given", [1, np.int64(1), np.array(1)])
def test_scalars(dtype, given):
    z = poisoned(dtype, ())
    checked(scalar_kernel(dtype), [given, z])
    assert z == 1


def test_scalars_are_rounded_to_their_type():
    z = poisoned(f32, ())
    checked(scalar_kernel(f32), [0.1, z])
    assert z == np.float32(0.1)
    z = poisoned(tf32, ())
    checked(scalar_kernel(tf32), [1 + 2.0**-12, z])
    assert z == 1
    z = poisoned(u64, ())
    checked(scalar_kernel(u64), [2**64 - 1, z])
    assert int(z) == 2**64 - 1


def tensor_kernel(shape=2, *, mutable=False):
    k = Kernel()
    if mutable:
        k.output("z", f32, shape)
    else:
        k.tensor("x", f32, shape)
    return k.finish()


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros((2, 3)), "float64"),
        (np.zeros(6, np.float32), r"shape \(6,\)"),
        (np.zeros((2, 4), np.float32), r"shape \(2, 4\)"),
        ([[1.0]], "list"),
    ],
)
def test_arrays_that_do_not_fit(array, got):
    with pytest.raises(ShapeError, match=got):
        run(tensor_kernel((None, 3)), [array], (1,))


def test_outputs_must_be_writable():
    array = np.zeros((2, 2), np.float32)
    array.flags.writeable = False
    run(tensor_kernel(), [array], (1,))
    with pytest.raises(ShapeError, match="writable"):
        run(tensor_kernel(mutable=True), [array], (1,))


def test_the_number_of_arguments():
    with pytest.raises(ShapeError, match="wrong number of arguments"):
        run(tensor_kernel(), [], (1,))


def test_unknown_names():
    with pytest.raises(ShapeError, match="no parameter y"):
        run(tensor_kernel(), [np.zeros((1, 1), np.float32)], (1,), uninitialized=frozenset("y"))


def test_static_strides_are_held_to_where_they_matter():
    k = Kernel()
    x = k.tensor("x", i32, 2)
    x.type = type(x.type)(i32, (None, None), (None, 1), False, "x")
    func = k.finish()
    run(func, [np.zeros((4, 4), np.int32)], (1,))
    run(func, [np.zeros((4, 8), np.int32)[:, :4]], (1,))
    run(func, [np.zeros((4, 8), np.int32)[:, ::8]], (1,))
    run(func, [np.zeros((0, 8), np.int32)[:, ::2]], (1,))
    with pytest.raises(ShapeError, match="strides"):
        run(func, [np.zeros((4, 8), np.int32)[:, ::2]], (1,))


def test_pointers_are_addresses_or_arrays():
    k = Kernel()
    p, z = k.pointer("p", f32), k.output("z", i64, 0)
    k.store(k.emit("ptr_to_int", p), z)
    func = k.finish()
    data, z = np.zeros(4, np.float32), poisoned(i64, ())
    for given in (data, data.ctypes.data, np.int64(data.ctypes.data)):
        checked(func, [given, z])
        assert int(z) == data.ctypes.data
