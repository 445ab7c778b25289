"""Kernels of one row are there twice: for blocks whose tiles all lie inside, and for others."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.program import program_text


def rows(tile, length, kernel=kernels.softmax, dtype=tw.bf16, **codegen_hints):
    x = tw.meta((1000, length), dtype)
    out = tw.meta((1000, length), dtype).partition_mut(tile)
    return lowered(cuda_ir(kernel, out, x), **codegen_hints)


@pytest.mark.parametrize("length", [8192, 16384, 32768])
def test_one_question_for_all_tiles(length):
    made = rows((1, length), length)
    text = program_text(made.program)
    assert made.decisions.multiversioned
    said = "multi-versioned: one bounds test per block selects the version for full tiles"
    assert said in made.decisions.lines
    branches = [
        line for line in text.splitlines() if " if " in line or line.strip().startswith("if")
    ]
    assert len(branches) == 1
    assert text.count("load_view_tko") == 2
    assert text.count("store_view_tko") == 2


@pytest.mark.parametrize(
    ("tile", "length"), [((1, 4096), 4096), ((2, 4096), 4096), ((4, 2048), 2048)]
)
def test_other_rows_ask_for_each_tile(tile, length):
    made = rows(tile, length)
    assert not made.decisions.multiversioned
    assert not any(a.versioned for a in made.decisions.accesses.values())
    assert all(a.whole_first for op, a in made.decisions.accesses.items() if op.name == "load_view")


def sums(size, length):
    x = tw.meta((length,), tw.f32)
    return lowered(cuda_ir(kernels.add, x.partition_mut((size,)), x, x))


@pytest.mark.parametrize(
    ("size", "length"), [(1, 1001), (16, 1001), (2048, 1002), (16384, 1001), (8192, 1000)]
)
def test_so_is_what_is_taken_element_by_element(size, length):
    made = sums(size, length)
    assert made.decisions.multiversioned
    whole, other, asked = ways(made)
    for way in (whole, other):
        assert way.count("load_view_tko") == 2 and way.count("store_view_tko") == 1
    assert "load_view_tko" not in asked


@pytest.mark.parametrize("size", [1, 16, 1024, 4096])
def test_short_rows_of_whole_vectors_ask_for_each_vector(size):
    made = sums(size, 1000)
    assert not made.decisions.multiversioned
    assert not any(access.whole_first for access in made.decisions.accesses.values())
    assert program_text(made.program).count("load_view_tko") == 2


def test_what_has_several_rows_asks_once_as_well():
    x = tw.meta((1000, 64), tw.f32)
    made = lowered(cuda_ir(kernels.add, x.partition_mut((16, 64)), x, x))
    whole, other, asked = ways(made)
    assert whole.count("inbounds") == 3
    assert "inbounds" not in other + asked


@tw.entry
def row_sums(z: tl.TensorMut[tw.f32], x: tl.Tensor, *, BN: tl.Const[int] = 512) -> None:
    xs = x.partition((z.shape[0], BN))
    total = tl.zeros(z.shape, tw.f32)
    for k in range(xs.num_tiles(1)):
        total = total + tl.reduce_sum(xs.load([tl.block_id(0), k]).astype(tw.f32), 1)
    z.store(total)


def test_loops_ask_before_their_first_iteration():
    x = tw.meta((64, 4096), tw.bf16)
    func = cuda_ir(row_sums, tw.meta((64,)).partition_mut((8,)), x)
    whole, other, asked = ways(lowered(func))
    for text in (whole, other):
        assert text.count("load_ptr_tko") == 1 and text.count(" = for ") == 1
    body = {name: text.split(" = for ")[1] for name, text in {"w": whole, "o": other}.items()}
    assert "cmpi" not in body["w"] and "cmpi" in body["o"]
    assert "cmpi" in asked


@tw.entry
def polynomials(z: tl.TensorMut[tw.f32], x: tl.Tensor, *, N: tl.Const[int]) -> None:
    tile = tl.load_tile_like(x, z)
    result = tile
    for i in tl.static_range(N):
        result = (
            result * tile + i * i * 7919 % 1013 / 2
        )  # no equal copies, which are one loop again
    z.store(result)


def test_large_bodies_are_not_there_twice():
    z = tw.meta((1000, 1024))
    for count, said in ((4, ""), (600, "not ")):
        func = cuda_ir(polynomials, z.partition_mut((8, 1024)), z, N=count)
        made = lowered(func)
        (line,) = [line for line in made.decisions.lines if "multi-versioned" in line]
        assert line.startswith(f"{said}multi-versioned")
        assert program_text(made.program).count("store_view_tko") == (1 if said else 2)


def test_a_wish_goes_first():
    made = rows((1, 8192), 8192, whole_first=False)
    assert not made.decisions.multiversioned
    assert program_text(made.program).count("load_view_tko") == 1


def ways(made):
    """The code for blocks whose tiles lie inside, that for others, and what is asked."""
    text = program_text(made.program)
    asked, whole, other = re.split(r"\n +if .*\n|\n +\} else \{\n", text)
    return whole, other, asked


def test_masks_are_for_blocks_at_the_edge():
    weight = tw.meta((8192,), tw.bf16)
    x, out = (tw.meta((1000, 8192), tw.bf16) for _ in range(2))
    func = cuda_ir(kernels.layer_norm, out.partition_mut((1, 8192)), x, weight, weight, 1e-5)
    whole, other, _ = ways(lowered(func))
    assert "cmpi" in other
    assert "cmpi" not in whole


def test_stores_are_masked_at_the_edge_alone():
    whole, other, asked = ways(rows((1, 8192), 8192))
    stores = [re.search(r"store_view_tko.*", text) for text in (whole, other)]
    assert [store is not None and "inbounds" in store[0] for store in stores] == [True, False]
    assert asked.count("cmpi") == 4, "two axes of what is read, and of what is written"


@tw.entry
def in_halves(out: tl.TensorMut) -> None:
    halves = out.partition_mut((1, 8192))
    left, right = halves.load([0, 0]), halves.load([0, 1])
    halves.store(left / tl.reduce_sum(left, 1, keepdims=True), [0, 0])
    halves.store(right / tl.reduce_sum(right, 1, keepdims=True), [0, 1])


def test_tiles_of_a_blocks_own_region_are_asked_for_where_they_lie():
    made = lowered(cuda_ir(in_halves, tw.meta((63, 16384)).partition_mut((1, 16384))))
    assert made.decisions.multiversioned
    _, _, asked = ways(made)
    row, column, *_ = re.findall(r"cmpi (%\d+),", asked)
    x, y = re.findall(r"(%\d+), (%\d+), %\d+ = get_tile_block_id", asked)[0]
    assert row == x
    assert column in re.findall(rf"(%\d+) = muli {y},", asked), "two tiles per block"


def test_a_tile_that_is_read_again_waits_for_the_time_before():
    loads = [
        re.findall(r"%\d+", line.split("optimization_hints")[0])
        for line in program_text(rows((1, 32768), 32768, dtype=tw.f32).program).splitlines()
        if "load_view_tko" in line
    ]
    for _, before, *rest in loads[:2] + loads[3:5]:
        assert rest
        assert any(before == operands[-1] for operands in loads)
    assert [len(operands) for operands in loads] == [5, 6, 6] * 2


@tw.entry
def compared(
    out: tl.TensorMut[tw.i32], x: tl.Tensor[tw.i32], y: tl.Tensor[tw.i32], *, FAR: tl.Const[int]
) -> None:
    """Compare indices with extents: of x, whose tiles are loaded, and of y, which has none."""
    at = tl.arange(16) + (FAR - 16)
    n = x.shape[0]
    below = tl.where(at < n, 1, 0) + tl.where(at <= n, 2, 0) + tl.where(at == n, 4, 0)
    above = tl.where(at > n, 8, 0) + tl.where(at >= n, 16, 0) + tl.where(at != n, 32, 0)
    is_there = tl.where(tl.arange(16) * 0 < y.shape[0], 64, 0)
    out.store((tl.load_tile_like(x, out) << 8) + below + above + is_there)


@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
@pytest.mark.parametrize("far", [16, 32, 64])
@pytest.mark.parametrize("length", [15, 16, 17, 31, 32, 33, 47])
def test_full_tiles_prove_no_more_of_extents_than_they_cover(length, far, simulated_gpu):
    x, y = np.arange(length, dtype=np.int32), np.zeros(0, np.int32)
    z = tw.full((length,), -7, tw.i32).sync()
    compared(z.partition_mut((16,)), x, y, FAR=far).sync()
    at = np.arange(length) % 16 + far - 16
    answers = [at < length, at <= length, at == length, at > length, at >= length, at != length]
    assert z.to_numpy().tolist() == (256 * x + sum(a << k for k, a in enumerate(answers))).tolist()
