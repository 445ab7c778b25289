from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from rule_kit import Kit
from support.kernels import ir_of, out, pointer, run, scalar, tensor
from support.numbers import fresh_rng
from tilewright.backend.reference import interpreter as reference
from tilewright.base.dtypes import bf16, bool_, f16, f32, i8, i32, i64, u32, u64
from tilewright.base.errors import Code, CompileError
from tilewright.ir.attrs import Ordering, Scope
from tilewright.ir.types import PtrType, TileType


def unsafe_kit():
    kit = Kit()
    kit.em.unsafe = True
    return kit


UNSAFE_CALLS = {
    "load_ptr": lambda p: (p,), "store_ptr": lambda p: (p, 1.0), "gather": lambda p: (p, 0),
    "scatter": lambda p: (p, 0, 1.0), "addptr": lambda p: (p, 1), "ptr_to_int": lambda p: (p,),
    "ptr_to_ptr": lambda p: (p, i32), "make_tensor_view": lambda p: (p, (4,)),
    "PointerTile.offset": lambda p: (p, 1), "operator.add": lambda p: (p, 1),
    "operator.sub": lambda p: (p, 1), "assume_div_by": lambda p: (p, 16),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSAFE_CALLS)
def test_raw_memory_is_unsafe(name):
    kit = Kit()
    args = UNSAFE_CALLS[name](kit.pointers(f32))
    kit.refused(Code.UNSAFE, name, *args)
    kit.em.unsafe_depth = 1
    kit(name, *args)


# --- arithmetic ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [i8, i32, i64, u32])
@pytest.mark.parametrize("name", ["operator.add", "PointerTile.offset_tile", "addptr_tile"])
def test_pointers_move_by_tiles_of_any_integers(name, by):
    kit = unsafe_kit()
    result = kit(name, kit.pointers(f32), kit.tile(by, 4, 8))
    assert result.type == TileType(PtrType(f32), (4, 8))
    assert kit.ops[-1].name == "offset"


def test_numbers_move_and_sides_broadcast():
    kit = unsafe_kit()
    p = kit.pointers(f16, 4, 1)
    assert kit("operator.add", 3, p).type == p.type
    assert kit("operator.add", p, kit.tile(i32, 8)).type == TileType(PtrType(f16), (4, 8))
    kit("operator.add", p, 1 << 40)
    assert [op.attrs["dtype"] for op in kit.ops if op.name == "constant"] == [i32, i64]


@pytest.mark.parametrize(
    ("by", "code"), [(1.5, Code.DTYPE), ((0, 1), Code.TYPE), (True, Code.DTYPE)]
)
def test_what_pointers_do_not_move_by(by, code):
    kit = unsafe_kit()
    kit.refused(code, "operator.add", kit.pointers(f32), by)


def test_shapes_that_do_not_broadcast():
    kit = unsafe_kit()
    kit.refused(Code.BROADCAST, "operator.add", kit.pointers(f32, 4), kit.tile(i32, 8))


def test_pointers_are_no_numbers():
    kit = unsafe_kit()
    p = kit.pointers(f32)
    kit.refused(Code.TYPE, "operator.mul", p, 2)
    error = kit.refused(Code.TYPE, "operator.sub", p, p)
    assert error.hint == "subtract addresses: tl.ptr_to_int(p) - tl.ptr_to_int(q)"
    kit.refused(Code.TYPE, "load_ptr", kit.tile(f32, 4))


def test_shapes_of_pointers():
    kit = unsafe_kit()
    p = kit.pointers(f32)
    wide = kit("PointerTile.broadcast", p, 4, 8)
    assert wide.type == TileType(PtrType(f32), (4, 8))
    assert kit("broadcast_ptr", p, (4, 8)).type == wide.type
    assert kit("reshape_ptr", wide, (8, 4)).type == TileType(PtrType(f32), (8, 4))
    assert kit("PointerTile.reshape", wide, [32]).type == TileType(PtrType(f32), (32,))
    kit.refused(Code.SHAPE, "reshape_ptr", wide, (16,))
    assert kit("PointerTile.shape", wide) == (4, 8)
    assert kit("PointerTile.dtype", wide) is f32
    assert kit("PointerTile.rank", wide) == kit("PointerTile.ndim", wide) == 2
    assert kit("pointer_to_tile", p) is p
    assert kit("tile_to_pointer", kit("reshape_ptr", p, (1, 1))).type == p.type
    kit.refused(Code.SHAPE, "tile_to_pointer", wide)


def test_addresses():
    kit = unsafe_kit()
    p = kit.pointers(f32, 4)
    number = kit("ptr_to_int", p)
    assert number.type == TileType(i64, (4,))
    assert kit("int_to_ptr", number, bf16).type == TileType(PtrType(bf16), (4,))
    assert kit("int_to_ptr", kit.tile(u64), f32).type == TileType(PtrType(f32))
    assert kit("ptr_to_ptr", p, i8).type == TileType(PtrType(i8), (4,))
    kit.refused(Code.DTYPE, "int_to_ptr", kit.tile(i32), f32)


# --- access ----------------------------------------------------------------------------------


