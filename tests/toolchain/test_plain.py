"""The plain path: an addition, a softmax and a product become cubins, in every version."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.enums import VERSIONS
from tilewright.backend.tileir.lowered import Job, assemble


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    i, j, _ = tl.get_tile_block_id()
    bm, bn = z.shape
    xs, ys = x.partition((bm, 32)), y.partition((32, bn))
    acc = tl.zeros((bm, bn), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


def kernels():
    z, h = tw.meta((1000, 512)), tw.meta((512, 512), tw.bf16)
    return {
        "add": cuda_ir(add, z.partition_mut((16, 64)), z, z),
        "softmax": cuda_ir(softmax, z.partition_mut((1, 512)), z),
        "gemm": cuda_ir(gemm, tw.meta((512, 512)).partition_mut((64, 64)), h, h),
    }


@pytest.mark.thinned(6)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["add", "softmax", "gemm"])
def test_compiles_in_every_version(name, version, tool, disassemble):
    made = lowered(kernels()[name], version)
    assert f"entry @{name}(" in disassemble(made.bytecode())
    assert assemble(Job(name, "sm_90", made.bytecode(), None), tool)[:4] == b"\x7fELF"


def test_compile_for_an_architecture(tool):
    z = tw.meta((1000, 512))
    made = add.compile_for("sm_90", z.partition_mut((16, 64)), z, z)
    assert made.target == "sm_90" and made.name == "add" and made.code[:4] == b"\x7fELF"
    assert not made.sites


def test_explain_and_inspect_show_another_target(tool):
    z = tw.meta((1000, 512))
    text = add.explain(z.partition_mut((16, 16)), z, z, device="sm_90")
    assert "store z 16x16 as tiles, without bulk copies" in text
    options = tw.CompileOptions(allow_tma=True, occupancy=4)
    text = add.explain(z.partition_mut((16, 16)), z, z, device="sm_90", options=options)
    assert "bulk copies allowed" in text and "hint occupancy = 4: requested" in text
    stages = add.inspect(z.partition_mut((16, 16)), z, z, device="sm_90")
    assert "entry @add(" in stages["tile_ir"] and "insert_tokens" in stages


def test_targets_that_are_not():
    z = tw.meta((1000, 512))
    with pytest.raises(tw.ContextError, match="sm_75"):
        add.compile_for("sm_75", z.partition_mut((16, 16)), z, z)
