"""Reductions and scans along every axis, with bodies of several kinds, against the reference."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, assert_kernel, assert_ops, both, case, kernel_of, run_native
from support.numbers import fresh_rng
from tilewright.base.dtypes import FLOATS, INTS, bf16, bool_, f16, f32, i32, int_range
from tilewright.ir.attrs import Predicate
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Value
from tilewright.ir.types import TileType

SHAPES = [
    ((1,), 0), ((2,), 0), ((64,), 0), ((1024,), 0), ((4, 32), 0), ((4, 32), 1), ((8, 1), 1),
    ((1, 16), 0), ((2, 8, 16), 0), ((2, 8, 16), 1), ((2, 8, 16), 2), ((4, 1, 2), 2), ((7,), 0),
]  # fmt: skip


def body(name, dtype, **attrs):
    """A body of one op: the accumulator first, then the element."""
    scalar = TileType(dtype)
    block = Block((Value(scalar, "elem"), Value(scalar, "acc")))
    elem, acc = block.args
    builder = Builder(block)
    builder.op("yield", [builder.emit(name, acc, elem, **attrs)])
    return [block]


def small(dtype, shape):
    """Numbers whose sums and products are exact in any order."""
    return fresh_rng().integers(0 if dtype.kind == "u" else -3, 4, shape).astype(dtype.np)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("dtype", INTS)
def test_integers(dtype):
    x = small(dtype, (8, 32))
    low, high = int_range(dtype)
    bodies = [("addi", 0), ("muli", 1), ("maxi", low), ("mini", high), ("xori", 0)]
    cases = [
        case("reduce", partial(body, name, dtype), axis=axis, identities=(start,))
        for name, start in bodies for axis in (0, 1)
    ]  # fmt: skip
    assert_ops(cases, (dtype, x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    x = small(dtype, (8, 32))
    bodies = [("addf", 0.0), ("maxf", float("-inf")), ("minf", float("inf"))]
    cases = [
        case("reduce", partial(body, name, dtype), axis=axis, identities=(start,))
        for name, start in bodies for axis in (0, 1)
    ]  # fmt: skip
    native, expected = both(*kernel_of(cases, [(dtype, x)]))
    for got, wanted in zip(native, expected, strict=True):
        assert np.array_equal(got, wanted)


@pytest.mark.thinned(7)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_every_axis(shape, axis):
    x = small(i32, shape)
    add = partial(body, "addi", i32)
    cases = [
        case("reduce", add, axis=axis, identities=(0,)),
        case("scan", add, axis=axis, identities=(0,)),
        case("scan", add, axis=axis, identities=(0,), reverse=True),
    ]
    assert_ops(cases, (i32, x))


@pytest.mark.parametrize("dtype", [f16, bf16, f32])
def test_scans_of_floats(dtype):
    x = small(dtype, (4, 16))
    add = partial(body, "addf", dtype)
    cases = [case("scan", add, axis=axis, identities=(0.0,)) for axis in (0, 1)]
    assert_ops(cases, (dtype, x))


@pytest.mark.thinned(10)
@pytest.mark.parametrize("shape", [(8, 64), (64, 64), (16, 2, 32), (2, 16, 32)])
@pytest.mark.parametrize("extent", [1, 5, 8, 11, 64])
def test_several_rows_at_once(shape, extent):
    """Whole tiles take rows in groups, edge tiles one by one; sums are the same bit for bit."""
    axis = len(shape) - 2
    k = Dense()
    tile = k.load(k.tensor("x", f32, len(shape)), shape)
    total = k.emit("reduce", [tile], regions=body("addf", f32), axis=axis, identities=(0.0,))
    k.store(total, k.output("z", f32, len(shape) - 1))
    func = k.finish()
    data = fresh_rng().standard_normal((*shape[:axis], extent, shape[-1])).astype("f4")
    given = data[..., : shape[axis], :]
    expected = np.zeros((*shape[:axis], shape[-1]), "f4")
    for row in np.moveaxis(given, axis, 0):
        expected = expected + row
    z = poisoned(f32, expected.shape)
    run_native(func, [data, z])
    assert np.array_equal(z, expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [2, 16, 32, 96, 1024])
@pytest.mark.parametrize(("name", "start"), [("addi", 0), ("muli", 1), ("maxi", -(2**31))])
def test_scans_along_the_lanes(name, start, count, reverse):
    """One vector, several, and parts of one; upwards and downwards."""
    x = fresh_rng().integers(-9, 9, (3, count)).astype("i4")
    attrs = {"axis": 1, "identities": (start,), "reverse": reverse}
    assert_ops([case("scan", partial(body, name, i32), **attrs)], (i32, x))


def arg_max() -> list[Block]:
    """The greatest value and the first place where it stands."""
    block = Block(tuple(Value(TileType(t)) for t in (f32, f32, i32, i32)))
    value, best, place, best_place = block.args
    b = Builder(block)
    greater = b.emit("cmpf", value, best, predicate=Predicate.GT)
    same = b.emit("cmpf", value, best, predicate=Predicate.EQ)
    earlier = b.emit("cmpi", place, best_place, predicate=Predicate.LT)
    take = b.emit("ori", greater, b.emit("andi", same, earlier))
    b.op("yield", [b.emit("select", take, value, best), b.emit("select", take, place, best_place)])
    return [block]


@pytest.mark.parametrize("axis", [0, 1])
def test_several_inputs(axis):
    rng = fresh_rng()
    x = rng.integers(-20, 20, (16, 32)).astype("f4")
    places = np.broadcast_to(
        np.arange(x.shape[axis]).reshape([-1, 1] if axis == 0 else [1, -1]), x.shape
    )
    attrs = {"axis": axis, "identities": (float("-inf"), 2**31 - 1)}
    func, arrays, outputs = kernel_of([case("reduce", arg_max, **attrs)], [(f32, x), (i32, places)])
    _, index = assert_kernel(func, arrays, outputs)
    assert np.array_equal(index, x.argmax(axis))


def test_the_body_may_use_scalars_from_outside():
    k = Dense()
    x, scale = k.tensor("x", i32, 2), k.scalar("scale", i32)
    tile = k.load(x, (4, 32))
    with k.region(TileType(i32), TileType(i32)) as block:
        elem, acc = block.args
        k.op("yield", [k.emit("maxi", k.emit("maxi", elem, acc), scale)])
    reduced = k.emit("reduce", [tile], regions=[block], axis=1, identities=(-100,))
    k.store(reduced, k.output("z", i32, 1))
    assert_kernel(k.finish(), [small(i32, (4, 32)), 2], [poisoned(i32, (4,))])


def test_booleans():
    x = fresh_rng().integers(0, 2, (16, 64)).astype(np.bool_)
    cases = [
        case("reduce", partial(body, name, bool_), axis=axis, identities=(start,))
        for name, start in (("ori", False), ("andi", True), ("xori", False))
        for axis in (0, 1)
    ]
    assert_ops(cases, (bool_, x))


def test_arranged_scalars_in_a_body():
    """What a body arranges has one element, and stays it."""

    def arranged() -> list[Block]:
        block = Block((Value(TileType(i32)), Value(TileType(i32))))
        builder = Builder(block)
        elem, acc = (builder.emit("reshape", v, shape=(1,)) for v in block.args)
        two = builder.constant(2, i32, (1,))
        total = builder.emit("addi", builder.emit("muli", elem, two), acc)
        builder.op("yield", [builder.emit("reshape", total, shape=())])
        return [block]

    k = Dense()
    tile = k.load(k.tensor("x", i32, 2), (4, 16))
    summed = k.emit("scan", [tile], regions=arranged(), axis=1, identities=(0,))
    k.store(summed, k.output("z", i32, 2))
    data, z = small(i32, (4, 16)), poisoned(i32, (4, 16))
    run_native(k.finish(), [data, z])
    assert np.array_equal(z, np.cumsum(2 * data, axis=1))


def test_scans_keep_the_order():
    """Affine maps as two inputs: composition does not commute."""
    rng = fresh_rng()
    a, b = (rng.integers(-2, 3, (4, 32)).astype("i4") for _ in range(2))

    def compose() -> list[Block]:
        block = Block(tuple(Value(TileType(i32)) for _ in range(4)))
        a1, a0, b1, b0 = block.args
        builder = Builder(block)
        scaled = builder.emit("muli", a1, b0)
        builder.op("yield", [builder.emit("muli", a1, a0), builder.emit("addi", scaled, b1)])
        return [block]

    cases = [case("scan", compose, axis=axis, identities=(1, 0)) for axis in (0, 1)]
    assert_ops(cases, (i32, a), (i32, b))


def test_row_softmax_is_fused_and_right():
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2, (4, 64))
    i = k.block_id(0)
    tile = k.load(x, (4, 64), i, padding=float("-inf"))
    top = k.emit("reduce", [tile], regions=body("maxf", f32), axis=1, identities=(float("-inf"),))
    wide = k.emit("broadcast", k.emit("reshape", top, shape=(4, 1)), shape=(4, 64))
    p = k.emit("exp", k.emit("subf", tile, wide))
    total = k.emit("reduce", [p], regions=body("addf", f32), axis=1, identities=(0.0,))
    wide = k.emit("broadcast", k.emit("reshape", total, shape=(4, 1)), shape=(4, 64))
    k.store(k.emit("divf", p, wide), z, i)
    func = k.finish()
    for shape in [(1, 1), (3, 63), (4, 64), (5, 61)]:
        data = fresh_rng().standard_normal(shape).astype("f4")
        native, expected = both(func, [data], [poisoned(f32, shape)], (-(-shape[0] // 4),))
        np.testing.assert_allclose(native[0], expected[0], rtol=1e-6)
