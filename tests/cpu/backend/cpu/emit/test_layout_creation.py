"""Constants and iota of every dtype, against the reference."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, assert_kernel
from tilewright.base.dtypes import (
    ALL,
    INTS,
    bf16,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    int_range,
    tf32,
)  # fmt: skip

VALUES = {
    bool_: (True, False),
    f16: (1.5, -0.0, inf, nan, 65504.0), bf16: (1.5, -inf, nan, 2.0**-133),
    f32: (0.1, nan, inf, -0.0, 2.0**-149), f64: (0.1, -inf, nan, 5e-324),
    tf32: (1.5, nan), f8e4m3fn: (448.0, nan), f8e5m2: (inf, 0.25), f8e8m0fnu: (2.0**-127, nan),
    f4e2m1fn: (6.0, -0.5), f4e2m1fnx2: (0, 255),
}  # fmt: skip


@pytest.mark.thinned(20)
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (1,), (64,), (4, 16)])
def test_constants(dtype, shape):
    k = Dense()
    values = VALUES.get(dtype) or int_range(dtype)
    outputs = []
    for i, value in enumerate(values):
        exact = value if dtype.kind in "iubp" else float(np.asarray(value).astype(dtype.np))
        k.store(k.constant(exact, dtype, shape), k.output(f"z{i}", dtype, len(shape)), tile=shape)
        outputs.append(poisoned(dtype, shape))
    assert_kernel(k.finish(), [], outputs)


@pytest.mark.thinned(12)
@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("size", [1, 2, 64, 1024])
def test_iota_wraps(dtype, size):
    k = Dense()
    k.store(k.emit("iota", size=size, dtype=dtype), k.output("z", dtype, 1), tile=(size,))
    (z,) = assert_kernel(k.finish(), [], [poisoned(dtype, (size,))])
    assert np.array_equal(z, np.arange(size).astype(dtype.np))


def test_iota_along_an_outer_axis():
    """Positions that are not along the lanes."""
    k = Dense()
    rows = k.emit("reshape", k.emit("iota", size=8, dtype=i8), shape=(8, 1))
    k.store(k.emit("broadcast", rows, shape=(8, 32)), k.output("z", i8, 2), tile=(8, 32))
    assert_kernel(k.finish(), [], [poisoned(i8, (8, 32))])
