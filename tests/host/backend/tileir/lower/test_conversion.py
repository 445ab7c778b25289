"""Conversions to the smallest floats on CUDA: NaN, ties and ends as NumPy's have them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.expressions import Output
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.base.dtypes import (
    f4e2m1fn,
    f4e2m1fnx2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u64,
)


@tw.entry
def to_powers(out: tl.TensorMut[f8e8m0fnu], x: tl.Tensor) -> None:
    out.store(tl.load_tile_like(x, out).astype(f8e8m0fnu))


TINY = 2.0**-127
NUMBERS = [
    1.0, 1.5, 3.0, 1.4999999, 1.5000001, 192.0, 0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, TINY,
    TINY / 2, TINY * 1.0001, TINY * 1.5, TINY * 2, 1e-45, 2.0**127, 2.0**127 * 1.49, 2.0**127 * 1.5,
    3.4e38, 5.0, 7.0,
]  # fmt: skip


def ran(numbers, arch_gpu):
    z = Output(numbers.shape, f8e8m0fnu)
    to_powers(z.cut(8), numbers).sync()
    return z.result().view(np.uint8).tolist()


@pytest.mark.parametrize("simulated_gpu", ["sm_100"], indirect=True)
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_floats_to_powers_of_two(dtype, simulated_gpu):
    x = np.array(NUMBERS, dtype.np)
    expected = x.astype(np.float32).astype(f8e8m0fnu.np).view(np.uint8)
    assert ran(x, simulated_gpu) == expected.tolist()


@pytest.mark.parametrize("simulated_gpu", ["sm_100"], indirect=True)
def test_wide_numbers_round_once(simulated_gpu):
    """Just below a tie, where f32, or f64 for integers, would make one of it."""
    assert ran(np.full(8, 1.5 - 2.0**-40), simulated_gpu) == [127] * 8
    for dtype in (i64, u64):
        x = np.array([3 << 61, (3 << 61) - 1, 1 << 62, (1 << 53) + 1] * 2, dtype.np)
        assert ran(x, simulated_gpu) == [190, 189, 189, 180] * 2
    assert ran(np.array([-1, 0] * 4), simulated_gpu) == [255] * 8


@pytest.mark.parametrize("simulated_gpu", ["sm_100"], indirect=True)
@pytest.mark.parametrize("dtype", [i64, u64], ids=str)
def test_integers_beside_ties(dtype, simulated_gpu):
    """One bit decides on which side of a tie an integer lies, however far below that bit is."""
    bits = 63 if dtype is i64 else 64
    ties = [3 << k - 1 for k in range(1, bits - 1)]
    sides = [0, *(sign << j for j in range(16) for sign in (1, -1))]
    numbers = [n for tie in ties for side in sides if 0 < (n := tie + side) < 1 << bits]
    numbers = numbers[: len(numbers) // 8 * 8]
    # The next power above a tie and from it on, so many bits above 2**-127.
    powers = [n.bit_length() - 1 + (n >= 3 << n.bit_length() - 2) if n > 1 else 0 for n in numbers]
    assert ran(np.array(numbers, dtype.np), simulated_gpu) == [127 + p for p in powers]


@tw.entry
def to_nearest(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(tl.round(tl.load_tile_like(x, out)).astype(out.dtype))


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
def test_rounded_floats_become_integers_once(dtype, simulated_gpu):
    """Beside a tie, where f32 would make one of an f64."""
    x = np.array([0.5 + 1e-9, 1.5 - 1e-9, 2.5, -2.5 - 1e-9, 127.5 - 1e-9, 1e9, -1e9, np.nan])
    with np.errstate(over="ignore"):
        x = x.astype(dtype.np)
    z = Output(x.shape, i8)
    to_nearest(z.cut(8), x).sync()
    wide = x.astype(np.float64)
    expected = np.where(np.isnan(wide), 0, np.clip(np.rint(wide), -128, 127)).astype(np.int8)
    assert z.result().tolist() == expected.tolist()


@pytest.mark.parametrize(("dtype", "to", "is_added"), [
    (f32, i8, True), (f16, i16, True), (f32, i32, False), (f64, i8, False),
])  # fmt: skip
def test_short_integers_are_the_low_bits_of_a_sum(dtype, to, is_added):
    func = cuda_ir(to_nearest, tw.meta((64,), to).partition_mut((64,)), tw.meta((64,), dtype))
    assert ("ftoi" in program_text(lowered(func).program)) == (not is_added)


@tw.entry
def to_pairs(out: tl.TensorMut[f4e2m1fnx2], x: tl.Tensor[f32]) -> None:
    out.store(x.load_tile((16,), [tl.block_id(0)]).astype(f4e2m1fn).pack())


@pytest.mark.parametrize("simulated_gpu", ["sm_100"], indirect=True)
def test_there_is_no_nan_of_f4(simulated_gpu):
    x = np.array([np.nan, 1.0, np.inf, -np.inf, 2.5, -np.nan, 0.25, 5.0] * 2, np.float32)
    z = Output((8,), f4e2m1fnx2)
    to_pairs(z.cut(8), x).sync()
    raw = z.result().view(np.uint8)
    found = np.stack([raw & 0xF, raw >> 4], -1).reshape(-1).view(f4e2m1fn.np).astype(float)
    assert found.tolist() == [0.0, 1.0, 6.0, -6.0, 2.0, 0.0, 0.0, 4.0] * 2
