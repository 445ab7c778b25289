"""Reductions and scans with bodies of several kinds, against loops written out."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from support.ir import Kernel, apply, checked, poisoned
from support.numbers import fresh_rng
from tilewright.base.dtypes import f16, f32, f64, i8, i32, i64, u8
from tilewright.ir.attrs import Predicate
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Value
from tilewright.ir.types import TileType

SHAPES = [((1,), 0), ((8,), 0), ((7,), 0), ((4, 8), 0), ((4, 8), 1), ((2, 3, 5), 1), ((1, 16), 1)]


def body(op_name, dtype, **attrs):
    """A body of one op: the accumulator first, then the element."""
    scalar = TileType(dtype)
    block = Block((Value(scalar, "elem"), Value(scalar, "acc")))
    elem, acc = block.args
    builder = Builder(block)
    builder.op("yield", [builder.emit(op_name, acc, elem, **attrs)])
    return block


def integers(dtype, shape):
    raw = fresh_rng().integers(-100 if dtype.is_signed else 0, 100, shape)
    return raw.astype(dtype.np)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", [i8, i32, i64, u8])
@pytest.mark.parametrize(
    ("name", "function"), [("addi", np.add), ("maxi", np.maximum), ("xori", np.bitwise_xor)]
)
def test_reduce_integers(name, function, dtype, shape, axis):
    a = integers(dtype, shape)
    got = apply("reduce", (dtype, a), regions=[body(name, dtype)], axis=axis, identities=(0,))
    assert got.dtype == dtype.np
    assert np.array_equal(got, function.reduce(a, axis, dtype=dtype.np))


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", [f16, f32, f64])
def test_reduce_floats(dtype, shape, axis):
    a = fresh_rng().integers(-8, 8, shape).astype(dtype.np)
    got = apply("reduce", (dtype, a), regions=[body("addf", dtype)], axis=axis, identities=(0.0,))
    assert np.array_equal(got, a.astype(np.float64).sum(axis).astype(dtype.np))


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_inclusive(reverse, shape, axis):
    a = integers(i32, shape)
    region = body("addi", i32)
    got = apply(
        "scan", (i32, a), regions=[region], axis=axis, identities=(0,), reverse=reverse
    )  # fmt: skip
    turned = np.flip(a, axis) if reverse else a
    sums = np.cumsum(turned, axis, dtype=np.int32)
    assert np.array_equal(got, np.flip(sums, axis) if reverse else sums)


def test_order_along_the_axis_is_kept():
    """2x2 matrices as four inputs: products that do not commute."""
    k = Kernel()
    names = "abcd"
    params = [k.tensor(n, i64, 1) for n in names]
    outs = [k.output(f"out_{n}", i64, 0) for n in names]
    scans = [k.output(f"scan_{n}", i64, 1) for n in names]
    tiles = [k.load(p, (13,)) for p in params]
    identities = (1, 0, 0, 1)
    op = k.op("reduce", tiles, regions=[_matrix_product(k)], axis=0, identities=identities)
    for value, out in zip(op.results, outs, strict=True):
        k.store(value, out)
    op = k.op("scan", tiles, regions=[_matrix_product(k)], axis=0, identities=identities)
    for value, out in zip(op.results, scans, strict=True):
        k.store(value, out)
    matrices = fresh_rng().integers(-3, 4, (13, 2, 2))
    inputs = [np.ascontiguousarray(matrices.reshape(13, 4)[:, i]) for i in range(4)]
    results = [poisoned(i64, ()) for _ in names]
    running = [poisoned(i64, (13,)) for _ in names]
    checked(k.finish(), [*inputs, *results, *running])
    expected = list(accumulate(matrices, np.matmul))
    assert [int(r) for r in results] == expected[-1].ravel().tolist()
    assert np.array_equal(np.stack(running, -1), np.array(expected).reshape(13, 4))


def _matrix_product(k):
    with k.region(*[TileType(i64)] * 8) as block:
        e, a = block.args[0::2], block.args[1::2]

        def dot(row, column):
            first = k.emit("muli", a[2 * row], e[column])
            return k.emit("addi", first, k.emit("muli", a[2 * row + 1], e[2 + column]))

        k.op("yield", [dot(r, c) for r in (0, 1) for c in (0, 1)])
    return block


def _first_greatest(k):
    """Keeps the greater value; of equal ones the one with the lesser index."""
    value, index = TileType(f32), TileType(i32)
    with k.region(value, value, index, index) as block:
        e, a, ei, ai = block.args
        greater = k.emit("cmpf", e, a, predicate=Predicate.GT)
        equal = k.emit("cmpf", e, a, predicate=Predicate.EQ)
        earlier = k.emit("cmpi", ei, ai, predicate=Predicate.LT)
        take = k.emit("ori", greater, k.emit("andi", equal, earlier))
        k.op("yield", [k.emit("select", take, e, a), k.emit("select", take, ei, ai)])
    return block


@pytest.mark.parametrize("shape", [(4, 16), (3, 7), (1, 1)])
def test_two_inputs_of_different_types(shape):
    k = Kernel()
    x, at = k.tensor("x", f32, 2), k.tensor("at", i32, 2)
    top, arg = k.output("top", f32, 1), k.output("arg", i32, 1)
    tiles = [k.load(x, shape), k.load(at, shape)]
    region = _first_greatest(k)
    op = k.op("reduce", tiles, regions=[region], axis=1, identities=(float("-inf"), 0))
    k.store(op.results[0], top)
    k.store(op.results[1], arg)
    a = fresh_rng().integers(0, 4, shape).astype(np.float32)
    index = np.broadcast_to(np.arange(shape[1], dtype=np.int32), shape)
    best, where = poisoned(f32, shape[:1]), poisoned(i32, shape[:1])
    checked(k.finish(), [a, index, best, where])
    assert np.array_equal(best, a.max(1))
    assert np.array_equal(where, a.argmax(1))


def test_constants_and_outer_values_in_the_body():
    k = Kernel()
    x, modulus = k.tensor("x", i32, 2), k.scalar("modulus", i32)
    out = k.output("out", i32, 1)
    tile = k.load(x, (5, 6))
    with k.region(TileType(i32), TileType(i32)) as block:
        total = k.emit("addi", *block.args)
        k.op("yield", [k.emit("remi", total, modulus)])
    op = k.op("reduce", [tile], regions=[block], axis=0, identities=(0,))
    k.store(op.result, out)
    a, result = integers(i32, (5, 6)) % 97, poisoned(i32, (6,))
    checked(k.finish(), [a, 97, result])
    assert np.array_equal(result, a.sum(0) % 97)


def test_a_body_that_only_yields_a_constant():
    with Builder(Block()).at(Block((Value(TileType(i32)), Value(TileType(i32))))) as block:
        inner = Builder(block)
        inner.op("yield", [inner.constant(7, i32)])
    a = np.zeros((2, 4), np.int32)
    got = apply("reduce", (i32, a), regions=[block], axis=1, identities=(0,))
    assert got.tolist() == [7, 7]
    got = apply("scan", (i32, a), regions=[block], axis=1, identities=(0,))
    assert got.tolist() == [[0, 7, 7, 7]] * 2


def test_a_body_with_tiles_in_it():
    """Ops that are not elementwise run the body element by element, with the same answer."""
    k = Kernel()
    x, out = k.tensor("x", i32, 2), k.output("out", i32, 1)
    scanned = k.output("scanned", i32, 2)
    tile = k.load(x, (4, 3))

    def region():
        with k.region(TileType(i32), TileType(i32)) as block:
            pair = [k.emit("reshape", v, shape=(1,)) for v in block.args]
            both = k.emit("cat", *pair, axis=0)
            inner = body("addi", i32)
            total = k.op("reduce", [both], regions=[inner], axis=0, identities=(0,)).result
            k.op("yield", [total])
        return block

    k.store(k.op("reduce", [tile], regions=[region()], axis=0, identities=(0,)).result, out)
    k.store(k.op("scan", [tile], regions=[region()], axis=0, identities=(0,)).result, scanned)
    a, result, sums = integers(i32, (4, 3)), poisoned(i32, (3,)), poisoned(i32, (4, 3))
    checked(k.finish(), [a, result, sums])
    assert np.array_equal(result, a.sum(0))
    assert np.array_equal(sums, a.cumsum(0))


def test_an_empty_axis_gives_the_identity():
    a = np.zeros((3, 0), np.int32)
    got = apply("reduce", (i32, a), regions=[body("addi", i32)], axis=1, identities=(42,))
    assert got.tolist() == [42, 42, 42]
    got = apply("scan", (i32, a), regions=[body("addi", i32)], axis=1, identities=(42,))
    assert got.shape == (3, 0)
