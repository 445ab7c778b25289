"""Matrix multiply of every input and accumulator type, against the reference, on exact numbers."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import poisoned
from support.native import Dense, Native, assert_kernel, assert_ops, case, kernel_of, narrowed
from support.numbers import fresh_rng
from tilewright.backend.cpu.emit.matmul import shape_of
from tilewright.backend.cpu.loopnest.index import panels, row_major
from tilewright.backend.cpu.loopnest.nodes import Matmul, TileBuffer
from tilewright.backend.llvm.object import host_target
from tilewright.base.dtypes import (
    bf16,
    f4e2m1fn,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i32,
    tf32,
    u8,
)  # fmt: skip
from tilewright.base.errors import InternalError
from tilewright.ir.ops.matmul import FLOAT_ACCUMULATORS
from tilewright.ir.types import TileType

FLOAT_PAIRS = [(a, acc) for a, accs in FLOAT_ACCUMULATORS.items() for acc in accs]
SHAPES = [(1, 1, 1), (16, 16, 16), (64, 64, 64), (2, 128, 4), (128, 2, 8), (4, 32, 1), (8, 1, 16)]


def small(dtype, shape, high=3):
    low = 0 if dtype is u8 or dtype is f8e8m0fnu else -high
    return fresh_rng().integers(low, high + 1, shape).astype(np.float32).astype(dtype.np)


@pytest.mark.parametrize(("dtype", "acc"), FLOAT_PAIRS)
def test_float_types(dtype, acc):
    operands = (dtype, small(dtype, (16, 32))), (dtype, small(dtype, (32, 64)))
    assert_ops([case("mmaf")], *operands, (acc, small(acc, (16, 64))))


@pytest.mark.parametrize("a", [i8, u8])
@pytest.mark.parametrize("b", [i8, u8])
def test_integer_types(a, b):
    rng = fresh_rng()
    x, y = (rng.integers(0, 256, (32, 32), dtype=np.uint8).view(t.np) for t in (a, b))
    acc = rng.integers(-(2**31), 2**31, (32, 32)).astype("i4")
    assert_ops([case("mmai")], (a, x), (b, y), (i32, acc))


@pytest.mark.thinned(10)
@pytest.mark.parametrize(("m", "n", "k"), [*SHAPES, (16, 4, 2), (16, 8, 1), (8, 8, 2)])
@pytest.mark.parametrize("narrow", [False, True])
def test_integer_shapes(m, n, k, narrow):
    """Extremes only: what is multiplied in pairs must hold them, and sums must wrap."""
    rng = fresh_rng()
    x = rng.choice(np.array([-128, -1, 0, 127], np.int8), (m, k))
    y = rng.choice(np.array([0, 1, 255], np.uint8), (k, n))
    acc = rng.choice(np.array([-(2**31), 0, 2**31 - 1], np.int32), (m, n))
    func, arrays, (out,) = kernel_of([case("mmai")], [(i8, x), (u8, y), (i32, acc)])
    assert Native(func, narrowed() if narrow else None)([*arrays, out]).failure is None
    expected = acc.astype(np.int64) + x.astype(np.int64) @ y.astype(np.int64)
    assert np.array_equal(out, expected.astype(np.int32))


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_shapes(m, n, k):
    for dtype in (f32, f64):
        operands = (dtype, small(dtype, (m, k))), (dtype, small(dtype, (k, n)))
        assert_ops([case("mmaf")], *operands, (dtype, small(dtype, (m, n))))


@pytest.mark.thinned(10)
@pytest.mark.parametrize("m", [1, 2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("n", [4, 8, 16])
def test_blocks_of_six_rows(m, n):
    """As with sixteen registers, which every x86 CPU of 64 bits has."""
    operands = [(f32, small(f32, shape)) for shape in ((m, 16), (16, n), (m, n))]
    func, arrays, (out,) = kernel_of([case("mmaf")], operands)
    assert Native(func, narrowed())([*arrays, out]).failure is None
    x, y, acc = arrays
    assert np.array_equal(out, x @ y + acc)


def test_batches():
    operands = (f16, small(f16, (4, 8, 16))), (f16, small(f16, (4, 16, 128)))
    assert_ops([case("mmaf")], *operands, (f32, small(f32, (4, 8, 128))))


@pytest.mark.parametrize(
    ("dtype", "scale", "run"),
    [(f8e4m3fn, f8e8m0fnu, 32), (f8e5m2, f8e8m0fnu, 32), (f4e2m1fn, f8e8m0fnu, 16),
     (f4e2m1fn, f8e8m0fnu, 32), (f4e2m1fn, f8e4m3fn, 16)],
)  # fmt: skip
def test_block_scales(dtype, scale, run):
    a, b = small(dtype, (16, 64), 2), small(dtype, (64, 32), 2)
    rng = fresh_rng()
    sa, sb = (
        np.exp2(rng.integers(-2, 3, shape)).astype(scale.np)
        for shape in ((16, 64 // run), (64 // run, 32))
    )
    operands = (dtype, a), (dtype, b), (f32, small(f32, (16, 32))), (scale, sa), (scale, sb)
    assert_ops([case("mmaf_scaled")], *operands)


@pytest.mark.parametrize("shape", [(64, 64, 64), (100, 70, 50), (1, 1, 1), (33, 65, 31)])
def test_a_whole_product_of_tiles(shape):
    """The accumulator is carried by a loop; edges are padded."""
    m, n, k_extent = shape
    tm, tn, tk = 32, 64, 16
    k = Dense()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2, (tm, tn))
    i, j = k.block_id(0), k.block_id(1)
    zero = k.constant(0.0, f32, (tm, tn))
    count = k.emit("num_tiles", k.view(x, (tm, tk)), axis=1)
    with k.region(TileType(i32), zero.type) as body:
        at, acc = body.args
        a, b = k.load(x, (tm, tk), i, at), k.load(y, (tk, tn), at, j)
        k.op("continue", [k.emit("mmaf", a, b, acc)])
    (total,) = k.op("for", k.i32(0), count, k.i32(1), [zero], regions=[body]).results
    k.store(total, z, i, j)
    func = k.finish()
    a, b = small(f32, (m, k_extent)), small(f32, (k_extent, n))
    (got,) = assert_kernel(func, [a, b], [poisoned(f32, (m, n))], (-(-m // tm), -(-n // tn)))
    assert np.array_equal(got, a @ b)


def test_operands_made_outside_the_loop():
    """One side is packed once, before the loop, from a transposed half-precision tile."""
    k = Dense()
    x, y, z = k.tensor("x", f16, 2), k.tensor("y", f16, 2), k.output("z", f32, 2)
    right = k.emit("permute", k.load(y, (64, 16)), order=(1, 0))
    zero = k.constant(0.0, f32, (8, 64))
    with k.region(TileType(i32), zero.type) as body:
        at, acc = body.args
        k.op("continue", [k.emit("mmaf", k.load(x, (8, 16), at), right, acc)])
    (total,) = k.op("for", k.i32(0), k.i32(3), k.i32(1), [zero], regions=[body]).results
    k.store(total, z)
    a, b = small(f16, (24, 16)), small(f16, (64, 16))
    assert_kernel(k.finish(), [a, b], [poisoned(f32, (8, 64))])


def test_a_product_is_an_operand():
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    tile = k.load(x, (32, 32))
    zero = k.constant(0.0, f32, (32, 32))
    square = k.emit("mmaf", tile, tile, zero)
    cube = k.emit("mmaf", square, tile, zero)
    sum_ = k.emit("mmaf", tile, cube, square)
    k.store(sum_, z)
    assert_kernel(k.finish(), [small(f32, (32, 32), 1)], [poisoned(f32, (32, 32))])


def on_sides(k, x, at, sides, sums):
    """Add to each sum a product that has one tile on the left or on the right side."""
    tile, other = k.load(x, (16, 64), at), k.load(x, (64, 16), k.i32(0), at)
    factors = {"left": (tile, other), "right": (other, tile)}
    return [k.emit("mmaf", *factors[side], z) for side, z in zip(sides, sums, strict=True)]


SIDES = [("right", "left"), ("right", "left", "left"), ("left", "right"), ("right", "right")]


@pytest.mark.parametrize("sides", SIDES, ids=str)
@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("looped", [False, True])
def test_a_tile_on_both_sides_of_products(dtype, sides, looped):
    """The right side of a product is packed into panels, which no left side may be in."""
    k = Dense()
    x = k.tensor("x", dtype, 2)
    shapes = [{"left": (16, 16), "right": (64, 64)}[side] for side in sides]
    sums = [k.constant(float(n), dtype, shape) for n, shape in enumerate(shapes)]
    if looped:
        with k.region(TileType(i32), *(v.type for v in sums)) as body:
            at, *accs = body.args
            k.op("continue", on_sides(k, x, at, sides, accs))
        results = k.op("for", k.i32(0), k.i32(2), k.i32(1), sums, regions=[body]).results
    else:
        results = on_sides(k, x, k.i32(1), sides, sums)
    for number, value in enumerate(results):
        k.store(value, k.output(f"z{number}", dtype, 2))
    outputs = [poisoned(dtype, shape) for shape in shapes]
    assert_kernel(k.finish(), [small(dtype, (32, 64))], outputs)


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("turned", [False, True])
def test_a_square_of_a_tile_from_outside_the_loop(dtype, turned):
    """One product takes the tile on both sides, and nothing else takes it."""
    k = Dense()
    x, z = k.tensor("x", dtype, 2), k.output("z", dtype, 2)
    tile = k.load(x, (64, 64))
    # Both are materialized before the loop; the square roots of 0, 1, 4 and 9 are exact.
    tile = k.emit("permute", tile, order=(1, 0)) if turned else k.emit("sqrt", tile)
    zero = k.constant(0.0, dtype, (64, 64))
    with k.region(TileType(i32), zero.type) as body:
        k.op("continue", [k.emit("mmaf", tile, tile, body.args[1])])
    (total,) = k.op("for", k.i32(0), k.i32(2), k.i32(1), [zero], regions=[body]).results
    k.store(total, z)
    values = small(dtype, (64, 64)) ** 2
    assert_kernel(k.finish(), [values.astype(dtype.np)], [poisoned(dtype, (64, 64))])


def test_panels_are_as_wide_as_the_register_block():
    shapes = ((8, 16), (16, 64), (8, 64))
    layouts = [row_major(shapes[0]), panels(shapes[1], 4), row_major(shapes[2])]
    step = Matmul(*(TileBuffer(f"t{n}", f32, layout, "") for n, layout in enumerate(layouts)), None)
    with pytest.raises(InternalError, match="t1 is in panels of 4 columns, expected"):
        shape_of(step, host_target())


def test_types_are_all_covered():
    assert {tf32, bf16} < {a for a, _ in FLOAT_PAIRS}
