from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from rule_kit import Kit
from support.kernels import ir_of, out, pointer, run, tensor
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, f4e2m1fn, f16, f32, i32, i64, u32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.rules.pointers import ELEMENTS
from tilewright.ir.attrs import AtomicMode, Ordering, Scope
from tilewright.ir.types import TileType


def unsafe_kit():
    kit = Kit()
    kit.em.unsafe = True
    return kit


@pytest.mark.parametrize("mode", AtomicMode)
@pytest.mark.parametrize("dtype", [t for t in ALL if t is not f4e2m1fn])
def test_which_elements_each_mode_takes(mode, dtype):
    kit = unsafe_kit()
    p, x = kit.pointers(dtype, 4), kit.tile(dtype, 4)
    if dtype in ELEMENTS[mode]:
        result = kit("atomic_rmw", p, x, mode.value)
        assert result.type == TileType(dtype, (4,))
        assert kit.ops[-1].attrs["mode"] is mode
        assert kit(f"atomic_{mode.value}", p, x).type == result.type
    else:
        error = kit.refused(Code.DTYPE, "atomic_rmw", p, x, mode)
        assert error.got == dtype.name


def test_the_table_of_elements():
    names = {m.value: {t.name for t in types} for m, types in ELEMENTS.items()}
    ints = {"i32", "i64", "u32", "u64"}
    assert names["add"] == ints | {"f16", "bf16", "f32", "f64"}
    assert names["xchg"] == ints | {"f32", "f64"}
    assert all(names[m] == ints for m in ("and", "or", "xor", "max", "min"))


def test_the_default_order_and_others():
    kit = unsafe_kit()
    p = kit.pointers(i32)
    kit("atomic_add", p, 1)
    assert (kit.ops[-1].attrs["ordering"], kit.ops[-1].attrs["scope"]) == (
        Ordering.ACQ_REL, Scope.DEVICE
    )  # fmt: skip
    kit("atomic_cas", p, 0, 1, ordering="relaxed", scope="system")
    assert kit.ops[-1].attrs["ordering"] is Ordering.RELAXED
    kit.refused(Code.TYPE, "atomic_add", p, 1, ordering="weak")
    kit.refused(Code.TYPE, "atomic_rmw", p, 1, "divide")


def test_atomics_are_unsafe():
    kit = Kit()
    p = kit.pointers(i32)
    kit.refused(Code.UNSAFE, "atomic_add", p, 1)
    kit.refused(Code.UNSAFE, "atomic_cas", p, 0, 1)


def test_compare_and_swap_takes_what_an_exchange_takes():
    kit = unsafe_kit()
    assert kit("atomic_cas", kit.pointers(f32, 4), 0, 1.0).type == TileType(f32, (4,))
    kit.refused(Code.DTYPE, "atomic_cas", kit.pointers(f16), 0, 1)
    kit.refused(Code.DTYPE, "atomic_cas", kit.pointers(i64), kit.tile(i32), 1)


def test_a_histogram():
    def kernel(p: tl.Ptr[u32], x: tl.Tensor[i32]) -> None:
        t = x.load_tile((8,), tl.block_id(0), padding=-1)
        tl.atomic_add(p + t, 1, t >= 0)

    x = fresh_rng().integers(0, 5, 29).astype(np.int32)
    counts = np.zeros(5, np.uint32)
    func = ir_of(kernel, pointer(u32), tensor(1, i32), unsafe=True)
    run(func, counts, x, grid=(4, 1, 1))
    assert np.array_equal(counts, np.bincount(x, minlength=5))


def test_tiles_are_added_through_a_view():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        whole = tl.make_partition_view_mut(z, (4,))
        tl.atomic_red_view(whole, 0, x.load_tile((4,), tl.block_id(0)))

    z, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    func = ir_of(kernel, out((4,)), tensor(1), unsafe=True)
    run(func, z, x, grid=(2, 1, 1))
    assert np.array_equal(z, [4, 6, 8, 10, 0, 0, 0, 0])
    assert [op.name for op in func.walk()].count("check") == 2


@pytest.mark.parametrize(
    ("mode", "scope", "code"),
    [("xchg", "device", Code.TYPE), ("and", "device", Code.DTYPE), ("add", "system", Code.TYPE)],
)
def test_what_a_view_does_not_combine(mode, scope, code):
    def kernel(z: tl.TensorMut, *, M: tl.Const[str], S: tl.Const[str]) -> None:
        whole = tl.make_partition_view_mut(z, (4,))
        tl.atomic_red_view(whole, 0, z.load(), M, scope=S)

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)), unsafe=True, M=mode, S=scope)
    assert caught.value.code is code
