"""Persistent kernels become cubins that copy in bulk, use tensor cores and do not spill."""

from __future__ import annotations

import re
import subprocess

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.backend.tileir.resource_model import resources


@tw.entry
def gemm(z: tl.MappedPartitionMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 64) -> None:
    bm, bn = z.shape
    xs, ys = x.partition((bm, BK)), y.partition((BK, bn))
    for index in z.iter_indices():
        m, n = index
        acc = tl.zeros((bm, bn), tw.f32)
        for k in range(xs.num_tiles(1)):
            acc = tl.mma(xs.load((m, k)), ys.load((k, n)), acc)
        z.store(acc.astype(z.dtype), index)


@tw.entry
def owned(z: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices():
        for i in range(z.num_tiles(1)):
            z.store(xs.load(index.at(i)) * 2, index.at(i))


@tw.entry
def part(z: tl.MappedPartitionMut, x: tl.Tensor, first: int) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices_within(((first, 2), (0, -1))):
        z.store(xs.load(index), index)


@tw.entry
def both(z: tl.MappedPartitionMut, w: tl.MappedPartitionMut, x: tl.Tensor) -> None:
    xs = x.partition(z.shape)
    for index in z.iter_indices_with(w):
        z.store(xs.load(index), index)
        w.store(-xs.load(index), index)


def product(dtype=tw.bf16, tile=(128, 128), groups=(8, 1)):
    square = tw.meta((4096, 4096), dtype)
    return cuda_ir(gemm, square.partition_mut(tile).map(groups), square, square)


def square(tile=(64, 64), groups=(2, 1)):
    return tw.meta((512, 512)).partition_mut(tile).map(groups)


PROGRAMS = {
    "f32": lambda: product(tw.f32, (64, 64)),
    "f16": lambda: product(tw.f16),
    "bf16": product,
    "row-major": lambda: product(groups=(1, 1)),
    "groups of both": lambda: product(groups=(4, 4)),
    "owned": lambda: cuda_ir(owned, square(groups=(1, tw.OWNED)), tw.meta((512, 512))),
    "part": lambda: cuda_ir(part, square(), tw.meta((512, 512)), 3),
    "both": lambda: cuda_ir(both, square(), square(), tw.meta((512, 512))),
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles(name, arch, tool):
    made = lowered(PROGRAMS[name]())
    assert assemble(Job(name, arch, made.bytecode(), None), tool)[:4] == b"\x7fELF"


def remarks_of(made, tool, folder):
    source = folder / "k.tileirbc"
    source.write_bytes(made.bytecode())
    done = subprocess.run(
        [tool.path, "--gpu-name", "sm_90", "--remarks=all", str(source), "-o", str(folder / "k")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ["f16", "bf16", "row-major", "groups of both"])
def test_bulk_copies_tensor_cores_and_no_spilling(name, tool, tmp_path):
    made = lowered(PROGRAMS[name]())
    remarks = remarks_of(made, tool, tmp_path)
    assert len(re.findall("TMA (?:Load|Store)", remarks)) >= len(made.decisions.accesses) == 3
    assert "Tensor-core SM90" in remarks
    assert "remark[failed]" not in remarks
    assert "remark[missed]" not in remarks
    assert resources((tmp_path / "k").read_bytes()).stack_bytes == 0


@pytest.mark.usefixtures("tool")
def test_stores_do_not_wait_for_each_other():
    """Every round of the loop over tiles starts from the token before the loop."""
    text = program_text(lowered(product()).program)
    store = next(line for line in text.splitlines() if "store_view_tko" in line)
    start = next(line for line in text.splitlines() if "make_token" in line).split()[0]
    assert re.search(rf", {start}\b", store)


def test_the_code_says_how_many_blocks_share_a_processor(tool):
    arguments = (square(), tw.meta((512, 512)), tw.meta((512, 512)))
    alone = gemm.compile_for("sm_90", *arguments)
    assert alone.resident(132) == 132
    two = gemm.compile_for("sm_90", *arguments, options=tw.CompileOptions(occupancy=2))
    assert two.resident(132) == 264
    wide = gemm.compile_for("sm_100", *arguments, options=tw.CompileOptions(num_cta_in_cga=2))
    assert wide.resident(148) == 74
