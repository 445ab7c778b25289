"""Loops, branches and prints on CUDA: signed and unsigned bounds, arms copied, f4 as bits."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir
from support.expressions import Output, held
from tilewright.backend.tileir import stages
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.backend.tileir.target import TileTarget
from tilewright.base.dtypes import (
    bf16,
    bool_,
    f4e2m1fnx2,
    f8e4m3fn,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u32,
)


@tw.entry
def summed(out: tl.TensorMut[i64], low: i32, high: i32, step: i32) -> None:
    total = i64(0)
    for i in range(low, high, step):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


@tw.entry
def summed_unsigned(out: tl.TensorMut[i64], low: u32, high: u32, step: u32) -> None:
    total = i64(0)
    for i in range(low, high, step):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


@tw.entry
def counted(out: tl.TensorMut[i64], low: i32, high: i32) -> None:
    total = i64(0)
    for i in range(low, high):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


@tw.entry
def counted_unsigned(out: tl.TensorMut[i64], low: u32, high: u32) -> None:
    total = i64(0)
    for i in range(low, high):
        total += i64(i) + 1000
    out.store(tl.full((1,), total, i64))


HALF = 1 << 31


@pytest.mark.parametrize(
    ("kernel", "bounds"),
    [
        (summed, (-3, 4, 2)), (summed, (-HALF, -HALF + 3, 1)), (summed, (3, -3, 1)),
        (summed_unsigned, (HALF - 2, HALF + 2, 1)), (summed_unsigned, (1, 2 * HALF - 1, HALF)),
        (summed_unsigned, (HALF + 1, 5, 1)), (counted, (-3, 4)), (counted, (3, -3)),
        (counted_unsigned, (HALF - 2, HALF + 2)), (counted_unsigned, (HALF + 2, 5)),
    ],
)  # fmt: skip
def test_bounds_on_both_sides_of_zero_or_of_the_sign(kernel, bounds, simulated_gpu):
    z = Output((1,), i64)
    kernel(z.cut(1), *bounds).sync()
    assert z.result().tolist() == [sum(i + 1000 for i in range(*bounds))]


@tw.entry
def either(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, which: i32) -> None:
    a, b = tl.load_tile_like(x, out), tl.load_tile_like(y, out)
    if which > 0:
        chosen = a
    else:
        chosen = b
    out.store(chosen)


@tw.entry(unsafe=True)
def chosen_pointers(out: tl.TensorMut[f32], p: tl.Ptr[f32], q: tl.Ptr[f32], which: i32) -> None:
    if which > 0:
        chosen = p + tl.arange(8)
    else:
        chosen = q + tl.arange(8)
    out.store(tl.load_ptr(chosen))


DTYPES = [bf16, bool_, f8e4m3fn, f16, f32, f64, i8, i16, i32, i64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
def test_arms_that_copy_their_values_mean_the_same(dtype, simulated_gpu, monkeypatch):
    """What assemblers have failed on is written otherwise: the bits are taken apart and joined."""
    monkeypatch.setattr(stages, "TileTarget", partial(TileTarget, careful=True))
    bits = np.random.default_rng(0).integers(0, 256, (2, 8 * dtype.itemsize), np.uint8)
    x, y = (bits & 1).view(np.bool_) if dtype.is_bool else bits.view(dtype.np)
    for which, expected in ((1, x), (0, y)):
        z = Output((8,), dtype)
        either(z.cut(8), x, y, which).sync()
        assert z.result().tobytes() == expected.tobytes()


def text_of(kernel, *args, careful=True):
    target = TileTarget("sm_90", careful=careful)
    return program_text(stages.lowered(cuda_ir(kernel, *args), target).program)


@pytest.mark.parametrize("dtype", [f32, i8, bool_], ids=str)
def test_arms_are_copied_with_care_alone(dtype):
    args = tw.meta((8,), dtype).partition_mut((8,)), tw.meta((8,), dtype), tw.meta((8,), dtype), 1
    assert re.search(r"= shli .*tile<8x", text_of(either, *args))
    assert "shli" not in text_of(either, *args, careful=False)


@tw.entry
def chosen_scalar(out: tl.TensorMut[i32], n: i32, which: i32) -> None:
    if which > 0:
        chosen = n
    else:
        chosen = n + 1
    out.store(tl.full((8,), chosen, i32))


def test_scalars_and_pointers_are_never_copied():
    out = tw.meta((8,), i32).partition_mut((8,))
    assert "shli" not in text_of(chosen_scalar, out, 1, 1)
    x = tw.zeros((8,)).sync()
    with tw.unsafe():
        pointer = x.device_pointer()
        out = tw.meta((8,)).partition_mut((8,))
        assert "shli" not in text_of(chosen_pointers, out, pointer, pointer, 1)


@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
def test_numbers_alone_are_printed(simulated_gpu, capsys):
    """By each block, which has its number in the record."""

    @tw.entry
    def show(n: i32) -> None:
        print(n)

    show(7).grid((3,)).sync()
    assert capsys.readouterr().out == "7\n7\n7\n"


@pytest.mark.parametrize("simulated_gpu", ["sm_100"], indirect=True)
def test_small_floats_are_printed(simulated_gpu, capsys):
    @tw.entry
    def show(x: tl.Tensor[f4e2m1fnx2]) -> None:
        print(x.load_tile((4,), 0).unpack())

    pairs = np.array([0x21, 0x53, 0x97, 0xFB], np.uint8)
    show(held(pairs, f4e2m1fnx2)).grid((1,)).sync()
    assert capsys.readouterr().out == "[0.5 1 1.5 3 6 -0.5 -1.5 -6]\n"
