"""Atomics of every mode and dtype: the result of one turn, and no lost update among threads."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import checked, poisoned
from support.native import Dense, Native
from support.numbers import assert_same, float_values, fresh_rng, int_values
from tilewright.base.dtypes import FLOATS, INTS, bf16, bool_, f16, f32, f64, i32
from tilewright.ir.attrs import AtomicMode, Predicate

INTEGER_MODES = list(AtomicMode)
FLOAT_MODES = [AtomicMode.ADD, AtomicMode.MAX, AtomicMode.MIN, AtomicMode.XCHG]


def updates(dtype, mode, count):
    k = Dense()
    p, x, mask = k.pointer("p", dtype), k.tensor("x", dtype, 1), k.tensor("m", bool_, 1)
    z = k.output("z", dtype, 1)
    old = k.emit(
        "atomic_rmw", k.pointers(p, count), k.load(x, (count,)), k.load(mask, (count,)), mode=mode
    )
    k.store(old, z)
    return k.finish()


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_every_mode(dtype):
    rng = fresh_rng()
    values = float_values(dtype, rng) if dtype.is_float else int_values(dtype, rng)
    memory, x = rng.permutation(values), rng.permutation(values)
    mask = rng.integers(0, 4, values.size) > 0
    for mode in FLOAT_MODES if dtype.is_float else INTEGER_MODES:
        func = updates(dtype, mode, values.size)
        ours, theirs = memory.copy(), memory.copy()
        z, expected = (poisoned(dtype, (values.size,)) for _ in range(2))
        Native(func)([ours, x, mask, z])
        checked(func, [theirs, x, mask, expected])
        assert_same(ours, theirs)
        assert_same(z, expected)


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, bool_])
def test_compare_and_swap(dtype):
    k = Dense()
    p, c, x = k.pointer("p", dtype), k.tensor("c", dtype, 1), k.tensor("x", dtype, 1)
    m, z = k.tensor("m", bool_, 1), k.output("z", dtype, 1)
    pointers, compare, value = k.pointers(p, 32), k.load(c, (32,)), k.load(x, (32,))
    k.store(k.emit("atomic_cas", pointers, compare, value, k.load(m, (32,))), z)
    func = k.finish()
    rng = fresh_rng()
    memory = rng.integers(0, 2, 32).astype(dtype.np)
    compare, value = (rng.integers(0, 2, 32).astype(dtype.np) for _ in range(2))
    mask = rng.integers(0, 4, 32) > 0
    ours, theirs = memory.copy(), memory.copy()
    z, expected = poisoned(dtype, (32,)), poisoned(dtype, (32,))
    Native(func)([ours, compare, value, mask, z])
    checked(func, [theirs, compare, value, mask, expected])
    assert_same(ours, theirs)
    assert_same(z, expected)


@pytest.mark.parametrize("dtype", [i32, f16, bf16, f32, f64])
def test_no_update_is_lost(dtype):
    """Many blocks on several threads add to few places."""
    k = Dense()
    p = k.pointer("p", dtype)
    one = k.constant(1, dtype, (8,))
    k.emit("atomic_rmw", k.pointers(p, 8), one, mode=AtomicMode.ADD)
    blocks = 200  # exact in every dtype
    total = np.zeros(8, dtype.np)
    Native(k.finish())([total], (blocks,))
    assert np.all(total.astype(np.float64) == blocks)


def test_scalar_atomics_give_their_turn():
    """Each block draws a ticket; all tickets differ."""
    k = Dense()
    p, z = k.pointer("p", i32), k.output("z", i32, 1)
    ticket = k.emit("atomic_rmw", p, k.i32(1), mode=AtomicMode.ADD)
    k.store(k.broadcast(ticket, (1,)), z, k.block_id(0))
    counter, z = np.zeros(1, "i4"), poisoned(i32, (5000,))
    Native(k.finish())([counter, z], (5000,))
    assert sorted(z) == list(range(5000))


def test_a_spin_lock_by_compare_and_swap():
    k = Dense()
    lock, p = k.pointer("lock", i32), k.pointer("p", i32)
    with k.region() as body:
        old = k.emit("atomic_cas", lock, k.i32(0), k.i32(1))
        free = k.emit("cmpi", old, k.i32(0), predicate=Predicate.EQ)
        with k.region() as enter:
            k.op("break", [])
        with k.region() as wait:
            k.op("yield", [])
        k.op("if", free, regions=[enter, wait])
        k.op("continue", [])
    k.op("loop", [], regions=[body])
    k.op("store_ptr", p, k.emit("addi", k.emit("load_ptr", p), k.i32(1)))
    k.emit("atomic_rmw", lock, k.i32(0), mode=AtomicMode.XCHG)
    locks, counts = np.zeros(1, "i4"), np.zeros(1, "i4")
    Native(k.finish())([locks, counts], (2000,))
    assert counts[0] == 2000