def test_orders_and_scopes():
    kit = unsafe_kit()
    p = kit.pointers(f32, 4)
    kit("load_ptr", p, ordering="acquire", scope="system", latency=2)
    kit("store_ptr", p, 1.0, ordering=Ordering.RELEASE, scope=Scope.TILE_BLOCK)
    load, store = kit.ops[0], kit.ops[-1]
    assert (load.attrs["ordering"], load.attrs["scope"]) == (Ordering.ACQUIRE, Scope.SYSTEM)
    assert load.attrs["latency"] == 2
    assert (store.attrs["ordering"], store.attrs["scope"]) == (Ordering.RELEASE, Scope.TILE_BLOCK)
    kit.refused(Code.TYPE, "load_ptr", p, ordering="release")
    kit.refused(Code.TYPE, "store_ptr", p, 1.0, ordering="acquire")
    kit.refused(Code.TYPE, "load_ptr", p, scope="planet")


def test_masks_and_fills_broadcast():
    kit = unsafe_kit()
    p = kit.pointers(f32, 4, 8)
    assert kit("load_ptr", p, kit.tile(bool_, 8), 0).type == TileType(f32, (4, 8))
    assert kit("load_ptr", p, True, 0.5).type == TileType(f32, (4, 8))
    assert kit.ops[-1].sizes == (1, 0, 0), "a mask that is always true is none"
    kit("load_ptr", p, False)
    assert kit.ops[-1].sizes == (1, 1, 0)
    kit.refused(Code.CALL, "load_ptr", p, None, 0.5)
    kit.refused(Code.DTYPE, "load_ptr", p, kit.tile(i32, 8))
    kit.refused(Code.BROADCAST, "load_ptr", p, kit.tile(bool_, 4))


def test_stored_values_have_the_pointed_type():
    kit = unsafe_kit()
    p = kit.pointers(f16, 4)
    kit("store_ptr", p, 1)
    error = kit.refused(Code.DTYPE, "store_ptr", p, kit.tile(f32, 4))
    assert error.hint == "convert it: x.astype(tw.f16)"


def test_gather_and_scatter():
    def kernel(p: tl.Ptr[f32], q: tl.Ptr[f32], n: i32) -> None:
        i = tl.block_id(0) * 4 + tl.arange(4)
        inside = i < n
        tl.scatter(q, n - 1 - i, tl.gather(p, i, inside, 9.0) * 2.0, inside)

    func = ir_of(kernel, pointer(), pointer(), scalar(i32), unsafe=True)
    a = fresh_rng().standard_normal(7).astype(np.float32)
    b = np.zeros(7, np.float32)
    run(func, a, b, 7, grid=(2, 1, 1))
    assert np.array_equal(b, a[::-1] * 2)


def test_fill_stands_where_the_mask_is_false():
    def kernel(z: tl.TensorMut, p: tl.Ptr[f32]) -> None:
        z.store(tl.load_ptr(p + tl.arange(8), tl.arange(8) < 3, -1.0))

    a, z = np.arange(3, dtype=np.float32), np.zeros(8, np.float32)
    run(ir_of(kernel, out((8,)), pointer(), unsafe=True), z, a)
    assert np.array_equal(z, [0, 1, 2, -1, -1, -1, -1, -1])


# --- views of raw memory ---------------------------------------------------------------------


def test_a_tensor_at_a_pointer():
    def kernel(p: tl.Ptr[f32], q: tl.Ptr[f32], n: i32) -> None:
        x = tl.make_tensor_view(p, (n, 6))
        y = tl.make_tensor_view(q, (6, n), (1, 6))
        source, target = x.partition((2, 4)), tl.make_partition_view_mut(y, (4, 2))
        for i in range(tl.num_tiles(source)):
            for j in range(2):
                target.store(source.load((i, j)).T * 2.0, (j, i))

    func = ir_of(kernel, pointer(), pointer(), scalar(i32), unsafe=True)
    a = fresh_rng().standard_normal((5, 6)).astype(np.float32)
    b = np.full((5, 6), np.nan, np.float32)
    run(func, a, b, 5)
    assert np.array_equal(b, a * 2)


def test_row_major_strides_are_computed():
    kit = unsafe_kit()
    n = kit.tile(i32)
    ref = kit("make_tensor_view", kit.pointers(f32), (4, n, 8))
    assert (ref.type.shape, ref.type.strides) == ((4, None, 8), (None, 8, 1))
    kit.func  # noqa: B018 - verifies
    kit.refused(Code.RANK, "make_tensor_view", kit.pointers(f32), (4, 8), (1,))


def test_a_tensor_at_an_address_in_memory():
    def kernel(z: tl.TensorMut, addresses: tl.Tensor[i64], k: i32, memory: tl.Tensor) -> None:
        x = tl.load_tensor(addresses, k, (4,), None, f32)
        z.store(x.load_tile((4,), 0))

    func = ir_of(kernel, out((4,)), tensor(1, i64), scalar(i32), tensor(2), unsafe=True)
    rows = fresh_rng().standard_normal((3, 4)).astype(np.float32)
    table = np.array([row.ctypes.data for row in rows], np.int64)
    for k in range(3):
        z = np.zeros(4, np.float32)
        run(func, z, table, k, rows)
        assert np.array_equal(z, rows[k])
    z = np.full(4, np.nan, np.float32)
    outcome = reference.run(func, (z, table, 3, rows), (1, 1, 1))
    assert outcome.failure.site.tensor == "addresses"
    assert not outcome.problems, "without an address nothing is read"


