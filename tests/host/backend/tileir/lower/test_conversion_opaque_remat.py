"""Conversions made again behind reductions: other bits for assemblers, the same in truth."""

from __future__ import annotations

import re

import numpy as np

import tilewright as tw
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


def test_the_disguise_changes_nothing():
    """x * x + 1 is never 7 * y * y, whatever the 32 bits of both are."""
    rng = fresh_rng()
    x, y = rng.integers(0, 1 << 32, (2, 1 << 20), dtype=np.uint64).astype(np.uint32)
    assert not np.any(x * x + np.uint32(1) == np.uint32(7) * y * y)
    low = np.arange(8, dtype=np.uint32)
    assert not np.any((low * low + 1)[:, None] % 8 == (7 * low * low)[None, :] % 8)
