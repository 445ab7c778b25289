"""The kernels that are timed, written as a user would write them."""

from __future__ import annotations

import tilewright as tw
import tilewright.lang as tl
from tilewright import dim, f32


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    """z = x + y."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def saxpy(y: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], a: f32) -> None:
    """y = a * x + y, in place."""
    y.store(a * tl.load_tile_like(x, y) + y.load())


@tw.entry
def threshold_scale(
    out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], threshold: f32, scale: f32
) -> None:
    """Scale what reaches the threshold; the rest is 0."""
    tile = tl.load_tile_like(x, out)
    out.store(tl.where(tile >= threshold, tile * scale, 0.0))


@tw.entry
def chain(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], y: tl.Tensor[f32, tl.Dyn]) -> None:
    """Six elementwise operations, one of them an exp."""
    a, b = tl.load_tile_like(x, out), tl.load_tile_like(y, out)
    out.store(a + tl.exp(-tl.abs(a * b + 0.5)))


@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Softmax of each row, computed in f32; a tile holds whole rows."""
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf).astype(f32)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store((p / tl.reduce_sum(p, 1, keepdims=True)).astype(out.dtype))


@tw.entry
def rms_norm(out: tl.TensorMut, x: tl.Tensor, weight: tl.Tensor, eps: f32) -> None:
    """Each row divided by its root mean square, times a weight per column."""
    assert out.shape[1] >= x.shape[1]
    _, BN = out.shape
    tile = tl.load_tile_like(x, out).astype(f32)
    mean_square = tl.reduce_sum(tile * tile, 1, keepdims=True) / float(x.shape[1])
    scale = weight.load_tile((BN,), [0])[None, :].astype(f32)
    out.store((tile * tl.rsqrt(mean_square + eps) * scale).astype(out.dtype))


@tw.entry
def layer_norm(
    out: tl.TensorMut, x: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor, eps: f32
) -> None:
    """Each row shifted to mean 0 and scaled to variance 1, then weight and bias per column."""
    assert out.shape[1] >= x.shape[1]
    _, BN = out.shape
    count = float(x.shape[1])
    tile = tl.load_tile_like(x, out).astype(f32)
    mean = tl.reduce_sum(tile, 1, keepdims=True) / count
    inside = (tl.arange(BN) < x.shape[1])[None, :]
    centred = tl.where(inside, tile - mean, 0.0)
    variance = tl.reduce_sum(centred * centred, 1, keepdims=True) / count
    scale = weight.load_tile((BN,), [0])[None, :].astype(f32)
    shift = bias.load_tile((BN,), [0])[None, :].astype(f32)
    out.store((centred * tl.rsqrt(variance + eps) * scale + shift).astype(out.dtype))


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 64) -> None:
    """z = x @ y for any float type; products are added up in f32."""
    assert x.shape[1] == y.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc.astype(z.dtype))


@tw.entry
def persistent_gemm(
    z: tl.MappedPartitionMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 64
) -> None:
    """z = x @ y by as many blocks as the device runs at once, each of which visits many tiles."""
    BM, BN = z.shape
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    for index in z.iter_indices():
        i, j = index
        acc = tl.zeros((BM, BN), f32)
        for k in range(tl.num_tiles(xs, 1)):
            acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
        z.store(acc.astype(z.dtype), index)


