"""Which results are only seen in 16 bits: through arithmetic, loops and branches."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir
from tilewright import bf16, f16, f32
from tilewright.analysis.observed_precision import is_narrow, observed_in_full

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


def narrow_exponentials(kernel, dtype=f16):
    out = tw.meta((64, 64), dtype).partition_mut((8, 64))
    func = cuda_ir(kernel, out, tw.meta((64, 64), dtype))
    found = [op.result for op in func.walk() if op.name == "exp"]
    assert found
    return all(value not in observed_in_full(func) for value in found)


@pytest.mark.parametrize("kernel", [softmax, running, either], ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_what_ends_in_16_bits(kernel, dtype):
    assert narrow_exponentials(kernel, dtype)
    assert not narrow_exponentials(kernel, f32)


@pytest.mark.parametrize("kernel", [compared, printed, largest], ids=lambda k: k.__name__)
def test_what_else_depends_on_every_bit(kernel):
    assert not narrow_exponentials(kernel)


def test_narrow_types():
    assert [is_narrow(d) for d in (f16, bf16, tw.f8e4m3fn, f32, tw.i8)] == [True] * 3 + [False] * 2
