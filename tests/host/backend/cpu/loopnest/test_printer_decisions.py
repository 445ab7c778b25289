"""What a plan says of itself."""

from __future__ import annotations

from dataclasses import replace

from support.plans import AVX2, gemm, softmax
from tilewright.backend.cpu.loopnest import build_plan


def test_fused_and_kept(golden):
    golden("\n".join(build_plan(softmax(), AVX2).decisions))


def test_products_are_named():
    text = "\n".join(build_plan(gemm(), replace(AVX2, scratch_limit=32768)).decisions)
    assert "multiply 64x64x32" in text
    assert "scratch 32768 bytes" in text


def test_shared_tiles_are_named():
    text = "\n".join(build_plan(gemm(), AVX2).decisions)
    assert "reuse up to 512 tiles 64x32 between blocks" in text
    assert "reuse up to 64 tiles 32x64 between blocks" in text
    assert "order blocks in groups of 8 rows, column by column" in text
