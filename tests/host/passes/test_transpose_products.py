"""Products whose second operand is computed: transposed, so that it is the first."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import tiers
from support.cuda import cuda_ir
from support.ir import checked
from support.numbers import fresh_rng
from support.products import GRID, PRODUCTS, product_program
from tilewright.base.dtypes import bf16, f16, f32, i8
from tilewright.compile.options import CompileOptions
from tilewright.compile.pipeline import CUDA_PASSES, cuda_passes
from tilewright.ir.ops.control import FOR
from tilewright.ir.ops.layout import PERMUTE
from tilewright.ir.ops.matmul import PRODUCTS as MULTIPLICATIONS
from tilewright.ir.printer import print_func
from tilewright.ir.verify import verify
from tilewright.passes import transpose_products as module
from tilewright.passes.transpose_products import transpose_products


@tw.entry
def weights(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, *, BK: tl.Const[int] = 64,
    FIRST: tl.Const[bool] = False, BOTH: tl.Const[bool] = False, LOOK: tl.Const[bool] = False,
) -> None:  # fmt: skip
    """x @ w, where one of both is converted, or both are; the loop may look at its sum."""
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((z.shape[0], BK)), w.partition((BK, z.shape[1]))
    acc = tl.zeros(z.shape, f32)
    for k in range(ws.num_tiles(0)):
        a, b = xs.load([i, k]), ws.load([k, j])
        if FIRST or BOTH:
            a = a.astype(bf16)
        if not FIRST or BOTH:
            b = b.astype(bf16)
        acc = tl.mma(a, b, acc)
        if LOOK:
            acc = acc * 0.5
    z.store(acc.astype(z.dtype))


def products(tile=(128, 64), first=bf16, second=i8, kernel=weights, **constants):
    """The shapes of the products that a kernel has on the way to CUDA."""
    z, x, w = tw.meta((256, 256)), tw.meta((256, 256), first), tw.meta((256, 256), second)
    func = cuda_ir(kernel, z.partition_mut(tile), x, w, **constants)
    found = [op for op in func.walk() if op.is_a(*MULTIPLICATIONS)]
    return [(op.one("lhs").tile.shape, op.one("rhs").tile.shape) for op in found]


PLAIN, TRANSPOSED = [((128, 64), (64, 64))], [((64, 64), (64, 128))]


def test_what_is_converted_comes_first():
    assert products() == TRANSPOSED
    assert products(FIRST=True, first=i8, second=bf16) == PLAIN
    assert products(BOTH=True, first=i8) == PLAIN, "the larger one is first"
    assert products((64, 128), BOTH=True, first=i8) == [((128, 64), (64, 64))]
    assert products((64, 64), BOTH=True, first=i8) == [((64, 64), (64, 64))]


def test_sums_that_the_loop_looks_at_stay_as_they_are():
    assert products(LOOK=True) == PLAIN


@pytest.mark.parametrize("tile", [(4, 64), (128, 32)])
def test_small_products_stay_as_they_are(tile):
    """An instruction of a warp group has 64 rows, and at least 8 columns."""
    assert products(tile) == [((tile[0], 64), (64, tile[1]))]


@tw.entry
def loaded(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor) -> None:
    a, b = x.load_tile((z.shape[0], 64), [0, 0]), w.load_tile((64, z.shape[1]), [0, 0])
    z.store(a @ b)


@tw.entry
def turned(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor) -> None:
    """Weights that lie row by row: they are not transposed at all."""
    rows = w.load_tile((z.shape[1], 64), [0, 0]).astype(bf16)
    z.store(tl.mma(x.load_tile((z.shape[0], 64), [0, 0]), rows.T, tl.zeros(z.shape, f32)))


def test_what_is_loaded_stays_as_it_is():
    assert products(kernel=loaded, second=bf16) == PLAIN


def test_a_transposed_operand_is_what_it_was_made_of():
    z, x, w = tw.meta((8, 64)), tw.meta((8, 64), bf16), tw.meta((64, 64), i8)
    func = cuda_ir(turned, z.partition_mut((8, 64)), x, w)
    found = [op for op in func.walk() if op.is_a(*MULTIPLICATIONS, PERMUTE)]
    assert [op.name for op in found] == ["permute", "mmaf", "permute"]
    assert found[0].result.tile.shape == (64, 8), "of x alone, and of the result"


def test_other_architectures_keep_the_order():
    assert transpose_products in cuda_passes("sm_90")
    assert transpose_products not in cuda_passes("sm_80")
    wanted, refused = (CompileOptions(register_operands=asked) for asked in (True, False))
    assert cuda_passes("sm_80", wanted) == CUDA_PASSES
    assert transpose_products not in cuda_passes("sm_90", refused)


@pytest.fixture
def any_size(monkeypatch):
    """Let products of eight rows be large enough."""
    monkeypatch.setattr(module, "ROWS", 8)


@pytest.mark.parametrize(("element", "sums"), PRODUCTS, ids=str)
def test_random_chains_of_products_mean_the_same(element, sums, any_size):
    for seed in map(int, fresh_rng().integers(0, 2**31, tiers.count(quick=3, full=40))):
        func, ours = product_program(seed, element, sums)
        theirs = [a.copy() for a in ours]
        after = transpose_products(func)
        verify(after, "transpose_products")
        checked(func, theirs, GRID)
        checked(after, ours, GRID)
        same = all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
        assert same, f"seed {seed}\n{print_func(func)}\n{print_func(after)}"


def test_random_chains_are_transposed(any_size):
    """Inside of loops, and outside."""
    found = {True: 0, False: 0}
    for seed in range(30):
        func, _ = product_program(seed, f16, f32)
        for chain in module._ProductChooser(func).chains():
            found[chain.loop is not None and chain.loop.is_a(FOR)] += 1
    assert min(found.values()) > 3, found


@tw.entry
def pair(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, *, SECOND: tl.Const[int]) -> None:
    """Two products add to one sum; the second has so many rows of w, converted as well."""
    i, j, _ = tl.get_tile_block_id()
    acc = tl.zeros(z.shape, f32)
    for k in range(4):
        b = w.load_tile((64, z.shape[1]), [k, j]).astype(bf16)
        acc = tl.mma(x.load_tile((z.shape[0], 64), [i, k]), b, acc)
        c = w.load_tile((SECOND, z.shape[1]), [k, j]).astype(bf16)
        acc = tl.mma(x.load_tile((z.shape[0], SECOND), [i, k]), c, acc)
    z.store(acc.astype(z.dtype))


def test_all_products_of_a_chain_must_fit(monkeypatch):
    """A chain is transposed as a whole, or not at all."""
    assert products(kernel=pair, SECOND=64) == TRANSPOSED * 2
    monkeypatch.setattr(module, "_fits", lambda p: p.one("lhs").tile.shape[1] == 64)
    assert products(kernel=pair, SECOND=64) == TRANSPOSED * 2
    assert products(kernel=pair, SECOND=32)[1] == ((128, 32), (32, 64))
    assert products(kernel=pair, SECOND=32)[0] == PLAIN[0]


@tw.entry
def nested(z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, flag: tw.bool_) -> None:
    """The sum goes through a product in a branch, which is not one of the loop's own ops."""
    i, j, _ = tl.get_tile_block_id()
    acc = tl.zeros(z.shape, f32)
    for k in range(4):
        if flag:
            b = w.load_tile((64, z.shape[1]), [k, j]).astype(bf16)
            acc = tl.mma(x.load_tile((z.shape[0], 64), [i, k]), b, acc)
    z.store(acc.astype(z.dtype))


def test_a_product_in_a_branch_is_no_part_of_a_chain():
    z, x, w = tw.meta((256, 256)), tw.meta((256, 256), bf16), tw.meta((256, 256), i8)
    func = cuda_ir(nested, z.partition_mut((128, 64)), x, w, True)
    found = [op for op in func.walk() if op.is_a(*MULTIPLICATIONS)]
    assert [(op.one("lhs").tile.shape, op.one("rhs").tile.shape) for op in found] == PLAIN
