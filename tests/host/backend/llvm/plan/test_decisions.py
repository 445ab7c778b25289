"""What a plan says of itself."""

from __future__ import annotations

from support.plans import AVX2, gemm, softmax
from tilewright.backend.llvm.plan import build_plan


def test_fused_and_kept(golden):
    golden("\n".join(build_plan(softmax(), AVX2).decisions))


def test_products_are_named():
    text = "\n".join(build_plan(gemm(), AVX2).decisions)
    assert "multiply 64x64x32" in text
    assert "scratch 32768 bytes" in text
