"""Damaged bytecode: a typed error or a cubin, and the next kernel compiles as ever."""

from __future__ import annotations

import random
import re
from pathlib import Path

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.mutants import mutants
from tilewright.backend.tileir.assembler import Job, assemble
from tilewright.backend.tileir.cubin import resources
from tilewright.base.config import override
from tilewright.base.cubin import architecture, read_cubin
from tilewright.base.elf import InvalidElfError
from tilewright.base.errors import Code, CompileError

SECONDS = 20
"""More than any of these kernels needs; a mutant may ask for an endless compilation."""


@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


def bytecode():
    z = tw.meta((1000, 64))
    return lowered(cuda_ir(softmax, z.partition_mut((1, 64)), z)).bytecode()


def seeded():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    return random.Random(seed)


def test_bytecode_mutants(tool, request):
    count, data, codes = request.config.getoption("--mutants"), bytecode(), []
    for mutant in mutants(data, count, seeded()):
        try:
            with override(tileiras_timeout=SECONDS):
                assert assemble(Job("softmax", "sm_90", mutant, None), tool)[:4] == b"\x7fELF"
        except CompileError as error:
            codes.append(error.code)
            Path(re.search(r"(\S+\.tileirbc)", error.hint).group(1)).unlink()
    assert len(codes) > count // 6 and set(codes) == {Code.TOOLCHAIN}
    assert assemble(Job("softmax", "sm_90", data, None), tool)


def test_our_own_reader_of_cubins_takes_mutants_too(tool):
    """It reads cubins from disk before any driver does."""
    cubin = assemble(Job("softmax", "sm_90", bytecode(), None), tool)
    assert architecture(cubin) == "sm_90"
    assert read_cubin(cubin).kernels == ("softmax",)
    refused = 0
    for mutant in mutants(cubin, 500, seeded()):
        try:
            architecture(mutant), resources(mutant), read_cubin(mutant)
        except InvalidElfError:
            refused += 1
    assert refused > 200
