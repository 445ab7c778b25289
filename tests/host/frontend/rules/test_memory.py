from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, run, scalar, tensor
from support.numbers import fresh_rng
from tilewright.backend.reference import interpreter as reference
from tilewright.base.dtypes import bool_, f8e4m3fn, f8e8m0fnu, f16, f32, i8, i32
from tilewright.base.errors import Code, CompileError
from tilewright.ir.core import Placement
from tilewright.ir.launch_expr import LaunchFacts, evaluate
from tilewright.passes.bounds_checks import prove_checks

EXTENTS = [1, 3, 4, 5, 7, 8, 13]


def refused(code, kernel, *specs, **options):
    """Build a kernel that must be refused with this code; the complaint."""
    with pytest.raises(CompileError) as caught:
        ir_of(kernel, *specs, **options)
    assert caught.value.code is code, caught.value
    return caught.value


def names(func):
    return [op.name for op in func.walk()]


def ops(func, name):
    return [op for op in func.walk() if op.name == name]


def numbers(*shape):
    return fresh_rng().standard_normal(shape).astype(np.float32)


# --- the block's own region ------------------------------------------------------------------


def double(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)


@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("m", [1, 4, 5])
def test_load_like_and_store_cover_every_element(n, m):
    x, z = numbers(n, m), np.full((n, m), np.nan, np.float32)
    run(ir_of(double, out((4, 2)), tensor(2)), z, x, grid=(-(-n // 4), -(-m // 2), 1))
    assert np.array_equal(z, x * 2)


def double_padded(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z, padding=0) * 2.0)


def test_load_like_has_a_check_for_each_axis():
    func = ir_of(double_padded, out((4, 2)), tensor(2))
    assert names(func).count("check") == 2
    assert func.launch_checks == ()


def test_load_like_compares_extents_at_launch():
    """Which proves that its index lies inside."""
    func = ir_of(double, out((4, 2)), tensor(2))
    sides = [(("extent", "x", k), ("extent", "z", k)) for k in range(2)]
    assert [c.expr for c in func.launch_checks] == [("eq", *pair) for pair in sides]
    assert all("padding=0" in c.hint and not c.of_blocks for c in func.launch_checks)
    proved = prove_checks(func)
    assert {o.placement for o in proved.obligations} == {Placement.PROVED}
    assert proved.launch_checks == func.launch_checks


@pytest.mark.parametrize(
    ("src", "dst", "holds"),
    [(8, 8, True), (5, 8, True), (4, 8, False), (9, 8, True), (0, 0, True), (0, 1, False)],
)
def test_the_source_has_a_tile_wherever_the_output_has_one(src, dst, holds):
    func = prove_checks(ir_of(double_padded, out((4,)), tensor(1)))
    (check,) = func.launch_checks
    facts = LaunchFacts({"x": (src,), "z": (dst,)}, {}, (1, 1, 1))
    assert bool(evaluate(check.expr, facts)) is holds
    assert check.message == "axis 0 of `x`"


def test_extents_known_while_compiling_are_checked_then():
    eight = out((4,), shape=(8,))
    assert ir_of(double, eight, tensor(1, shape=(8,))).launch_checks == ()
    assert ir_of(double_padded, eight, tensor(1, shape=(5,))).launch_checks == ()
    error = refused(Code.SHAPE, double_padded, out((4,), shape=(9,)), tensor(1, shape=(8,)))
    assert error.expected == "x.shape[0] > 8"
    assert error.got == "x.shape[0] = 8, z has 9"
    error = refused(Code.SHAPE, double, eight, tensor(1, shape=(7,)))
    assert error.message == "`x` must have the extents of `z` in load_tile_like"
    assert error.expected == "x.shape[0] = 8, as `z`"
    assert error.got == "x.shape[0] = 7"
    assert "padding=0" in error.hint


def test_load_like_wants_the_same_rank():
    error = refused(Code.RANK, double, out((4,)), tensor(2))
    assert error.message == "`x` and `z` differ in rank"
    assert error.hint == "load by index: x.load_tile(shape, index)"


def test_load_like_of_another_output_is_its_own_region():
    def copy(z: tl.TensorMut, y: tl.TensorMut) -> None:
        z.store(tl.load_tile_like(y, z))

    z, y = np.full(7, np.nan, np.float32), numbers(7)
    run(ir_of(copy, out((4,)), out((4,))), z, y, grid=(2, 1, 1))
    assert np.array_equal(z, y)
    error = refused(Code.SHAPE, copy, out((4,)), out((8,)))
    assert error.hint == "a block may only read its own region: y.load()"


def test_load_and_store_of_an_output_have_two_spellings():
    def methods(z: tl.TensorMut) -> None:
        z.store(z.load() + 1.0)

    def functions(z: tl.TensorMut) -> None:
        tl.store_tile(z, tl.load_tile_mut(z) + 1.0)

    for kernel in (methods, functions):
        z = numbers(6)
        expected = z + 1
        run(ir_of(kernel, out((4,))), z, grid=(2, 1, 1))
        assert np.array_equal(z, expected)


def test_extent_is_the_valid_part():
    def extent(z: tl.TensorMut[i32]) -> None:
        z.store(tl.full(z.shape, z.extent[0] * 10 + z.extent[1]))

    z = np.zeros((5, 3), np.int32)
    run(ir_of(extent, out((4, 2), i32)), z, grid=(2, 2, 1))
    expected = np.array([[42] * 2 + [41]] * 4 + [[12] * 2 + [11]])
    assert np.array_equal(z, expected)


def test_extent_of_a_whole_number_of_tiles_is_constant():
    def extent(z: tl.TensorMut) -> None:
        z.store(tl.zeros(z.extent, z.dtype))

    func = ir_of(extent, out((4, 2), shape=(8, 6)))
    assert "extent" not in names(func)


# --- tensors ---------------------------------------------------------------------------------


def by_index(z: tl.TensorMut, x: tl.Tensor) -> None:
    i = tl.block_id(0)
    z.store(x.load_tile((4,), tl.num_blocks(0) - 1 - i, padding=7))


@pytest.mark.parametrize("n", EXTENTS)
def test_load_tile_counts_tiles_and_pads(n):
    tiles = -(-n // 4)
    x, z = numbers(n), np.full(tiles * 4, np.nan, np.float32)
    run(ir_of(by_index, out((4,)), tensor(1)), z, x, grid=(tiles, 1, 1))
    padded = np.full(tiles * 4, 7, np.float32)
    padded[:n] = x
    assert np.array_equal(z, padded.reshape(tiles, 4)[::-1].ravel())


def beyond(z: tl.TensorMut, x: tl.Tensor, by: i32) -> None:
    z.store(x.load_tile((4,), tl.block_id(0) + by))


@pytest.mark.parametrize("by", [-1, 2, 2**31 - 1, -(2**31)])
def test_an_index_outside_of_the_tiles_is_reported_and_harmless(by):
    x, z = numbers(8), np.full(8, np.nan, np.float32)
    func = ir_of(beyond, out((4,)), tensor(1), scalar(i32))
    outcome = reference.run(func, (z, x, by), (2, 1, 1))
    assert outcome.failure is not None
    assert (outcome.failure.site.tensor, outcome.failure.site.axis) == ("x", 0)
    assert outcome.failure.extent == 2
    assert not outcome.problems


@pytest.mark.parametrize(
    ("index", "extent", "asked"), [(0, 8, 0), (1, 8, 0), (0, None, 1), (3, None, 1)]
)
def test_a_constant_index_that_is_surely_inside_needs_no_check(index, extent, asked):
    def load(z: tl.TensorMut, x: tl.Tensor, *, K: tl.Const[int]) -> None:
        z.store(x.load_tile((4,), K))

    func = ir_of(load, out((4,)), tensor(1, shape=(extent,)), K=index)
    assert names(func).count("check") == 1
    func = prove_checks(func)
    assert "check" not in names(func)
    assert len(func.launch_checks) == asked


@pytest.mark.parametrize(
    ("index", "extent", "expected"),
    [(2, 8, "0 <= index < 2"), (-1, 8, "0 <= index < 2"), (-1, None, "0 or more")],
)
def test_a_constant_index_that_is_surely_outside_is_refused(index, extent, expected):
    def load(z: tl.TensorMut, x: tl.Tensor, *, K: tl.Const[int]) -> None:
        z.store(x.load_tile((4,), [K]))

    error = refused(Code.INDEX, load, out((4,)), tensor(1, shape=(extent,)), K=index)
    assert error.message == f"tile index {index} is out of bounds of `x` on axis 0"
    assert error.expected == expected
    assert error.hint == "indices count tiles, not elements"


def test_each_axis_has_its_own_check():
    def load(z: tl.TensorMut, x: tl.Tensor) -> None:
        i, j, _ = tl.get_tile_block_id()
        z.store(x.load_tile((4, 8), (j, i)))

    func = ir_of(load, out((4, 8)), tensor(2))
    assert [(c.attrs["tensor"], c.attrs["axis"]) for c in ops(func, "check")] == [
        ("x", 0), ("x", 1)
    ]  # fmt: skip
    assert ops(func, "load_view")[0].one("guard") is ops(func, "andi")[0].result


def test_shapes_and_ranks_must_fit():
    def wrong_shape(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(x.load_tile((4,), 0))

    def wrong_index(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(x.load_tile((4, 4), 0))

    def wide_index(z: tl.TensorMut, x: tl.Tensor, n: tl.Tensor) -> None:
        z.store(x.load_tile((4, 4), (tl.arange(4), 0)))

    error = refused(Code.RANK, wrong_shape, out((4,)), tensor(2))
    assert error.message == "`x` has 2 axes, but the tile shape has 1 axis"
    error = refused(Code.RANK, wrong_index, out((4,)), tensor(2))
    assert error.message == "`x` has 2 axes, but the index has 1 number"
    error = refused(Code.TYPE, wide_index, out((4, 4)), tensor(2), tensor(1))
    assert error.message == "index[0] must be a scalar i32"


def test_shape_dtype_and_rank_are_values():
    def facts(z: tl.TensorMut[i32], x: tl.Tensor[f16]) -> None:
        n, m = x.shape
        assert x.rank == 2 and x.ndim == 2 and z.ndim == 1
        assert x.dtype == f16 and z.dtype == i32
        assert tl.get_tensor_shape(x)[1] == 6
        z.store(tl.full(z.shape, n * m))

    z = np.zeros(2, np.int32)
    run(ir_of(facts, out((2,), i32), tensor(2, f16, (None, 6))), z, np.zeros((7, 6), np.float16))
    assert list(z) == [42, 42]


# --- partitions ------------------------------------------------------------------------------


def matmul(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    bm, bn = z.shape
    a, b = x.partition((bm, 4)), y.partition((4, bn))
    i, j, _ = tl.get_tile_block_id()
    acc = tl.zeros((bm, bn), f32)
    for k in range(tl.num_tiles(a, 1)):
        acc = tl.mma(a.load([i, k]), b.load_pipelined([k, j], 4), acc)
    z.store(acc)


@pytest.mark.parametrize("k", [1, 3, 4, 5, 13])
def test_partitions_are_loaded_by_index(k):
    x, y = np.round(numbers(5, k) * 8), np.round(numbers(k, 3) * 8)
    z = np.full((5, 3), np.nan, np.float32)
    run(ir_of(matmul, out((4, 2)), tensor(2), tensor(2)), z, x, y, grid=(2, 2, 1))
    assert np.array_equal(z, x @ y)


def test_permuted_partitions():
    def transpose(z: tl.TensorMut, x: tl.Tensor) -> None:
        i, j, _ = tl.get_tile_block_id()
        z.store(x.partition_permuted(z.shape, (1, 0)).load((i, j)))

    def same(z: tl.TensorMut, x: tl.Tensor) -> None:
        i, j, _ = tl.get_tile_block_id()
        z.store(x.partition(z.shape, dim_map=(1, 0)).load((i, j)))

    x = numbers(5, 7)
    for kernel in (transpose, same):
        z = np.full((7, 5), np.nan, np.float32)
        func = ir_of(kernel, out((4, 2)), tensor(2))
        run(func, z, x, grid=(2, 3, 1))
        assert np.array_equal(z, x.T)
        assert [c.attrs["axis"] for c in ops(func, "check")] == [1, 0]


@pytest.mark.parametrize("dim_map", [(0, 0), (0,), (1, 2), (-1, 0)])
def test_dim_map_orders_the_axes(dim_map):
    def kernel(z: tl.TensorMut, x: tl.Tensor, *, D: tl.Const[tuple[int, ...]]) -> None:
        z.store(x.partition((4, 4), dim_map=D).load((0, 0)))

    error = refused(Code.RANK, kernel, out((4, 4)), tensor(2), D=dim_map)
    assert error.message == "dim_map is not a permutation of the 2 axes"


def test_tile_counts():
    def counts(z: tl.TensorMut[i32], x: tl.Tensor) -> None:
        p = x.partition((4, 2))
        assert p.shape == (4, 2) and p.grid[1] == 3 and p.rank == 2
        assert tl.get_index_space_shape(p)[1] == p.num_tiles(-1)
        z.store(tl.full(z.shape, p.grid[0] * 100 + tl.num_tiles(p) * 10 + p.num_tiles(1)))

    z = np.zeros(1, np.int32)
    run(ir_of(counts, out((1,), i32), tensor(2, shape=(None, 6))), z, numbers(9, 6))
    assert z[0] == 333


def nested(z: tl.TensorMut, x: tl.Tensor) -> None:
    p = z.partition_mut((2,))
    q = x.partition((2,))
    for k in range(tl.num_tiles(p)):
        p.store(p.load(k) + q.load(tl.block_id(0) * 4 + k) * 0.0 + float(1), k)


@pytest.mark.parametrize("n", [8, 16, 13, 9])
def test_nested_partitions_stay_inside_their_region(n):
    z = numbers(n)
    expected = z + 1
    blocks = -(-n // 8)
    run(ir_of(nested, out((8,)), tensor(1)), z, numbers(blocks * 8), grid=(blocks, 1, 1))
    assert np.array_equal(z, expected)


def test_a_nested_tile_that_hangs_over_is_cut_at_the_region():
    def fill(z: tl.TensorMut) -> None:
        if tl.block_id(0) == 0:
            z.partition_mut((8, 8)).store(tl.ones((8, 8), f32), (0, 0))

    z = np.zeros((8, 8), np.float32)
    run(ir_of(fill, out((4, 2))), z, grid=(2, 4, 1))
    expected = np.zeros((8, 8))
    expected[:4] = 1
    assert np.array_equal(z, expected)


def test_nested_indices_are_checked_against_the_region():
    func = ir_of(nested, out((8,)), tensor(1))
    assert ops(func, "check")[0].attrs["tensor"] == "z"

    def beyond(z: tl.TensorMut) -> None:
        z.partition_mut((2,)).store(tl.zeros(2), 4)

    error = refused(Code.INDEX, beyond, out((8,)))
    assert error.expected == "0 <= index < 4"


# --- what may be stored ----------------------------------------------------------------------


def test_a_read_only_tensor_is_not_written():
    def store(z: tl.TensorMut, x: tl.Tensor) -> None:
        x.store(z.load())

    def function(z: tl.TensorMut, x: tl.Tensor) -> None:
        tl.store_tile(x, z.load())

    def through_partition(z: tl.TensorMut, x: tl.Tensor) -> None:
        x.partition((4,)).store(z.load(), 0)

    def cut(z: tl.TensorMut, x: tl.Tensor) -> None:
        x.partition_mut((4,))

    for kernel in (store, function, through_partition, cut):
        error = refused(Code.READ_ONLY, kernel, out((4,)), tensor(1))
        assert error.message == "`x` is read-only"
        assert error.hint == (
            "declare it as an output, `x: tl.TensorMut`, and pass a partition of it"
        )


@pytest.mark.parametrize(
    ("value", "code", "hint"),
    [
        (lambda z: tl.zeros((8, 4), f32), Code.SHAPE, "rearrange it: tile.reshape((4, 8))"),
        (lambda z: tl.zeros((4,), f32), Code.SHAPE,
         "insert an axis with x[:, None] or x[None, :], or make it with keepdims=True"),
        (lambda z: tl.zeros((8, 8), f32), Code.SHAPE,
         "make the tile with z.shape, or store parts of it: z.partition_mut(shape)"),
        (lambda z: tl.zeros((4, 8), f16), Code.DTYPE, "convert it: tile.astype(tw.f32)"),
        (lambda z: tl.zeros((4, 8), bool_), Code.DTYPE, "convert it: tile.astype(tw.f32)"),
    ],
)  # fmt: skip
def test_a_stored_tile_fits_exactly(value, code, hint):
    def kernel(z: tl.TensorMut) -> None:
        z.store(value(z))

    assert refused(code, kernel, out((4, 8))).hint == hint


def test_storing_a_tensor_says_to_load_it():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(x)

    error = refused(Code.TYPE, kernel, out((4,)), tensor(1))
    assert "load a tile first" in error.hint


# --- padding ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "padding", "kept"),
    [(f32, 0, 0.0), (f32, tl.neg_inf, float("-inf")), (f16, 0.1, float(np.float16(0.1))),
     (f32, None, None), (i8, -128, -128), (bool_, 0, False), (bool_, 1, True),
     (f8e4m3fn, 1.5, 1.5), (f8e8m0fnu, 0, 2.0**-127), (f32, tl.neg_zero, -0.0)],
)  # fmt: skip
def test_padding_is_a_value_of_the_element_type(dtype, padding, kept):
    def kernel(z: tl.TensorMut, *, P: tl.Const[float]) -> None:
        z.store(z.load(padding=P))

    func = ir_of(kernel, out((4,), dtype), P=padding)
    found = ops(func, "load_view")[0].one("view").view.padding
    assert (found, type(found), str(found)) == (kept, type(kept), str(kept))


@pytest.mark.parametrize(
    ("dtype", "padding", "code"),
    [(i32, 0.5, Code.LITERAL), (i32, tl.neg_inf, Code.LITERAL), (i8, 200, Code.LITERAL),
     (f8e4m3fn, tl.pos_inf, Code.LITERAL), (f16, 1e6, Code.LITERAL), (f32, "x", Code.NOT_STATIC)],
)  # fmt: skip
def test_padding_that_is_no_such_value(dtype, padding, code):
    def kernel(z: tl.TensorMut, *, P: tl.Const[float]) -> None:
        z.store(z.load(padding=P))

    refused(code, kernel, out((4,), dtype), P=padding)


def test_padding_is_loaded_outside_of_the_tensor():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(tl.load_tile_like(x, z, padding=tl.nan))

    z = np.zeros(4, np.float32)
    run(ir_of(kernel, out((4,)), tensor(1)), z, np.ones(3, np.float32))
    assert np.array_equal(z, [1, 1, 1, np.nan], equal_nan=True)


# --- hints and unchecked access --------------------------------------------------------------


def test_hints_are_constants_in_range():
    def kernel(z: tl.TensorMut, x: tl.Tensor, *, L: tl.Const[int]) -> None:
        z.store(x.partition((4,)).load(0, latency=L, allow_tma=False))

    func = ir_of(kernel, out((4,)), tensor(1), L=3)
    attrs = ops(func, "load_view")[0].attrs
    assert (attrs["latency"], attrs["allow_tma"]) == (3, False)
    assert refused(Code.CALL, kernel, out((4,)), tensor(1), L=11).expected == "1 to 10"


def test_unchecked_access_is_unsafe():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        i = tl.block_id(0)
        z.partition_mut((4,)).store_unchecked(x.partition((4,)).load_unchecked(i + 1), 0)

    refused(Code.UNSAFE, kernel, out((4,)), tensor(1))
    func = ir_of(kernel, out((4,)), tensor(1), unsafe=True)
    assert "check" not in names(func)
    z = np.full(8, np.nan, np.float32)
    run(func, z, np.arange(6, dtype=np.float32), grid=(2, 1, 1))
    assert np.array_equal(z, [4, 5, 0, 0, 0, 0, 0, 0])
