"""Register blocks of products: as large as registers allow, with no small rest."""

from __future__ import annotations

import pytest

from support.plans import AVX2
from tilewright.backend.cpu.loopnest.index import row_major
from tilewright.backend.cpu.loopnest.nodes import Matmul, TileBuffer
from tilewright.backend.cpu.loopnest.optimize import BUSY, RegisterBlock, block_of, row_blocks
from tilewright.backend.llvm.object import CpuTarget
from tilewright.base.dtypes import f32, f64

AVX512 = CpuTarget(
    "skylake-avx512", "+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl", "x86_64-linux-gnu"
)
NEON = CpuTarget("apple-m1", "+neon", "arm64-apple-macosx")
SSE = CpuTarget("x86-64", "", "x86_64-linux-gnu")


def product(m, n, dtype=f32):
    shapes = (m, 16), (16, n), (m, n)
    return Matmul(*(TileBuffer("t", dtype, row_major(shape), "") for shape in shapes))


@pytest.mark.parametrize(
    ("cpu", "m", "n", "block"),
    [
        (AVX2, 128, 128, RegisterBlock(6, 2, 8)), (AVX2, 4, 128, RegisterBlock(4, 2, 8)),
        (AVX2, 1, 8, RegisterBlock(1, 1, 8)), (AVX2, 64, 8, RegisterBlock(14, 1, 8)),
        (AVX512, 128, 128, RegisterBlock(8, 2, 16)), (AVX512, 64, 16, RegisterBlock(16, 1, 16)),
        (AVX512, 2, 1, RegisterBlock(2, 1, 1)), (NEON, 64, 64, RegisterBlock(8, 2, 4)),
        (SSE, 64, 64, RegisterBlock(6, 2, 4)),
    ],
)  # fmt: skip
def test_blocks(cpu, m, n, block):
    assert block_of(product(m, n), cpu) == block


def test_wide_elements_have_fewer_lanes():
    assert block_of(product(64, 64, f64), AVX2) == RegisterBlock(6, 2, 4)


@pytest.mark.parametrize("cpu", [AVX2, AVX512, NEON, SSE])
@pytest.mark.parametrize("m", [1 << bits for bits in range(10)])
@pytest.mark.parametrize("n", [1, 8, 16, 64])
def test_everything_fits_and_all_rows_are_covered(cpu, m, n):
    block = block_of(product(m, n), cpu)
    assert block.rows * block.vectors + block.vectors + 1 <= cpu.vector_registers
    count, last = row_blocks(m, block.rows)
    assert count * block.rows + sum(last) == m
    assert all(0 < rows <= block.rows for rows in last)
    if m >= 16:
        assert block.rows * block.vectors >= BUSY
        assert all(2 * rows >= block.rows for rows in last)


@pytest.mark.parametrize(
    ("m", "rows", "expected"),
    [(1, 6, (0, [1])), (6, 6, (1, [])), (7, 6, (0, [4, 3])), (8, 6, (0, [4, 4])),
     (10, 6, (1, [4])), (128, 6, (20, [4, 4])), (13, 6, (1, [4, 3])), (64, 8, (8, []))],
)  # fmt: skip
def test_small_rests_are_shared(m, rows, expected):
    assert row_blocks(m, rows) == expected