@tw.entry
def batch_gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 64) -> None:
    """z[b] = x[b] @ y[b]; a tile belongs to one b."""
    assert x.shape[2] == y.shape[1]
    _, BM, BN = z.shape
    b, i, j = tl.get_tile_block_id()
    xs, ys = x.partition((1, BM, BK)), y.partition((1, BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(tl.num_tiles(xs, 2)):
        left = xs.load([b, i, k]).reshape(BM, BK)
        acc = tl.mma(left, ys.load([b, k, j]).reshape(BK, BN), acc)
    z.store(acc.astype(z.dtype).reshape(1, BM, BN))


@tw.entry(
    preconditions=[
        dim("z", 0) == dim("x", 0),
        dim("z", 1) == dim("x", 1),
        dim("z", 2) == dim("y", 2),
        dim("x", 2) == dim("y", 1),
        dim("x", 0) == dim("y", 0),
    ]
)
def persistent_batch_gemm(
    z: tl.MappedPartitionMut, x: tl.Tensor, y: tl.Tensor, *, BK: tl.Const[int] = 64
) -> None:
    """z[b] = x[b] @ y[b] by as many blocks as the device runs at once."""
    _, BM, BN = z.shape
    xs, ys = x.partition((1, BM, BK)), y.partition((1, BK, BN))
    for index in z.iter_indices():
        b, i, j = index
        acc = tl.zeros((BM, BN), f32)
        for k in range(tl.num_tiles(xs, 2)):
            left = xs.load([b, i, k]).reshape(BM, BK)
            acc = tl.mma(left, ys.load([b, k, j]).reshape(BK, BN), acc)
        z.store(acc.astype(z.dtype).reshape(1, BM, BN), index)


LOG2_E = 1.4426950408889634


def _weigh(
    score: tl.Tile[f32], peak: tl.Tile[f32], total: tl.Tile[f32], factor: float
) -> tuple[tl.Tile[f32], tl.Tile[f32], tl.Tile[f32], tl.Tile[f32]]:
    """Weights of scores as powers of two, their peak and total, and how sums before them fade."""
    higher = tl.maximum(peak, tl.reduce_max(score, 1, keepdims=True) * factor)
    p = tl.exp2(score * factor - higher)
    fade = tl.exp2(peak - higher)
    return p, higher, total * fade + tl.reduce_sum(p, 1, keepdims=True), fade


@tw.entry
def attention(
    out: tl.TensorMut,
    q: tl.Tensor,
    k: tl.Tensor,
    v: tl.Tensor,
    scale: f32,
    *,
    BN: tl.Const[int] = 64,
    LAST: tl.Const[int] = 64,
    CAUSAL: tl.Const[bool] = False,
    GROUP: tl.Const[int] = 1,
) -> None:
    """Attention of (heads, tokens, depth) in one pass over the keys; a block owns BM queries.

    Steps have BN keys, and LAST where some keys do not count. GROUP heads of queries share one of
    keys.
    """
    _, BM, D = out.shape
    assert BN % LAST == 0
    assert k.shape == v.shape == (tl.ceil_div(q.shape[0], GROUP), k.shape[1], D)
    head, block, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    keys, values = k.partition((1, BN, D)), v.partition((1, BN, D))
    last_keys, last_values = k.partition((1, LAST, D)), v.partition((1, LAST, D))
    rows, columns = (tl.arange(BM) + block * BM)[:, None], tl.arange(LAST)[None, :]
    factor = scale * LOG2_E
    peak = tl.full((BM, 1), tl.neg_inf, f32)
    total = tl.zeros((BM, 1), f32)
    acc = tl.zeros((BM, D), f32)
    stop, whole = tl.num_tiles(last_keys, 1), k.shape[1] // BN
    if CAUSAL:  # no key after the last query of this block counts
        stop = min(stop, tl.ceil_div((block + 1) * BM, LAST))
        whole = min(whole, block * BM // BN)
    # `whole` lies in 0..stop; said here, it keeps the assembler from copies of the loops.
    for j in range(min(whole, stop)):
        key = keys.load([head // GROUP, j, 0]).reshape(BN, D)
        score = tl.mma(query, key.T, tl.zeros((BM, BN), f32))
        p, peak, total, fade = _weigh(score, peak, total, factor)
        value = values.load([head // GROUP, j, 0]).reshape(BN, D)
        acc = tl.mma(p.astype(v.dtype), value, acc * fade)
    for j in range(max(whole, 0) * (BN // LAST), stop):
        key = last_keys.load([head // GROUP, j, 0]).reshape(LAST, D)
        score = tl.mma(query, key.T, tl.zeros((BM, LAST), f32))
        seen = columns + j * LAST < k.shape[1]
        if CAUSAL:
            seen = seen & (columns + j * LAST <= rows)
        score = tl.where(seen, score, tl.neg_inf)
        p, peak, total, fade = _weigh(score, peak, total, factor)
        value = last_values.load([head // GROUP, j, 0]).reshape(LAST, D)
        acc = tl.mma(p.astype(v.dtype), value, acc * fade)
    out.store((acc / total).astype(out.dtype).reshape(1, BM, D))


@tw.entry
def transpose(out: tl.TensorMut, x: tl.Tensor) -> None:
    """The transposed matrix, tile by tile."""
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    out.store(x.load_tile((BN, BM), [j, i]).T)


@tw.entry
def sum_rows(
    out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], *, BN: tl.Const[int] = 4096
) -> None:
    """The sum of each row: a reduction along the axis that is contiguous."""
    (BM,) = out.shape
    i, _, _ = tl.get_tile_block_id()
    xs = x.partition((BM, BN))
    total = tl.zeros((BM,), f32)
    for k in range(tl.num_tiles(xs, 1)):
        total = total + tl.reduce_sum(xs.load([i, k]), 1)
    out.store(total)


@tw.entry
def sum_columns(
    out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], *, BM: tl.Const[int] = 64
) -> None:
    """The sum of each column: a reduction along the other axis."""
    (BN,) = out.shape
    j, _, _ = tl.get_tile_block_id()
    xs = x.partition((BM, BN))
    total = tl.zeros((BN,), f32)
    for k in range(tl.num_tiles(xs, 0)):
        total = total + tl.reduce_sum(xs.load([k, j]), 0)
    out.store(total)
