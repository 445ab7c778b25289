"""Whole kernels as Tile IR: what they are told of memory, how blocks are numbered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.program.text import program_text


@tw.entry
def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def number(z: tl.TensorMut) -> None:
    ids = tl.get_tile_block_id()
    z.store(tl.full((1, 1), ids[0] * 1000 + ids[1], tw.i32))


@tw.entry
def guarded(z: tl.TensorMut, x: tl.Tensor, where: tl.Tensor[tw.i32]) -> None:
    z.store(x.partition((8,)).load([where.load_tile((1,), 0).item()]))


def text(func, **wishes) -> str:
    return program_text(lowered(func, **wishes).program)


def aligned(x) -> str:
    return text(cuda_ir(copy, tw.meta(x.shape).partition_mut((4, 8)), x))


def test_memory_that_is_aligned_is_said_to_be():
    lines = aligned(tw.meta((32, 64)))
    assert lines.count("div_by<16>") == 2  # addresses
    assert lines.count("div_by<4>") == 4  # rows and strides, 16 bytes of f32
    assert lines.count("bounded<0, ?>") == 6


def test_rows_that_are_not_whole():
    assert aligned(tw.meta((32, 63))).count("div_by<4>") == 0


def test_addresses_that_are_not():
    x = np.zeros(4 * 9 + 1, np.float32)[1:].reshape(4, 9)
    assert aligned(x).count("div_by<16>") == 1  # the output


def test_large_strides_are_64_bit():
    x = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (1, 8), (1 << 40, 4))
    assert "tile<i64>" in aligned(x)


def test_promises_can_be_limited():
    z = tw.meta((32, 64))
    assert "div_by" not in text(cuda_ir(copy, z.partition_mut((4, 8)), z), max_divisibility=1)


def test_a_kernel_without_reports_has_no_hidden_parameter():
    z = tw.meta((64,))
    assert "ptr<i64>" not in text(cuda_ir(copy, z.partition_mut((8,)), z))
    assert "ptr<i64>" in text(cuda_ir(guarded, z.partition_mut((8,)), z, tw.meta((1,), tw.i32)))


def test_outputs_go_through_the_view_of_the_whole():
    lines = text(cuda_ir(copy, tw.meta((64, 64)).partition_mut((8, 8)), tw.meta((64, 64))))
    assert lines.count("make_tensor_view") == 2
    assert "offset" not in lines


# --- block numbers, by an interpreter of the few instructions they are made of -------------------


def blocks(func, grid, launched, **wishes):
    """The logical blocks that the blocks of a launch think they are."""
    program = lowered(func, **wishes).program
    return [_run(program.kernels[0], grid, launched, at) for at in _all(launched)]


def _all(grid):
    return itertools.product(*map(range, grid))


OPS = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b,
    "divi": lambda a, b: a // b, "remi": lambda a, b: a % b, "mini": min,
    "exti": lambda a: a, "trunci": lambda a: a, "cmpi": lambda a, b: a < b,
}  # fmt: skip


def _run(kernel, grid, launched, at):
    values = {}
    params = kernel.body.args
    if len(grid) > 3:
        values.update(zip(params[-len(grid) :], grid, strict=True))
    return _region(kernel.body, values, launched, at)


def _region(region, values, launched, at):
    for instr in region.code:
        name, operands = instr.op.name, [values.get(v) for v in instr.operands]
        if name == "get_tile_block_id":
            values.update(zip(instr.results, at, strict=True))
        elif name == "get_num_tile_blocks":
            values.update(zip(instr.results, launched, strict=True))
        elif name == "constant":
            data = instr.attrs["value"]
            values[instr.result] = int.from_bytes(data, "little", signed=True)
        elif name == "store_view_tko":
            return tuple(operands[2 : 2 + instr.sizes[2]])
        elif name == "if":
            return _region(instr.regions[0], values, launched, at) if operands[0] else None
        elif name in OPS and None not in operands:
            values[instr.result] = OPS[name](*operands)
    return None


@pytest.mark.parametrize("group", [1, 2, 3, 8])
@pytest.mark.parametrize("grid", [(1, 1, 1), (7, 5, 1), (8, 8, 1), (9, 2, 1), (3, 17, 1)])
def test_grouped_blocks_are_all_blocks_once(grid, group):
    z = tw.meta(grid[:2], tw.i32)
    func = cuda_ir(number, z.partition_mut((1, 1)))
    found = blocks(func, grid, grid, block_group=group)
    assert sorted(found) == sorted(at[:2] for at in _all(grid))


@tw.entry
def deep(z: tl.TensorMut) -> None:
    z.store(tl.zeros((1, 1, 1, 1), tw.i32))


@pytest.mark.parametrize("launched", [(24, 1, 1), (5, 5, 1), (4, 3, 2), (25, 1, 1)])
def test_folded_blocks_are_all_blocks_once(launched):
    grid = (2, 3, 2, 2)
    z = tw.meta(grid, tw.i32)
    found = blocks(cuda_ir(deep, z.partition_mut((1, 1, 1, 1))), grid, launched)
    real = [at for at in found if at is not None]
    assert sorted(real) == sorted(_all(grid))
