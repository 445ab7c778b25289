"""Conversions made again behind reductions: other bits for assemblers, the same in truth."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from support.numbers import fresh_rng
from tilewright.backend.tileir.bytecode.program import program_text


def softmax_text(length, dtype=tw.bf16):
    x, out = (tw.meta((64, length), dtype) for _ in range(2))
    return program_text(
        lowered(cuda_ir(kernels.softmax, out.partition_mut((1, length)), x)).program
    )


def test_what_is_widened_again_is_disguised():
    text = softmax_text(32768)
    widened = re.findall(r"ftof (%\d+) .*: tile<1x32768xf32>", text)
    assert len(widened) == len(set(widened)) == 6, "three times, on both ways"
    assert len(re.findall("ori .*tile<1x32768xi16>", text)) == 4


def test_short_rows_are_widened_once():
    assert "ori" not in softmax_text(8192)


@tw.entry
def shares(out: tl.TensorMut[tw.f32], x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(tw.f32)
    apart = tile - tl.reduce_max(tile, 1, keepdims=True)
    out.store(apart / tl.reduce_sum(apart, 1, keepdims=True))


@pytest.mark.filterwarnings("ignore::tilewright.PaddingWarning")  # rows are whole
@pytest.mark.parametrize(
    ("dtype", "words"), [(tw.i8, "i8"), (tw.f8e4m3fn, "i8"), (tw.f16, "i16")], ids=str
)
def test_narrow_rows_of_every_width_are_disguised(dtype, words, simulated_gpu, rng):
    x = rng.integers(-9, 9, (3, 32768)).astype(dtype.np)
    out = tw.meta(x.shape).partition_mut((1, 32768))
    func = cuda_ir(shares, out, tw.meta(x.shape, dtype))
    assert re.search(rf"ori .*tile<1x32768x{words}>", program_text(lowered(func).program))

    z = tw.empty(x.shape).sync()
    shares(z.partition_mut((1, 32768)), tw.from_numpy(x, dtype).sync()).sync()
    apart = x.astype(np.float32) - x.astype(np.float32).max(1, keepdims=True)
    expected = apart / apart.sum(1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(z.to_numpy(), expected, rtol=1e-6)


def test_the_disguise_changes_nothing():
    """x * x + 1 is never 7 * y * y, whatever the 32 bits of both are."""
    rng = fresh_rng()
    x, y = rng.integers(0, 1 << 32, (2, 1 << 20), dtype=np.uint64).astype(np.uint32)
    assert not np.any(x * x + np.uint32(1) == np.uint32(7) * y * y)
    low = np.arange(8, dtype=np.uint32)
    assert not np.any((low * low + 1)[:, None] % 8 == (7 * low * low)[None, :] % 8)


@tw.entry
def narrowed(
    a: tl.TensorMut[tw.f16], b: tl.TensorMut[tw.bf16], s: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]
) -> None:
    """Wide rows are converted on both sides of a reduction."""
    row = tl.load_tile_like(x, s)
    a.store(row.astype(tw.f16))
    total = row - tl.reduce_sum(row, 1, keepdims=True)
    s.store(total)
    b.store(row.astype(tw.bf16))


def test_wide_rows_are_not_disguised():
    outs = [tw.meta((4, 64), d).partition_mut((1, 64)) for d in (tw.f16, tw.bf16, tw.f32)]
    assert "ori" not in program_text(lowered(cuda_ir(narrowed, *outs, tw.meta((4, 64)))).program)
