"""Estimates of machine code grow with elements, vectors, rows and functions."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.code_size import CodeSize, instructions
from tilewright.base.dtypes import f16, f32


@tw.entry
def maxima(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], *, B: tl.Const[int]) -> None:
    z.store(x.partition((8, B), padding=tl.neg_inf).load([tl.block_id(0), 0]).max(axis=1))


@tw.entry
def sines(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.sin(tl.load_tile_like(x, z)))


@tw.entry
def doubles(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    t = tl.load_tile_like(x, z)
    z.store(t + t)


@tw.entry
def product(z: tl.TensorMut[f16], x: tl.Tensor[f16, tl.Dyn, tl.Dyn]) -> None:
    t = x.load_tile((64, 64), [0, 0])
    z.store(tl.mma(t, t, tl.zeros((64, 64), f32)).astype(f16))


def size(kernel, *args, threads=128, name=None, **constants):
    """The instructions of a kernel, or of those of one name in it."""
    program = lowered(cuda_ir(kernel, *args, **constants)).program.kernels[0]
    makers = {v: instr for instr in program.walk() for v in instr.results}
    measure = CodeSize(threads, makers)
    found = [i for i in instructions(program.body) if i.op.name == name]
    return sum(map(measure.instruction, found)) if name else measure.region(program.body)


def reduced(columns, width=128, threads=128):
    args = tw.meta((40,)).partition_mut((8,)), tw.meta((40, columns))
    return size(maxima, *args, B=width, threads=threads, name="reduce")


def test_rows_that_begin_anywhere_are_reduced_by_more_threads_each():
    assert reduced(1001) > 3 * reduced(1000)


def test_reductions_grow_with_the_elements_of_a_thread():
    assert reduced(1000, 1024) > 2 * reduced(1000, 128)
    assert reduced(1000, 1024, threads=128) > reduced(1000, 1024, threads=256)


@pytest.mark.parametrize("length", [256, 1024, 4096])
def test_elements_and_functions_count(length):
    args = tw.meta((8192,)).partition_mut((length,)), tw.meta((8192,))
    cheap, dear = (
        size(kernel, *args, name=name) for kernel, name in ((doubles, "addf"), (sines, "sin"))
    )
    assert cheap == length // 128
    assert dear == 100 * cheap


def test_loads_count_by_vectors():
    one, four = (
        size(
            maxima,
            tw.meta((40,)).partition_mut((8,)),
            tw.meta((40, n)),
            B=128,
            name="load_view_tko",
        )
        for n in (1001, 1000)
    )
    assert one == 4 * four


def test_factors_that_are_loaded_one_by_one_are_staged_one_by_one():
    single, vectors = (
        size(
            product,
            tw.meta((64, 64), f16).partition_mut((64, 64)),
            tw.meta((64, n), f16),
            name="mmaf",
        )
        for n in (65, 64)
    )
    assert single > 5 * vectors
