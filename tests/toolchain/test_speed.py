"""Kernels written plainly get the fast instructions: bulk copies, tensor cores, no spilling."""

from __future__ import annotations

import re
import subprocess

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.assembler import Job, assemble
from tilewright.backend.tileir.cubin import resources
from tilewright.base.config import override


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    i, j, _ = tl.get_tile_block_id()
    bm, bn = z.shape
    xs, ys = x.partition((bm, 64)), y.partition((64, bn))
    acc = tl.zeros((bm, bn), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc.astype(z.dtype))


@tw.entry
def attention(out: tl.TensorMut, q: tl.Tensor, k: tl.Tensor, v: tl.Tensor, scale: tw.f32) -> None:
    _, BM, D = out.shape
    head, _, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    keys, values = k.partition((1, 128, D)), v.partition((1, 128, D))
    peak = tl.full((BM, 1), tl.neg_inf, tw.f32)
    total = tl.zeros((BM, 1), tw.f32)
    acc = tl.zeros((BM, D), tw.f32)
    for j in range(tl.num_tiles(keys, 1)):
        key = keys.load([head, j, 0]).reshape(128, D)
        score = tl.mma(query, key.T, tl.zeros((BM, 128), tw.f32)) * scale
        higher = tl.maximum(peak, tl.reduce_max(score, 1, keepdims=True))
        p = tl.exp(score - higher)
        fade = tl.exp(peak - higher)
        total = total * fade + tl.reduce_sum(p, 1, keepdims=True)
        value = values.load([head, j, 0]).reshape(128, D)
        acc = tl.mma(p.astype(out.dtype), value, acc * fade)
        peak = higher
    out.store((acc / total).astype(out.dtype).reshape(1, BM, D))


def programs():
    square, heads = tw.meta((4096, 4096), tw.bf16), tw.meta((64, 4096, 128), tw.bf16)

    def product(tile):
        return lowered(
            cuda_ir(gemm, tw.meta((4096, 4096), tw.bf16).partition_mut(tile), square, square)
        )

    out = tw.meta((64, 4096, 128), tw.bf16).partition_mut((1, 64, 128))
    return {
        "gemm 128x128": lambda: product((128, 128)),
        "gemm 128x256": lambda: product((128, 256)),
        "attention": lambda: lowered(cuda_ir(attention, out, heads, heads, heads, 1.0)),
    }


NAMES = ["gemm 128x128", "gemm 128x256", "attention"]


@pytest.mark.parametrize("name", NAMES)
def test_bulk_copies_and_tensor_cores(name, tool, tmp_path):
    made = programs()[name]()
    source = tmp_path / "k.tileirbc"
    source.write_bytes(made.bytecode())
    done = subprocess.run(
        [tool.path, "--gpu-name", "sm_90", "--remarks=all", str(source), "-o", str(tmp_path / "k")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    remarks = done.stdout + done.stderr
    accesses = len(made.choices.accesses)
    assert len(re.findall("TMA (?:Load|Store)", remarks)) >= accesses
    assert "Tensor-core SM90" in remarks
    assert "test_speed.py" in remarks, "remarks point at lines of Python"
    assert "remark[failed]" not in remarks and "remark[missed]" not in remarks


@pytest.mark.parametrize("name", NAMES)
def test_no_spilling(name, tool):
    made = programs()[name]()
    cubin = assemble(Job(name, "sm_90", made.bytecode(), None), tool)
    assert resources(cubin).stack_bytes == 0


def test_places_do_not_change_the_code(tool):
    made = programs()["gemm 128x128"]()
    kernel = made.program.kernels[0]
    with_places = assemble(Job("gemm", "sm_90", made.bytecode(), None), tool)
    kernel.span = None
    assert assemble(Job("gemm", "sm_90", made.bytecode(), None), tool) == with_places


def test_line_info_names_the_file(tool):
    made = programs()["gemm 128x128"]()
    plain = assemble(Job("gemm", "sm_90", made.bytecode(), None), tool)
    with override(line_info=True):
        lines = assemble(Job("gemm", "sm_90", made.bytecode(), None), tool)
    assert b"test_speed.py" in lines and b"test_speed.py" not in plain
