"""Kernels written plainly get the fast instructions: bulk copies, tensor cores, no spilling."""

from __future__ import annotations

import re
import subprocess
from functools import partial

import pytest

import tilewright as tw
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.backend.tileir.resource_model import resources
from tilewright.base.config import override


def square(tile, shape=(4096, 4096), **constants):
    whole = tw.meta(shape, tw.bf16)
    out = tw.meta(shape, tw.bf16).partition_mut(tile)
    return lowered(cuda_ir(kernels.gemm, out, whole, whole, **constants))


def attention(tile, keys, **constants):
    depth = tile[-1]
    heads = tw.meta((64, 4096, depth), tw.bf16)
    out = tw.meta((64, 4096, depth), tw.bf16).partition_mut(tile)
    func = cuda_ir(kernels.attention, out, heads, heads, heads, 0.1, BN=keys, **constants)
    return lowered(func)


def persistent(tile):
    whole = tw.meta((4096, 4096), tw.bf16)
    out = tw.meta((4096, 4096), tw.bf16).partition_mut(tile).map((8, 1), 132)
    return lowered(cuda_ir(kernels.persistent_gemm, out, whole, whole))


def rows(kernel, length, weights, rows_per_tile=1):
    x, out = (tw.meta((4096, length), tw.bf16) for _ in range(2))
    more = [tw.meta((length,), tw.bf16)] * weights + ([1e-5] if weights else [])
    return lowered(cuda_ir(kernel, out.partition_mut((rows_per_tile, length)), x, *more))


PRODUCTS = {
    "gemm 128x128": lambda: square((128, 128)),
    "gemm 64x128": lambda: square((64, 128)),
    "gemm 128x256": lambda: square((128, 256)),
    "gemm 256x256": lambda: square((256, 256)),
    "persistent gemm 128x256": lambda: persistent((128, 256)),
    "persistent gemm 256x256": lambda: persistent((256, 256)),
    "attention 128x128, depth 128": lambda: attention((1, 128, 128), 128),
    "causal attention 128x128, depth 128": lambda: attention((1, 128, 128), 128, CAUSAL=True),
    "attention 64x64, depth 64": lambda: attention((1, 64, 64), 64),
    "causal attention 64x64, depth 64": lambda: attention((1, 64, 64), 64, CAUSAL=True),
    "attention 128x64, depth 64": lambda: attention((1, 128, 64), 64),
    "causal attention 128x64, depth 64": lambda: attention((1, 128, 64), 64, CAUSAL=True),
}
ROWS = {
    **{
        f"softmax {n}": partial(rows, kernels.softmax, n, 0)
        for n in (1024, 2048, 4096, 8192, 16384, 32768)
    },
    **{
        f"rms_norm {n}": partial(rows, kernels.rms_norm, n, 1)
        for n in (1024, 2048, 4096, 8192, 16384, 32768)
    },
    **{
        f"layer_norm {n}": partial(rows, kernels.layer_norm, n, 2, max(4096 // n, 1))
        for n in (256, 512, 1024, 2048, 8192, 16384)
    },
}
ODD = {
    "gemm of 4095": lambda: square((128, 256), (4095, 4095)),
    "gemm of 4095, steps of 128": lambda: square((128, 256), (4095, 4095), BK=128),
}
PROGRAMS = {**PRODUCTS, **ROWS, **ODD}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", PRODUCTS)
def test_bulk_copies_and_tensor_cores(name, tool, tmp_path):
    made = PROGRAMS[name]()
    source = tmp_path / "k.tileirbc"
    source.write_bytes(made.bytecode())
    done = subprocess.run(
        [tool.path, "--gpu-name", "sm_90", "--remarks=all", str(source), "-o", str(tmp_path / "k")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    remarks = done.stdout + done.stderr
    accesses = len(made.decisions.accesses)
    assert len(re.findall("TMA (?:Load|Store)", remarks)) >= accesses
    assert "Tensor-core SM90" in remarks
    assert "kernels.py" in remarks, "remarks point at lines of Python"
    assert "remark[failed]" not in remarks and "remark[missed]" not in remarks


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_spilling(name, tool):
    made = PROGRAMS[name]()
    cubin = assemble(Job(name, "sm_90", made.bytecode(), None), tool)
    assert resources(cubin).stack_bytes == 0


def test_places_do_not_change_the_code(tool):
    made = PROGRAMS["gemm 128x128"]()
    kernel = made.program.kernels[0]
    with_places = assemble(Job("gemm", "sm_90", made.bytecode(), None), tool)
    kernel.span = None
    assert assemble(Job("gemm", "sm_90", made.bytecode(), None), tool) == with_places


def test_line_info_names_the_file(tool):
    made = PROGRAMS["gemm 128x128"]()
    plain = assemble(Job("gemm", "sm_90", made.bytecode(), None), tool)
    with override(line_info=True):
        lines = assemble(Job("gemm", "sm_90", made.bytecode(), None), tool)
    assert b"kernels.py" in lines and b"kernels.py" not in plain


def test_kernels_that_spill_say_so(tool):
    z = tw.meta((4096, 4096))
    said = "bytes: use smaller tiles, or more warps"
    wide = kernels.gemm.explain(z.partition_mut((128, 128)), z, z, device="sm_90")
    assert said in wide
    narrow = kernels.gemm.explain(z.partition_mut((64, 64)), z, z, BK=16, device="sm_90")
    assert said not in narrow


@pytest.mark.parametrize("height", [16, 64])
def test_what_is_computed_is_stored_without_a_division_in_its_way(height, tool):
    x, y, z = (tw.meta(shape, tw.bf16) for shape in [(height, 8192), (8192, 8192), (height, 8192)])
    made = kernels.gemm.inspect(z.partition_mut((height, 64)), x, y, BK=128, device="sm_90")
    before, store, _ = re.split(r"(cp\.async\.bulk\.tensor\S*global\.shared\S*)", made["ptx"])
    assert store
    assert re.search(r"\bdiv\.", before), "the order of blocks is a division"
    assert not re.search(r"\bdiv\.", before[before.rindex("mbarrier.try_wait") :])
