"""How many bits of a function's result matter: through arithmetic, loops and branches."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir
from tilewright import bf16, f16, f32
from tilewright.analysis.needed_precision import LAST_BITS, LONG, is_narrow, tolerance_of

pytestmark = pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")


@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store((p / tl.reduce_sum(p, 1, keepdims=True)).astype(out.dtype))


@tw.entry
def running(out: tl.TensorMut, x: tl.Tensor) -> None:
    xs = x.partition(out.shape)
    total = tl.zeros(out.shape, f32)
    for j in range(tl.num_tiles(xs, 1)):
        total = total + tl.exp(xs.load([0, j]).astype(f32))
    out.store(total.astype(out.dtype))


@tw.entry
def fading(out: tl.TensorMut, x: tl.Tensor) -> None:
    xs = x.partition(out.shape)
    total = tl.zeros(out.shape, f32)
    for j in range(tl.num_tiles(xs, 1)):
        total = total * tl.exp(xs.load([0, j]).astype(f32)) + 1.0
    out.store(total.astype(out.dtype))


@tw.entry
def either(out: tl.TensorMut, x: tl.Tensor) -> None:
    i, _, _ = tl.get_tile_block_id()
    tile = tl.load_tile_like(x, out).astype(f32)
    result = tile
    if i > 0:
        result = tl.exp(tile)
    out.store(result.astype(out.dtype))


@tw.entry
def compared(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store(tl.where(tl.exp(tile) > 2.0, tile, 0.0).astype(out.dtype))


@tw.entry
def printed(out: tl.TensorMut, x: tl.Tensor) -> None:
    p = tl.exp(tl.load_tile_like(x, out).astype(f32))
    print(tl.reduce_sum(tl.reduce_sum(p, 1), 0))
    out.store(p.astype(out.dtype))


@tw.entry
def largest(out: tl.TensorMut, x: tl.Tensor) -> None:
    p = tl.exp(tl.load_tile_like(x, out).astype(f32))
    out.store((p + tl.argmax(p, 1, keepdims=True).astype(f32)).astype(out.dtype))


@tw.entry
def floored(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(tl.floor(tl.exp(tl.load_tile_like(x, out).astype(f32))).astype(out.dtype))


@tw.entry
def cancelling(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((1.0 - tl.exp(tile)).astype(out.dtype))


@tw.entry
def argument(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store(tl.log(tl.exp(tile)).astype(out.dtype))


@tw.entry
def terms(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((tl.exp(tile) * tile + 1.0 + tl.reduce_sum(tile, 1, keepdims=True)).astype(out.dtype))


@tw.entry
def product(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((tl.exp(tile) * tl.sqrt(tl.exp2(tile)) * tile).astype(out.dtype))


@tw.entry
def positive(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((abs(tile) * tl.exp(tile) + 1.0).astype(out.dtype))


@tw.entry
def sum_of_powers(out: tl.TensorMut[f32], x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf).astype(f32)
    peak = tl.reduce_max(tile, 1, keepdims=True)
    out.store(peak + tl.log(tl.reduce_sum(tl.exp(tile - peak), 1, keepdims=True)))


@tw.entry
def weighted(out: tl.TensorMut[f32], x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out, padding=0).astype(f32)
    out.store(tl.reduce_sum(tl.exp(tile) * tile, 1, keepdims=True))


@tw.entry
def online(out: tl.TensorMut[f32], x: tl.Tensor, *, BN: tl.Const[int]) -> None:
    xs = x.partition((1, BN), padding=tl.neg_inf)
    total = tl.zeros((1, 1), f32)
    for j in range(tl.num_tiles(xs, 1)):
        total = total + tl.reduce_sum(tl.exp(xs.load([tl.block_id(0), j])), 1, keepdims=True)
    out.store(total)


@tw.entry
def kept_too(out: tl.TensorMut[f32], x: tl.Tensor) -> None:
    p = tl.exp(tl.load_tile_like(x, out).astype(f32))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


@tw.entry
def cancelled(out: tl.TensorMut[f32], x: tl.Tensor) -> None:
    p = tl.exp(tl.load_tile_like(x, out).astype(f32))
    out.store(tl.broadcast(tl.reduce_sum(p - 1.0, 1, keepdims=True), out.shape))


@tw.entry
def multiplied(out: tl.TensorMut[f32], x: tl.Tensor) -> None:
    p = tl.exp(tl.load_tile_like(x, out).astype(f32))
    out.store(tl.broadcast(tl.reduce_prod(p, 1, keepdims=True), out.shape))


def bits(kernel, dtype=f16, name="exp"):
    """The bits of the functions of a name in a kernel that keeps such floats."""
    out = tw.meta((64, 64), dtype).partition_mut((8, 64))
    func = cuda_ir(kernel, out, tw.meta((64, 64), dtype))
    found = [op.attrs["bits"] for op in func.walk() if op.name == name]
    assert found
    return found


EXPECTED = {
    # A quotient of two that may be off, and that is off itself: a third for each.
    softmax: (15, 12),
    running: (13, 10),  # a sum of what is not negative is as exact as its terms
    fading: (LAST_BITS, LAST_BITS),  # a product with one factor more in each iteration
    either: (13, 10),
    cancelling: (LAST_BITS, LAST_BITS),
    terms: (LAST_BITS, LAST_BITS),
    positive: (13, 10),
    product: (14, 11),  # of two that may be off; the third factor is exact
}


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda k: k.kernel.name)
def test_what_ends_in_16_bits(kernel):
    assert (bits(kernel, f16), bits(kernel, bf16)) == tuple([n] for n in EXPECTED[kernel])
    assert bits(kernel, f32) == [0]


def test_conditions_count():
    """A root halves the relative error of what it is taken of, and is off itself."""
    assert bits(product, f16, "exp2") == [14]
    assert bits(product, f16, "sqrt") == [15]


@pytest.mark.parametrize(
    "kernel", [compared, printed, largest, floored, argument], ids=lambda k: k.kernel.name
)
def test_what_else_depends_on_every_bit(kernel):
    assert bits(kernel) == [0]


def row_bits(kernel, n, **constants):
    """The bits of each exponential in a kernel over rows of n elements, of which one has a sum."""
    width = 1 if kernel in (online, sum_of_powers, weighted) else n
    tile = n if kernel in (sum_of_powers, weighted) else width
    out = tw.meta((64, width), f32).partition_mut((1, tile))
    func = cuda_ir(kernel, out, tw.meta((64, n), f32), **constants)
    return [op.attrs["bits"] for op in func.walk() if op.name == "exp"]


def test_terms_of_long_sums():
    """A sum of n terms in f32 is only known up to n ulp, so that its terms may be off by a few."""
    assert row_bits(sum_of_powers, LONG) == [LAST_BITS]
    assert row_bits(sum_of_powers, LONG // 2) == [0]
    assert row_bits(online, 4 * LONG, BN=LONG) == [LAST_BITS]
    assert row_bits(weighted, LONG) == [LAST_BITS]  # a product has no larger error than its factors


@pytest.mark.parametrize("kernel", [kept_too, cancelled, multiplied], ids=lambda k: k.kernel.name)
def test_what_else_comes_from_terms_of_long_sums(kernel):
    """Numbers that are kept themselves, or of which a small difference is summed, are exact."""
    assert row_bits(kernel, LONG) == [0]


def test_narrow_types():
    assert [is_narrow(d) for d in (f16, bf16, tw.f8e4m3fn, f32, tw.i8)] == [True] * 3 + [False] * 2


@pytest.mark.parametrize(("dtype", "spacing"), [(f16, 2.0**-10), (bf16, 2.0**-7)])
def test_tolerances_are_a_quarter_of_an_ulp(dtype, spacing):
    assert 2 * tolerance_of(dtype) == spacing / 4
