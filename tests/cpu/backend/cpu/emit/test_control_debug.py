"""Assertions and prints: what is recorded, in which form, and what happens without room."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, Native
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, bool_, f4e2m1fnx2, f32, i32, i64


@pytest.mark.thinned(20)
@pytest.mark.parametrize("dtype", [d for d in ALL if d is not f4e2m1fnx2])
@pytest.mark.parametrize("shape", [(), (1,), (4, 8)])
def test_prints_of_every_dtype(dtype, shape):
    top = 2 if dtype is bool_ else 16 if dtype.bits == 4 else 256
    raw = fresh_rng().integers(0, top, (*shape, dtype.itemsize), dtype=np.uint8)
    x = raw.view(dtype.np)[..., 0] if shape else raw.view(dtype.np).reshape(())
    k = Dense()
    tile = k.load(k.tensor("x", dtype, len(shape)), shape)
    k.op("print", [k.block_id(0), tile], template=("block ", (0, ""), ": ", (1, "")))
    (record,) = Native(k.finish())([x]).printed
    assert record.site.kind == "print"
    assert record.block == (0, 0, 0)
    assert record.values[0] == 0
    assert record.values[1].tobytes() == x.tobytes()


def test_prints_of_computed_and_packed_tiles():
    k = Dense()
    x = k.load(k.tensor("x", f32, 2), (8, 128))
    turned = k.emit("permute", k.emit("addf", x, x), order=(1, 0))
    product = k.emit("mmaf", x, turned, k.constant(0.0, f32, (8, 8)))
    k.op("print", [turned, product, x], template=((0, ""), (1, ""), (2, "")))
    data = fresh_rng().integers(-4, 4, (8, 128)).astype("f4")
    (record,) = Native(k.finish())([data]).printed
    twice = (data + data).T
    for got, wanted in zip(record.values, (twice, data @ twice, data), strict=True):
        assert np.array_equal(got, wanted)


def test_each_block_prints_in_order():
    k = Dense()
    i = k.block_id(0)
    for n in range(3):
        k.op("print", [i, k.i32(n)], template=((0, ""), (1, "")))
    records = Native(k.finish())([], (50,)).printed
    assert [tuple(int(v) for v in r.values) for r in records] == [
        (b, n) for b in range(50) for n in range(3)
    ]


def test_what_does_not_fit_is_not_written():
    k = Dense()
    k.op("print", [k.block_id(0)], template=((0, ""),))
    native = Native(k.finish())
    assert len(native([], (10,), print_capacity=100).printed) == 3
    assert native([], (10,), print_capacity=0).printed == ()


def test_failed_assertions_name_their_message_and_block():
    k = Dense()
    n, z = k.scalar("n", i32), k.output("z", i64, 1)
    k.line(12, "assert n > block")
    ok = k.emit("cmpi", k.block_id(1), n, predicate="lt")
    k.op("assert", ok, message="n is too small")
    k.store(k.constant(5, i64, (1,)), z)
    native = Native(k.finish())
    z = poisoned(i64, (1,))
    assert native([1, z], (1, 1, 1)).failure is None
    failure = native([0, z], (1, 1, 1)).failure
    assert failure is not None
    assert (failure.site.message, failure.site.span.line) == ("n is too small", 12)
    assert failure.block == (0, 0, 0)
    assert z[0] == 5, "the block goes on"


def test_the_first_failure_of_a_block_is_kept():
    k = Dense()
    n = k.scalar("n", i32)
    for limit in (10, 5, 7):
        k.emit("check", n, k.i32(limit), tensor=f"t{limit}", axis=0)
    native = Native(k.finish())
    assert native([4]).failure is None
    for value, tensor in ((6, "t5"), (8, "t5"), (12, "t10")):
        failure = native([value]).failure
        assert failure is not None
        assert (failure.site.tensor, failure.index) == (tensor, value)
