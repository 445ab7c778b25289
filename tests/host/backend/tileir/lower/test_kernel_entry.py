"""Whole kernels as Tile IR: what they are told of memory, how blocks are numbered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.backend.tileir.target import slots


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


def text(func, **codegen_hints) -> str:
    return program_text(lowered(func, **codegen_hints).program)


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


def blocks(func, grid, launched, shapes=(), **codegen_hints):
    """The logical blocks that the blocks of a launch think they are, in the order of launch."""
    kernel = lowered(func, **codegen_hints).program.kernels[0]
    known = {"grid": lambda slot: grid[slot.axis], "extent": lambda s: shapes[s.param][s.axis]}
    values = {
        arg: known[slot.what](slot)
        for slot, arg in zip(slots(func.signature, reports=False), kernel.body.args, strict=True)
        if slot.what in known and (slot.what == "grid" or slot.param < len(shapes))
    }
    return [_region(kernel.body, dict(values), launched, at) for at in _launched(launched)]


def _all(grid):
    return itertools.product(*map(range, grid))


def _launched(grid):
    """The blocks of a launch, as the hardware counts them: the first axis up."""
    return [at[::-1] for at in _all(grid[::-1])]


OPS = {
    "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b,
    "divi": lambda a, b: a // b, "remi": lambda a, b: a % b, "mini": min, "assume": lambda a: a,
    "exti": lambda a: a, "trunci": lambda a: a, "cmpi": lambda a, b: a < b,
}  # fmt: skip


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
        elif name == "if" and instr.results:
            arm = instr.regions[0 if operands[0] else 1]
            values.update(zip(instr.results, _region(arm, values, launched, at), strict=True))
        elif name == "yield" and operands:
            return tuple(operands)
        elif name == "if":
            return _region(instr.regions[0], values, launched, at) if operands[0] else None
        elif name in OPS and None not in operands:
            values[instr.result] = OPS[name](*operands)
    return None


def test_blocks_without_an_order_are_those_of_the_launch():
    z = tw.meta((7, 5), tw.i32)
    func = cuda_ir(number, z.partition_mut((1, 1)))
    found = blocks(func, (7, 5, 1), (7, 5, 1), block_group=1)
    assert found == [at[:2] for at in _launched((7, 5, 1))]


def test_blocks_of_a_reversed_grid_go_along_its_last_axis():
    z = tw.meta((7, 5), tw.i32)
    found = blocks(cuda_ir(number, z.partition_mut((1, 1))), (7, 5, 1), (1, 5, 7))
    assert found == list(_all((7, 5)))


SHAPES = [(1, 1), (15, 16), (16, 17), (113, 80), (128, 128), (144, 31), (47, 271), (1000, 7)]
TILE = (16, 16)


def tiles(shape):
    return tuple(-(-n // t) for n, t in zip(shape, TILE, strict=True))


def product(shape, cut=lambda partition: partition, **codegen_hints):
    """A product of matrices, and the tensors it is given."""
    m, n = shape
    x, y = tw.meta((m, 64), tw.f16), tw.meta((64, n), tw.f16)
    out = cut(tw.meta(shape, tw.f16).partition_mut(TILE))
    return cuda_ir(kernels.gemm, out, x, y, BK=16), [shape, x.shape, y.shape]


@pytest.mark.thinned(12)
@pytest.mark.parametrize("group", [1, 2, 3, 8])
@pytest.mark.parametrize("shape", SHAPES)
def test_grouped_blocks_are_all_blocks_once(shape, group):
    func, shapes = product(shape)
    grid = (*tiles(shape), 1)
    found = blocks(func, grid, grid, shapes, block_group=group)
    assert sorted(found) == list(_all(grid[:2]))
    high = min(group, grid[0])
    assert found[:high] == [(i, 0) for i in range(high)]


@pytest.mark.parametrize("launched", [(1, 1, 1), (3, 2, 1), (7, 5, 1), (7, 3, 1), (2, 5, 1)])
def test_so_are_those_of_an_output_that_is_covered_in_part(launched):
    func, shapes = product((113, 80), lambda partition: partition.prefix())
    assert sorted(blocks(func, launched, launched, shapes)) == list(_all(launched[:2]))


@pytest.mark.parametrize("shape", SHAPES[:6])
@pytest.mark.parametrize("batch", [1, 3])
def test_grouped_blocks_of_batches_are_all_blocks_once(batch, shape):
    m, n = shape
    x, y = tw.meta((batch, m, 64), tw.f16), tw.meta((batch, 64, n), tw.f16)
    z = tw.meta((batch, m, n), tw.f16)
    func = cuda_ir(kernels.batch_gemm, z.partition_mut((1, *TILE)), x, y, BK=16)
    grid = (batch, *tiles(shape))
    found = blocks(func, grid, grid, [z.shape, x.shape, y.shape])
    assert sorted(found) == list(_all(grid))
    assert [at[0] for at in found] == sorted(at[0] for at in found)


def is_grid_used(func):
    code = lowered(func).program.kernels[0].body.code
    (sizes,) = [instr.results for instr in code if instr.op.name == "get_num_tile_blocks"]
    return any(value in sizes for instr in code for value in instr.operands)


def test_the_order_is_made_of_extents_where_each_tile_has_a_block():
    assert not is_grid_used(product((113, 80))[0])
    assert is_grid_used(product((113, 80), lambda partition: partition.prefix())[0])


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


@tw.entry(unsafe=True)
def numbered(p: tl.Ptr[tw.i32]) -> None:
    at = tl.block_id(0)
    tl.store_ptr(p + at, at + 100)


@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
def test_blocks_know_their_number_where_nothing_else_asks(simulated_gpu):
    z = tw.zeros((7,), tw.i32).sync()
    with tw.unsafe():
        op = numbered(z.device_pointer()).grid((7,))
    op.sync()
    assert z.to_numpy().tolist() == list(range(100, 107))
