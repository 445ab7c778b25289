"""Attention of 8 heads of depth 64, with and without a causal mask."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import kernels, peers
from ..case import OURS, Array, Case, Trial, Workload, flops
from ..data import calling, giving, poison, random, trial

HEADS, DEPTH = 8, 64
QUERIES, KEYS = 128, 128
"""Per tile."""


def _expected(q: Array, k: Array, v: Array, causal: bool) -> Array:
    """By the definition, in double precision, one head at a time."""
    out = np.empty(q.shape)
    mask = np.tri(q.shape[1], dtype=bool)
    for head in range(q.shape[0]):
        score = q[head].astype(np.float64) @ k[head].T.astype(np.float64) / np.sqrt(q.shape[2])
        if causal:
            score[~mask] = -np.inf
        score -= score.max(axis=1, keepdims=True)
        p = np.exp(score, out=score)
        p /= p.sum(axis=1, keepdims=True)
        out[head] = p @ v[head].astype(np.float64)
    return out


def _numpy(q: Array, k: Array, v: Array, causal: bool) -> Array:
    score = q @ k.transpose(0, 2, 1)
    score *= np.float32(q.shape[2] ** -0.5)
    if causal:
        score[:, ~np.tri(q.shape[1], dtype=bool)] = -np.inf
    score -= score.max(axis=2, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(axis=2, keepdims=True)
    result: Array = score @ v
    return result


def _attention(tokens: int, causal: bool) -> Case:
    shape = HEADS, tokens, DEPTH
    q, k, v, z = random(shape), random(shape), random(shape), poison(shape)
    tile = 1, QUERIES, DEPTH
    call = calling(kernels.attention, z, tile, q, k, v, DEPTH**-0.5, BN=KEYS, CAUSAL=causal)

    def torch() -> Trial:
        product = peers.torch().nn.functional.scaled_dot_product_attention
        a, b, c = (peers.tensor(t).unsqueeze(0) for t in (q, k, v))
        run = partial(product, a, b, c, is_causal=causal)
        return Trial(run, lambda result: result.squeeze(0).numpy())

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: giving(lambda: _numpy(q, k, v, causal)),
        "torch": torch,
    }
    share = 0.5 if causal else 1.0
    work = flops(4.0 * HEADS * tokens * tokens * DEPTH * share)
    return Case(call, contestants, lambda: _expected(q, k, v, causal), (1e-4, 1e-5), work)


def _workload(tokens: int, causal: bool, goal: float) -> Workload:
    kind = "_causal" if causal else ""
    about = f"{HEADS} heads of {tokens} tokens, depth {DEPTH}{', causal' if causal else ''}"
    make = partial(_attention, tokens, causal)
    return Workload(f"attention_{tokens}{kind}", about, make, {"torch": goal})


WORKLOADS = (
    _workload(1024, False, 1.0),
    _workload(1024, True, 1.2),
    _workload(4096, False, 0.95),
    _workload(4096, True, 1.2),
)
