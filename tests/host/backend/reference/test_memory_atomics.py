"""Atomics: each mode on each type it is for, many elements on one address, compare and swap."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from support.numbers import assert_same, float_values, fresh_rng, int_values
from tilewright.base.dtypes import FLOATS, INTS, bf16, bool_, f16, f32, i32, int_range, u8, u64
from tilewright.ir.attrs import AtomicMode


def rmw_kernel(dtype, count, mode, *, masked=False):
    k = Kernel()
    p, by, x = k.pointer("p", dtype), k.tensor("by", i32, 1), k.tensor("x", dtype, 1)
    mask, old = k.tensor("mask", bool_, 1), k.output("old", dtype, 1)
    pointers = k.emit("offset", k.broadcast(p, (count,)), k.load(by, (count,)))
    chosen = k.load(mask, (count,)) if masked else None
    k.store(k.emit("atomic_rmw", pointers, k.load(x, (count,)), chosen, mode=mode), old)
    return k.finish()


def rmw(dtype, mode, data, offsets, values, mask=None):
    n = len(values)
    old = poisoned(dtype, (n,))
    func = rmw_kernel(dtype, n, mode, masked=mask is not None)
    chosen = np.ones(n, np.bool_) if mask is None else np.array(mask, np.bool_)
    checked(func, [data, np.array(offsets, np.int32), np.array(values, dtype.np), chosen, old])
    return old


def wrap(n, dtype):
    low, _ = int_range(dtype)
    return (n - low) % (1 << dtype.bits) + low


INT_MODES = {
    AtomicMode.ADD: operator.add, AtomicMode.AND: operator.and_, AtomicMode.OR: operator.or_,
    AtomicMode.XOR: operator.xor, AtomicMode.MAX: max, AtomicMode.MIN: min,
    AtomicMode.XCHG: lambda old, value: value,
}  # fmt: skip


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("mode", AtomicMode)
def test_integers(mode, dtype):
    """Twenty elements on five addresses: the result of each address is that of any order."""
    rng = fresh_rng()
    data, values = rng.choice(int_values(dtype, rng), 5), rng.choice(int_values(dtype, rng), 20)
    offsets = rng.integers(0, 5, 20)
    expected, before = data.tolist(), []
    for at, value in zip(offsets.tolist(), values.tolist(), strict=True):
        before.append(expected[at])
        expected[at] = wrap(INT_MODES[mode](expected[at], value), dtype)
    old = rmw(dtype, mode, data, offsets, values)
    assert data.tolist() == expected
    assert old.tolist() == before


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_sums_round_after_each(dtype):
    rng = fresh_rng()
    values = rng.standard_normal(50).astype(dtype.np)
    data, expected = np.zeros(1, dtype.np), dtype.np.type(0)
    for value in values:
        expected = dtype.np.type(np.float64(expected) + np.float64(value))
    rmw(dtype, AtomicMode.ADD, data, [0] * 50, values)
    assert_same(data, np.array([expected], dtype.np))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", [AtomicMode.MAX, AtomicMode.MIN])
def test_float_choice_spreads_nan(mode, dtype):
    function = np.maximum if mode == AtomicMode.MAX else np.minimum
    values = float_values(dtype, fresh_rng(), 8)
    n = len(values)
    data = np.ones(n, dtype.np)
    rmw(dtype, mode, data, np.arange(n), values)
    with np.errstate(all="ignore"):
        assert_same(data, function(np.ones(n, dtype.np), values))
    zeros = np.array([0.0, -0.0], dtype.np)
    data = zeros[::-1].copy()
    rmw(dtype, mode, data, [0, 1], zeros)
    assert np.signbit(data.astype(np.float64)).tolist() == [mode == AtomicMode.MIN] * 2


@pytest.mark.parametrize("dtype", [bool_, f16, f32, bf16])
def test_exchange(dtype):
    data = np.array([0, 1, 1], dtype.np)
    old = rmw(dtype, AtomicMode.XCHG, data, [2, 0], [0, 1])
    assert data.astype(int).tolist() == [1, 1, 0]
    assert old.astype(int).tolist() == [1, 0]


def test_booleans_combine_bitwise():
    data = np.array([True, False, True])
    rmw(bool_, AtomicMode.XOR, data, [0, 0, 1, 2], [True, True, True, True])
    assert data.tolist() == [True, True, False]


def test_masked_elements_stay_and_give_zero():
    data = np.array([5, 6], np.int32)
    old = rmw(i32, AtomicMode.ADD, data, [0, 1, 123456], [10, 10, 10], [True, False, False])
    assert data.tolist() == [15, 6]
    assert old.tolist() == [5, 0, 0]


def cas(dtype, data, offsets, compare, values, mask=None):
    n = len(values)
    k = Kernel()
    p, by = k.pointer("p", dtype), k.tensor("by", i32, 1)
    c, x = k.tensor("c", dtype, 1), k.tensor("x", dtype, 1)
    chosen, old = k.tensor("mask", bool_, 1), k.output("old", dtype, 1)
    pointers = k.emit("offset", k.broadcast(p, (n,)), k.load(by, (n,)))
    guard = k.load(chosen, (n,)) if mask is not None else None
    k.store(k.emit("atomic_cas", pointers, k.load(c, (n,)), k.load(x, (n,)), guard), old)
    result = poisoned(dtype, (n,))
    arrays = [np.array(a, dtype.np) for a in (compare, values)]
    given = np.array(mask if mask is not None else [True] * n)
    checked(k.finish(), [data, np.array(offsets, np.int32), *arrays, given, result])
    return result


@pytest.mark.parametrize("dtype", INTS)
def test_compare_and_swap(dtype):
    data = np.array([1, 2, 3], dtype.np)
    old = cas(dtype, data, [0, 1, 2], [1, 9, 3], [7, 8, 9])
    assert data.tolist() == [7, 2, 9]
    assert old.tolist() == [1, 2, 3]


def test_one_swap_wins_per_address():
    data = np.zeros(1, np.uint64)
    old = cas(u64, data, [0, 0, 0], [0, 0, 0], [5, 6, 7])
    assert data.tolist() == [5]
    assert old.tolist() == [0, 5, 5]


def test_swap_compares_bits():
    data = np.array([0.0, np.nan], np.float32)
    old = cas(f32, data, [0, 1], [-0.0, np.nan], [1.0, 2.0])
    assert data.tolist() == [0.0, 2.0]
    np.testing.assert_array_equal(old, [0.0, np.nan])


def test_masked_swap_gives_what_it_was_compared_with():
    data = np.array([1, 2], np.uint8)
    old = cas(u8, data, [0, 1], [1, 77], [9, 9], [True, False])
    assert data.tolist() == [9, 2]
    assert old.tolist() == [1, 77]


def test_blocks_may_share_a_counter():
    k = Kernel()
    p, z = k.pointer("p", i32), k.output("z", i32, 1)
    ticket = k.emit("atomic_rmw", p, k.i32(1), mode=AtomicMode.ADD)
    k.store(k.emit("reshape", ticket, shape=(1,)), z, k.block_id())
    counter, tickets = np.zeros(1, np.int32), poisoned(i32, (20,))
    checked(k.finish(), [counter, tickets], (20,))
    assert counter.tolist() == [20]
    assert sorted(tickets.tolist()) == list(range(20))
