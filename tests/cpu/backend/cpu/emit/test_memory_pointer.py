"""Raw pointers: address arithmetic, loads and stores, masked and scattered, of every dtype."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, Native
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, INTS, bool_, f8e8m0fnu, f32, i8, i32, i64
from tilewright.ir.attrs import Ordering, Predicate
from tilewright.ir.types import PtrType


def random_bits(dtype, count):
    top = 2 if dtype is bool_ else 16 if dtype.bits == 4 else 256
    raw = fresh_rng().integers(0, top, (count, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[:, 0]


@pytest.mark.thinned(20)
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("count", [1, 16, 64])
def test_copies(dtype, count):
    k = Dense()
    p, q = k.pointer("p", dtype), k.pointer("q", dtype)
    loaded = k.emit("load_ptr", k.pointers(p, count))
    k.op("store_ptr", k.pointers(q, count), loaded)
    x, z = random_bits(dtype, count), poisoned(dtype, (count,))
    Native(k.finish())([x, z])
    assert x.tobytes() == z.tobytes()


@pytest.mark.parametrize("dtype", [f32, i8, bool_, f8e8m0fnu])
def test_masks_and_padding(dtype):
    k = Dense()
    p, q = k.pointer("p", dtype), k.pointer("q", dtype)
    places, mask, padding = (
        k.tensor("places", i32, 1),
        k.tensor("m", bool_, 1),
        k.tensor("r", dtype, 1),
    )
    spots = k.load(places, (64,))
    source = k.emit("offset", k.broadcast(p, (64,)), spots)
    keep, rest = k.load(mask, (64,)), k.load(padding, (64,))
    loaded = k.emit("load_ptr", source, keep, rest)
    plain = k.emit("load_ptr", source, keep)
    target = k.emit("offset", k.broadcast(q, (64,)), spots)
    k.op("store_ptr", target, loaded, keep)
    z = k.output("z", dtype, 1)
    k.store(plain, z)
    rng = fresh_rng()
    x, r = random_bits(dtype, 100), random_bits(dtype, 64)
    spots = rng.permutation(100)[:64].astype("i4")
    m = rng.integers(0, 2, 64).astype(np.bool_)
    spots[~m] = 2**30  # never touched
    out, z = poisoned(dtype, (100,)), poisoned(dtype, (64,))
    expected = out.copy()
    expected[spots[m]] = x[spots[m]]
    Native(k.finish())([x, out, spots, m, r, z])
    assert out.tobytes() == expected.tobytes()
    inside = np.where(m, spots, 0)
    bits = x.view(f"u{dtype.itemsize}")[inside]
    assert np.array_equal(z.view(bits.dtype), np.where(m, bits, 0)), "zero bits where not mask"


@pytest.mark.parametrize("by", INTS)
def test_offsets_of_every_integer(by):
    k = Dense()
    p = k.pointer("p", i64)
    tile = k.emit("iota", size=16, dtype=by)
    moved = k.emit("offset", k.broadcast(p, (16,)), tile)
    k.op("store_ptr", moved, k.emit("ptr_to_int", moved))
    z = poisoned(i64, (16,))
    Native(k.finish())([z])
    base = z.__array_interface__["data"][0]
    assert np.array_equal(z, base + 8 * np.arange(16))


def test_negative_offsets():
    k = Dense()
    p, n, z = k.pointer("p", i32), k.scalar("n", i32), k.output("z", i32, 0)
    k.store(k.emit("load_ptr", k.emit("offset", p, n)), z)
    data, z = np.arange(8, dtype="i4"), poisoned(i32, ())
    Native(k.finish())([data[4:], -3, z])
    assert z == 1


def test_casts_of_pointers():
    k = Dense()
    p, z = k.pointer("p", f32), k.output("z", i8, 1)
    as_bytes = k.emit("ptr_to_ptr", p, to=i8)
    address = k.emit("ptr_to_int", as_bytes)
    back = k.emit("int_to_ptr", address, to=i8)
    assert back.tile.elem == PtrType(i8)
    k.store(k.emit("load_ptr", k.pointers(back, 16)), z)
    data, z = fresh_rng().standard_normal(4).astype("f4"), poisoned(i8, (16,))
    Native(k.finish())([data, z])
    assert z.tobytes() == data.tobytes()


def test_scalar_pointers_may_be_chosen_and_carried():
    k = Dense()
    p, q, flag = k.pointer("p", i32), k.pointer("q", i32), k.scalar("flag", bool_)
    chosen = k.emit("select", flag, p, q)
    with k.region(k.i32(0).type, chosen.type) as body:
        at, pointer = body.args
        k.op("store_ptr", pointer, at)
        k.op("continue", [k.emit("offset", pointer, k.i32(1))])
    k.op("for", k.i32(0), k.i32(5), k.i32(1), [chosen], regions=[body])
    native = Native(k.finish())
    x, y = np.zeros(5, "i4"), np.zeros(5, "i4")
    native([x, y, False])
    assert np.array_equal(y, np.arange(5))
    assert not x.any()


def test_stores_and_loads_through_pointers_keep_their_order():
    k = Dense()
    p = k.pointer("p", i32)
    spots = k.pointers(p, 16)
    old = k.emit("load_ptr", spots)
    k.op("store_ptr", spots, k.emit("addi", old, old))
    new = k.emit("load_ptr", spots)
    k.op("store_ptr", k.emit("offset", spots, k.constant(16, i32, (16,))), k.emit("subi", new, old))
    data = fresh_rng().integers(-99, 99, 32).astype("i4")
    start = data.copy()
    Native(k.finish())([data])
    assert np.array_equal(data[:16], 2 * start[:16])
    assert np.array_equal(data[16:], start[:16])


@pytest.mark.parametrize("dtype", [i32, i64, f32, i8, bool_])
def test_ordered_loads_and_stores(dtype):
    """One element at a time, and right."""
    k = Dense()
    p, q = k.pointer("p", dtype), k.pointer("q", dtype)
    loaded = k.emit("load_ptr", k.pointers(p, 16), ordering=Ordering.ACQUIRE)
    k.op("store_ptr", k.pointers(q, 16), loaded, ordering=Ordering.RELEASE)
    x, z = random_bits(dtype, 16), poisoned(dtype, (16,))
    Native(k.finish())([x, z])
    assert x.tobytes() == z.tobytes()


def test_a_block_waits_for_another():
    """Block 1 spins on a flag that block 0 sets after its data: both must be seen in order."""
    k = Dense()
    flag, data, z = k.pointer("flag", i32), k.pointer("data", i32), k.output("z", i32, 1)
    first = k.emit("cmpi", k.block_id(0), k.i32(0), predicate=Predicate.EQ)
    places = k.pointers(data, 16)
    with k.region() as writer:
        k.op("store_ptr", places, k.constant(7, i32, (16,)))
        k.op("store_ptr", flag, k.i32(1), ordering=Ordering.RELEASE)
        k.op("yield", [])
    with k.region() as reader:
        with k.region() as spin:
            seen = k.emit("load_ptr", flag, ordering=Ordering.ACQUIRE)
            ready = k.emit("cmpi", seen, k.i32(1), predicate=Predicate.EQ)
            with k.region() as done:
                k.op("break", [])
            with k.region() as again:
                k.op("yield", [])
            k.op("if", ready, regions=[done, again])
            k.op("continue", [])
        k.op("loop", [], regions=[spin])
        k.store(k.emit("load_ptr", places), z)
        k.op("yield", [])
    k.op("if", first, regions=[writer, reader])
    native = Native(k.finish())
    for _ in range(50):
        flags, values, z = np.zeros(1, "i4"), np.zeros(16, "i4"), poisoned(i32, (16,))
        native([flags, values, z], (2,))
        assert np.all(z == 7)
