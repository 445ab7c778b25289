from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from rule_kit import Kit
from support.kernels import ir_of, out, run, tensor
from support.numbers import fresh_rng
from tilewright.base.dtypes import (
    FLOATS,
    INTS,
    bf16,
    bool_,
    f8e4m3fn,
    f16,
    f32,
    f64,
    i8,
    i32,
    int_range,
    u8,
)  # fmt: skip
from tilewright.base.errors import Code, CompileError
from tilewright.ir.types import TileType

NUMPY = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def samples(dtype, shape):
    rng = fresh_rng()
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_float:  # powers of two: every sum and product is exact in the smallest type
        return rng.integers(-1, 3, shape).astype(dtype.np)
    low, high = (-3, 4) if dtype.is_signed else (0, 4)
    return rng.integers(low, high, shape).astype(dtype.np)


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, bool_])
@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 2), [1, -1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_numpys(name, dtype, axis, keepdims):
    kit = Kit()
    a = samples(dtype, (2, 4, 2))
    result = kit(f"reduce_{name}", kit.tile(dtype, 2, 4, 2), axis, keepdims)
    counted = dtype.is_bool and name in ("sum", "prod")
    assert result.tile.dtype is (i32 if counted else dtype)
    axes = tuple(axis) if isinstance(axis, list) else axis
    wide = a.astype(np.float64) if dtype.is_float else a.astype(np.int64) if counted else a
    keywords = {"dtype": a.dtype} if dtype.is_int and name in ("sum", "prod") else {}
    expected = NUMPY[name](wide, axis=axes, keepdims=keepdims, **keywords)
    assert np.array_equal(kit.compute(result, a).astype(wide.dtype), expected)
    assert result.tile.shape == np.shape(expected)


def test_the_method_takes_keepdims_by_keyword():
    kit = Kit()
    x = kit.tile(f32, 2, 8)
    assert kit("Tile.sum", x, 1, keepdims=True).type == TileType(f32, (2, 1))
    assert kit("Tile.max", x).type == TileType(f32)
    assert kit("Tile.argmin", x, 0).type == TileType(i32, (8,))
    assert kit("Tile.all", x).type == TileType(bool_)


def test_the_ir_of_a_sum():
    kit = Kit()
    kit("reduce_sum", kit.tile(f32, 2, 4), 1, keepdims=True)
    assert kit.text == (
        "%1 = reduce %x {axis=1, identities=(-0.0)} : tile<2xf32>"
        " { (%2: tile<f32>, %3: tile<f32>)\n"
        "%4 = addf %3, %2 : tile<f32>\n"
        "yield %4\n"
        "}\n"
        "%5 = reshape %1 {shape=(2, 1)} : tile<2x1xf32>"
    )


@pytest.mark.parametrize("dtype", [f16, bf16])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "scan_sum"])
def test_short_floats_accumulate_in_f32_and_round_once(name, dtype):
    kit = Kit()
    result = kit(name, kit.tile(dtype, 4), 0)
    assert kit.ops[0].name == "ftof"
    assert kit.ops[-1].name == "ftof"
    assert kit.ops[1].results[0].tile.dtype is f32
    assert result.tile.dtype is dtype


def test_a_long_sum_of_halves_does_not_stick():
    kit = Kit()
    result = kit("reduce_sum", kit.tile(f16, 8192), 0)
    assert kit.compute(result, np.ones(8192)) == 8192


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_a_nan_wins(name):
    kit = Kit()
    result = kit(name, kit.tile(f32, 4), 0)
    assert np.isnan(kit.compute(result, [1, np.nan, 3, -np.inf]))


@pytest.mark.parametrize("dtype", [i8, u8, i32])
def test_integer_sums_wrap(dtype):
    kit = Kit()
    high = int_range(dtype)[1]
    result = kit("reduce_sum", kit.tile(dtype, 4), 0)
    expected = np.full(4, high, dtype.np).sum(dtype=dtype.np)
    assert kit.compute(result, np.full(4, high)) == expected


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dtype", [bool_, i32, f32])
def test_any_and_all(name, dtype):
    kit = Kit()
    a = samples(dtype, (8, 4))
    result = kit(name, kit.tile(dtype, 8, 4), 1)
    assert result.type == TileType(bool_, (8,))
    assert np.array_equal(kit.compute(result, a), getattr(np, name)(a, axis=1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [bool_, i8, u8, f16, f32, f64])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_places_are_numpys(name, dtype, axis, keepdims):
    kit = Kit()
    a = samples(dtype, (4, 8))
    result = kit(name, kit.tile(dtype, 4, 8), axis, keepdims)
    expected = getattr(np, name)(a, axis=axis, keepdims=keepdims)
    assert np.array_equal(kit.compute(result, a), expected)
    assert result.type == TileType(i32, np.shape(expected))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize(
    "row",
    [[1, np.nan, 5, np.nan], [np.nan] * 4, [-np.inf] * 4, [np.inf] * 4, [0.0, -0.0, 0.0, -0.0],
     [np.inf, 1, np.nan, np.inf]],
)  # fmt: skip
def test_places_of_nans_infinities_and_equals(name, row):
    kit = Kit()
    result = kit(name, kit.tile(f32, 4), 0)
    assert kit.compute(result, row) == getattr(np, name)(np.array(row))


@pytest.mark.parametrize("dtype", [i8, i32, f32, f64])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["scan_sum", "cumsum"])
def test_scans_are_numpys(name, dtype, reverse):
    kit = Kit()
    a = samples(dtype, (4, 8))
    result = kit(name, kit.tile(dtype, 4, 8), 1, reverse)
    turned = a[:, ::-1] if reverse else a
    expected = np.cumsum(turned, axis=1, dtype=a.dtype)
    assert np.array_equal(kit.compute(result, a), expected[:, ::-1] if reverse else expected)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "scan_sum", "argmax"])