def test_whole_outputs_are_written_only_in_unsafe_code():
    def kernel(z: tl.TensorMut) -> None:
        p = tl.make_partition_view_mut(z, (4,))
        p.store(tl.full((4,), float(1)), tl.num_blocks(0) - 1 - tl.block_id(0))

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)))
    assert caught.value.code is Code.UNSAFE
    z = np.zeros(7, np.float32)
    run(ir_of(kernel, out((4,)), unsafe=True), z, grid=(2, 1, 1))
    assert np.array_equal(z, np.ones(7))


def test_a_read_only_tensor_stays_read_only():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        tl.make_partition_view_mut(x, (4,))

    def strided(z: tl.TensorMut, x: tl.Tensor) -> None:
        tl.make_strided_view(x, (4,), 2).store(z.load(), 0)

    for wrong in (kernel, strided):
        with pytest.raises(CompileError) as caught:
            ir_of(wrong, out((4,)), tensor(1), unsafe=True)
        assert caught.value.code is Code.READ_ONLY


def test_strided_views_overlap():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        v = tl.make_strided_view(x, (4,), 2)
        assert v.num_tiles() == tl.ceil_div(x.shape[0], 2)
        z.store(v.load(tl.block_id(0)))

    func = ir_of(kernel, out((4,)), tensor(1), unsafe=True)
    z = np.zeros(20, np.float32)
    run(func, z, np.arange(9, dtype=np.float32), grid=(5, 1, 1))
    expected = [[2 * i + j if 2 * i + j < 9 else 0 for j in range(4)] for i in range(5)]
    assert np.array_equal(z.reshape(5, 4), expected)


@pytest.mark.parametrize("steps", [0, (1, 1), (-1,)])
def test_steps_that_do_not_fit(steps):
    def kernel(z: tl.TensorMut, x: tl.Tensor, *, S: tl.Const[int]) -> None:
        tl.make_strided_view(x, (4,), S)

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)), tensor(1), unsafe=True, S=steps)
    assert caught.value.code is Code.SHAPE


def test_rows_are_gathered_and_scattered():
    def kernel(z: tl.TensorMut, x: tl.Tensor, rows: tl.Tensor[i32]) -> None:
        r = rows.load_tile((4,), 0)
        source = tl.make_gather_scatter_view(x, (4, 2), 0, padding=-1)
        target = tl.make_gather_scatter_view(z, (4, 2), axis=0, padding=0)
        target.store(source.load([r, 1]), (r, 0))

    func = ir_of(kernel, out((4, 2)), tensor(2), tensor(1, i32), unsafe=True)
    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    z = np.zeros((8, 2), np.float32)
    run(func, z, x, np.array([3, 0, 9, 7], np.int32))
    expected = np.zeros((8, 2))
    expected[[3, 0, 7]] = x[[3, 0, 7], 1:]
    assert np.array_equal(z, expected)


def test_views_are_loaded_and_stored_without_checks():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        t = tl.load_view_tko(tl.make_partition_view(x, (4,), padding=5), tl.block_id(0) + 1)
        tl.store_view_tko(z.partition_mut((4,)), 0, t)

    func = ir_of(kernel, out((4,)), tensor(1), unsafe=True)
    assert "check" not in [op.name for op in func.walk()]
    z = np.zeros(8, np.float32)
    run(func, z, np.arange(6, dtype=np.float32), grid=(2, 1, 1))
    assert np.array_equal(z, [4, 5, 5, 5, 5, 5, 5, 5])


# --- promises --------------------------------------------------------------------------------


def test_promises_give_the_value_back():
    kit = unsafe_kit()
    x = kit.tile(i32, 4, 8)
    assert kit("assume_div_by", x, 16) is x
    assert kit("assume_div_by", 32, 16) == 32
    assert kit("assume_div_by_every_along", x, 8, 4, -1) is x
    assert kit("assume_bounds", x, 0, 100) is x
    assert kit("assume_bounds_lower", 5, 5) == 5
    assert kit("assume_bounds_upper", x, 9) is x
    assert kit("assume_same_elements", x, (1, 8)) is x
    assert kit.ops == []


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("assume_div_by", (33, 16), Code.ASSERTION), ("assume_div_by", (32, 0), Code.CALL),
        ("assume_bounds", (5, 6, 9), Code.ASSERTION), ("assume_bounds", (5, 0, 4), Code.ASSERTION),
        ("assume_div_by", ("x", 4), Code.TYPE), ("assume_same_elements", (4, (2,)), Code.RANK),
    ],
)  # fmt: skip
def test_promises_that_are_broken_or_mean_nothing(name, args, code):
    unsafe_kit().refused(code, name, *args)
