"""Attention in one pass over the keys: softmax is kept up to date instead of stored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

Array = npt.NDArray[np.float32]


@tw.entry
def attention(
    out: tl.TensorMut[f32],
    q: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn],
    k: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn],
    v: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn],
    scale: f32,
    *,
    BN: tl.Const[int] = 32,
    CAUSAL: tl.Const[bool] = False,
) -> None:
    """Tensors are (heads, tokens, depth); a block owns BM queries of one head."""
    _, BM, D = out.shape
    head, block, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(BM, D)
    keys, values = k.partition((1, BN, D)), v.partition((1, BN, D))
    rows = (tl.arange(BM) + block * BM)[:, None]
    peak = tl.full((BM, 1), tl.neg_inf, f32)
    total = tl.zeros((BM, 1), f32)
    acc = tl.zeros((BM, D), f32)
    for j in range(tl.num_tiles(keys, 1)):
        key = keys.load([head, j, 0]).reshape(BN, D)
        score = tl.mma(query, key.T, tl.zeros((BM, BN), f32)) * scale
        columns = (tl.arange(BN) + j * BN)[None, :]
        seen = columns < k.shape[1]
        if CAUSAL:  # a constant: the branch not taken is not compiled
            seen = seen & (columns <= rows)
        score = tl.where(seen, score, tl.neg_inf)
        higher = tl.maximum(peak, tl.reduce_max(score, 1, keepdims=True))
        p = tl.exp(score - higher)
        fade = tl.exp(peak - higher)
        total = total * fade + tl.reduce_sum(p, 1, keepdims=True)
        acc = tl.mma(p, values.load([head, j, 0]).reshape(BN, D), acc * fade)
        peak = higher
    out.store((acc / total).reshape(1, BM, D))


def expected(q: Array, k: Array, v: Array, *, causal: bool) -> Array:
    """Attention as its definition says, in double precision."""
    score = np.einsum("hmd,hnd->hmn", q, k, dtype=np.float64) / np.sqrt(q.shape[-1])
    if causal:
        score = np.where(np.tri(q.shape[1], k.shape[1], dtype=bool), score, -np.inf)
    p = np.exp(score - score.max(axis=-1, keepdims=True))
    result = np.einsum("hmn,hnd->hmd", p / p.sum(axis=-1, keepdims=True), v)
    return np.asarray(result, np.float32)


def main() -> None:
    """Both kinds, with a number of tokens that no tile divides."""
    rng = np.random.default_rng()
    q, k, v = rng.standard_normal((3, 2, 100, 32), dtype=np.float32)
    for causal in (False, True):
        out = tw.empty(q.shape).sync()
        scale = float(q.shape[-1] ** -0.5)
        attention(out.partition_mut((1, 32, 32)), q, k, v, scale, CAUSAL=causal).sync()
        reference = expected(q, k, v, causal=causal)
        np.testing.assert_allclose(out.to_numpy(), reference, rtol=1e-4, atol=1e-5)
    print("flash_attention: 2 heads of 100 tokens, causal and not, agree with NumPy")


if __name__ == "__main__":
    main()