def test_elements_without_arithmetic(name):
    kit = Kit()
    error = kit.refused(Code.DTYPE, name, kit.tile(f8e4m3fn, 4), 0)
    assert error.hint == "convert it first: x.astype(tw.f32)"


@pytest.mark.parametrize(
    ("axis", "code"), [(2, Code.RANK), (-3, Code.RANK), ((0, 0), Code.RANK), (0.5, Code.NOT_STATIC)]
)
def test_axes_a_tile_has_not(axis, code):
    kit = Kit()
    kit.refused(code, "reduce_sum", kit.tile(f32, 2, 4), axis)


# --- combiners of the user's -----------------------------------------------------------------


def largest(a: tl.Tile, b: tl.Tile) -> tl.Tile:
    return tl.where(a > b, a, b)


def test_a_function_and_a_lambda_combine():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        t = x.load_tile((4, 8), (0, 0))
        z.store(tl.reduce(t, 1, tl.neg_inf, largest) - tl.reduce(t, 1, 0.0, lambda a, b: a + b))

    func = ir_of(kernel, out((4,)), tensor(2, shape=(4, 8)))
    bodies = [[o.name for o in op.regions[0].ops] for op in func.walk() if op.name == "reduce"]
    assert bodies == [["cmpf", "select", "yield"], ["addf", "yield"]]
    x, z = samples(f32, (4, 8)), np.full(4, np.nan, np.float32)
    run(func, z, x)
    assert np.array_equal(z, x.max(1) - x.sum(1))


def test_several_tiles_are_reduced_together():
    def kernel(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
        t = x.load_tile((8,), 0)
        total, count = tl.reduce((t, tl.ones(8, i32)), 0, (0, 0), lambda a, n, b, m: (a + b, n + m))
        z.store(tl.full(z.shape, total * 100 + count))

    x, z = np.arange(8, dtype=np.int32), np.zeros(1, np.int32)
    run(ir_of(kernel, out((1,), i32), tensor(1, i32, (8,))), z, x)
    assert z[0] == 2808


def test_a_scan_passes_what_came_before_first():
    """A running linear recurrence: associative, but not commutative."""

    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        a, b = x.load_tile((1, 8), (0, 0)).reshape(8), x.load_tile((1, 8), (1, 0)).reshape(8)
        _, y = tl.scan((a, b), 0, (1.0, 0.0), lambda a0, b0, a1, b1: (a0 * a1, a1 * b0 + b1))
        z.store(y)

    x = fresh_rng().integers(-2, 3, (2, 8)).astype(np.float32)
    z, expected, y = np.zeros(8, np.float32), [], 0.0
    run(ir_of(kernel, out((8,)), tensor(2, shape=(2, 8))), z, x)
    for a, b in x.T:
        y = a * y + b
        expected.append(y)
    assert np.array_equal(z, expected)


def refused(code, kernel, *specs):
    with pytest.raises(CompileError) as caught:
        ir_of(kernel, *specs)
    assert caught.value.code is code, caught.value
    return caught.value


def test_a_combiner_gives_what_it_takes():
    def wrong_type(z: tl.TensorMut) -> None:
        z.store(tl.reduce(z.load(), 1, 0.0, lambda a, b: (a + b).astype(f16)))

    def wrong_count(z: tl.TensorMut) -> None:
        z.store(tl.reduce(z.load(), 1, 0.0, lambda a, b: (a, b)))

    error = refused(Code.TYPE, wrong_type, out((4, 8), shape=(4, 8)))
    assert error.message == "the combiner of `reduce` must return the types that it takes"
    assert (error.expected, error.got) == ("a scalar f32", "a scalar f16")
    error = refused(Code.TYPE, wrong_count, out((4, 8), shape=(4, 8)))
    assert error.message == "the combiner of `reduce` must return 1 values"


def test_a_combiner_only_computes():
    def kernel(z: tl.TensorMut) -> None:
        def noisy(a, b):
            print(a)
            return a + b

        z.store(tl.reduce(z.load(), 1, 0.0, noisy))

    error = refused(Code.CALL, kernel, out((4, 8), shape=(4, 8)))
    said = "the combiner of `reduce` may only compute, but this one contains `print`"
    assert error.message == said


def test_identities_are_constants_one_per_tile():
    kit = Kit()
    x = kit.tile(i32, 4)
    kit.refused(Code.NOT_STATIC, "reduce", x, 0, kit.tile(i32), largest)
    kit.refused(Code.PROMOTION, "reduce", x, 0, 0.5, largest)
    kit.refused(Code.CALL, "reduce", (x, x), 0, 0, largest)
    kit.refused(Code.CALL, "scan", (), 0, (), largest)
    kit.refused(Code.SHAPE, "scan", (x, kit.tile(i32, 8)), 0, (0, 0), largest)
