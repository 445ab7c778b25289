"""Shapes of tiles: every layout op alone, in chains, and between ops that need memory."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, assert_kernel, assert_ops, case
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, bool_, f32, i32

SHAPES = [(64,), (4, 16), (2, 8, 4), (16, 1, 4), (1, 1)]


def bits_of(dtype, shape):
    top = 2 if dtype is bool_ else 16 if dtype.bits == 4 else 256
    raw = fresh_rng().integers(0, top, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[..., 0]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype_is_moved(dtype):
    cases = [
        case("reshape", shape=(16, 4)), case("permute", order=(1, 0)),
        case("reshape", shape=(64,)), case("reshape", shape=(2, 2, 4, 4)),
    ]  # fmt: skip
    assert_ops(cases, (dtype, bits_of(dtype, (4, 16))))
    assert_ops([case("broadcast", shape=(4, 32))], (dtype, bits_of(dtype, (4, 1))))
    assert_ops([case("broadcast", shape=(4, 32))], (dtype, bits_of(dtype, (1, 32))))


@pytest.mark.parametrize("source", SHAPES)
@pytest.mark.parametrize("target", SHAPES)
def test_reshape(source, target):
    if np.prod(source) == np.prod(target):
        assert_ops([case("reshape", shape=target)], (i32, bits_of(i32, source)))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_permute(order):
    assert_ops([case("permute", order=order)], (f32, bits_of(f32, (2, 8, 16))))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cat(axis):
    a, b = bits_of(i32, (4, 8, 2)), bits_of(i32, (4, 8, 2))
    assert_ops([case("cat", axis=axis)], (i32, a), (i32, b))


def test_cat_of_unequal_parts():
    assert_ops([case("cat", axis=0)], (i32, bits_of(i32, (3, 8))), (i32, bits_of(i32, (5, 8))))


@pytest.mark.parametrize("at", [0, 1, 3, -1, 4, 2**31 - 1, -(2**31)])
def test_extract_wraps(at):
    k = Dense()
    x, n = k.tensor("x", i32, 2), k.scalar("n", i32)
    part = k.emit("extract", k.load(x, (16, 8)), [n, k.i32(1)], shape=(4, 4))
    k.store(part, k.output("z", i32, 2))
    data = bits_of(i32, (16, 8))
    assert_kernel(k.finish(), [data, at], [poisoned(i32, (4, 4))])


def test_chain_of_layouts():
    """Axes are split, moved and merged; nothing touches memory in between."""
    k = Dense()
    tile = k.load(k.tensor("x", f32, 2), (8, 32))
    tile = k.emit("reshape", tile, shape=(2, 4, 4, 8))
    tile = k.emit("permute", tile, order=(2, 0, 3, 1))
    tile = k.emit("reshape", tile, shape=(8, 32))
    tile = k.emit("extract", tile, [k.block_id(0), k.i32(1)], shape=(4, 8))
    tile = k.emit("reshape", tile, shape=(32, 1))
    tile = k.emit("broadcast", tile, shape=(32, 4))
    k.store(tile, k.output("z", f32, 2), k.block_id(0))
    assert_kernel(k.finish(), [bits_of(f32, (8, 32))], [poisoned(f32, (64, 4))], (2,))


def test_a_tile_and_its_transpose():
    k = Dense()
    x = k.load(k.tensor("x", f32, 2), (16, 16))
    twice = k.emit("addf", x, x)
    root = k.emit("sqrt", k.emit("mulf", twice, twice))
    both = k.emit("addf", root, k.emit("permute", root, order=(1, 0)))
    k.store(both, k.output("z", f32, 2))
    data = fresh_rng().standard_normal((16, 16)).astype("f4")
    assert_kernel(k.finish(), [data], [poisoned(f32, (16, 16))])


def test_folding_in_halves():
    """A sum by a tree of extracts: parts of a tile that is itself made of parts."""
    k = Dense()
    tile = k.load(k.tensor("x", f32, 1), (64,))
    width = 64
    while width > 1:
        width //= 2
        low, high = (k.emit("extract", tile, [k.i32(i)], shape=(width,)) for i in (0, 1))
        tile = k.emit("addf", low, high)
    k.store(k.emit("reshape", tile, shape=()), k.output("z", f32, 0), tile=())
    data = fresh_rng().integers(-50, 50, 64).astype("f4")
    (z,) = assert_kernel(k.finish(), [data], [poisoned(f32, ())])
    assert z == data.sum()


def test_scalar_from_a_tile_and_back():
    k = Dense()
    x = k.load(k.tensor("x", f32, 1), (1,))
    s = k.emit("reshape", x, shape=())
    twice = k.emit("addf", s, s)
    k.store(k.broadcast(twice, (4, 8)), k.output("z", f32, 2))
    (z,) = assert_kernel(k.finish(), [np.array([2.5], "f4")], [poisoned(f32, (4, 8))])
    assert np.all(z == 5)
