"""Damaged bytecode: a typed error or a cubin, and the next kernel compiles as ever."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.mutants import mutants
from support.numbers import fresh_random
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.backend.tileir.resource_model import resources
from tilewright.base.config import override
from tilewright.base.cubin import HOST, LAUNCHING, architecture, kernel_of, read_cubin, sections
from tilewright.base.elf import InvalidElfError, read_elf
from tilewright.base.errors import Code, CompileError

SECONDS = 20
"""More than any of these kernels needs; a mutant may ask for an endless compilation."""


@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


@tw.entry
def a_kernel_with_a_long_name(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out) * 2.0
    print("sum", tl.reduce_sum(tile))
    out.store(tile + tl.load_tile_like(y, out))


def bytecode():
    z = tw.meta((1000, 64))
    return lowered(cuda_ir(softmax, z.partition_mut((1, 64)), z)).bytecode()


def test_bytecode_mutants(tool, request):
    count, data, codes = request.config.getoption("--mutants"), bytecode(), []
    for mutant in mutants(data, count, fresh_random()):
        try:
            with override(tileiras_timeout=SECONDS):
                assert assemble(Job("softmax", "sm_90", mutant, None), tool)[:4] == b"\x7fELF"
        except CompileError as error:
            codes.append(error.code)
            saved = Path(re.search(r"(\S+\.tileirbc)", error.hint).group(1))
            assert saved.read_bytes() == mutant
    assert len(codes) > count // 6 and set(codes) == {Code.TOOLCHAIN}
    assert assemble(Job("softmax", "sm_90", data, None), tool)


def test_our_own_reader_of_cubins_takes_mutants_too(tool):
    """It reads cubins from disk before any driver does."""
    cubin = assemble(Job("softmax", "sm_90", bytecode(), None), tool)
    assert architecture(cubin) == "sm_90"
    assert read_cubin(cubin).kernels == ("softmax",)
    refused = 0
    for mutant in mutants(cubin, 500, fresh_random()):
        try:
            architecture(mutant), resources(mutant), read_cubin(mutant)
        except InvalidElfError:
            refused += 1
    assert refused > 200


def host_part(cubin):
    return next(section.data for section in sections(cubin) if section.name == HOST)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_the_part_for_the_host_is_known_whatever_the_kernel(tool, arch):
    for kernel, shape, tile in (
        (softmax, (1000, 64), (1, 64)),
        (softmax, (4, 4096), (1, 4096)),
        (a_kernel_with_a_long_name, (100,), (16,)),
    ):
        z = tw.meta(shape)
        inputs = [tw.meta(shape)] * (1 if kernel is softmax else 2)
        for lines in (False, True):
            with override(line_info=lines):
                cubin = kernel.compile_for(arch, z.partition_mut(tile), *inputs).code
            assert kernel_of(host_part(cubin)) == read_cubin(cubin).kernels[0]


def test_no_byte_that_loading_uses_can_be_changed_unseen(tool):
    """What launches alone run may be; and what lies between sections, and says how to unwind."""
    data = host_part(assemble(Job("softmax", "sm_90", bytecode(), None), tool))
    file = read_elf(data)
    at = {section.name: section.offset for section in file.sections}
    start = next(symbol.nbytes for symbol in file.symbols if symbol.name == LAUNCHING)
    first = int.from_bytes(data[at[".eh_frame"] + 24 : at[".eh_frame"] + 28], "little")
    free = {
        *range(at[".ltext"], at[".ltext"] + start + -start % 16),
        *range(at[".eh_frame"] + 48, at[".eh_frame"] + 28 + first),
        *set(range(64, len(data))).difference(
            *(range(s.offset, s.offset + len(s.data)) for s in file.sections)
        ).difference(range(file.header.sections_at, len(data))),
    }  # fmt: skip
    listed = file.header.sections_at
    free |= {listed + 64 * k + 24 for k, s in enumerate(file.sections) if not s.data}
    for place in set(range(len(data))) - free:
        changed = bytearray(data)
        changed[place] ^= 0x41
        try:
            assert kernel_of(bytes(changed)) != "softmax", f"byte {place}"
        except InvalidElfError:
            continue
