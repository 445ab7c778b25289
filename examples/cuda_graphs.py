"""A decode loop as a graph: every launch of 22 layers is recorded once and replayed per token."""

from __future__ import annotations

import time

import numpy as np

import tilewright as tw
from decoder import LAYERS, ROWS, WIDTH, Weights, add, matvec, rms_norm

TOKENS = 64


def main() -> None:
    """Record the layers one op after the other in a scope, then decode."""
    weights = Weights.random(WIDTH, LAYERS)
    h, normal, inner, outer = (tw.zeros((WIDTH,)).sync() for _ in range(4))
    with tw.CudaGraph.scope(h.device.new_stream()) as s:
        for up, down in zip(weights.up, weights.down, strict=True):
            s.record(rms_norm(normal.partition_mut(WIDTH), h, 1e-6))
            s.record(matvec(inner.partition_mut(ROWS), up, normal))
            s.record(matvec(outer.partition_mut(ROWS), down, inner))
            # Each record ends its borrows: h is read here, and written by the next one.
            s.record(add(normal.partition_mut(WIDTH), h, outer))
            s.record(tw.memcpy(h, normal))
    graph = s.graph
    tokens = np.random.default_rng().standard_normal((TOKENS, WIDTH), dtype=np.float32)
    start = time.perf_counter()
    for token in tokens:
        graph.update(h.copy_from(token))
        graph.launch().sync_on(graph.stream)
    each = (time.perf_counter() - start) / TOKENS
    np.testing.assert_allclose(
        h.to_numpy(), weights.forward_on_host(tokens[-1]), rtol=1e-3, atol=1e-3
    )
    print(
        f"cuda_graphs: {TOKENS} tokens, {len(graph.nodes)} nodes each, {each * 1e3:.1f} ms a token"
    )


if __name__ == "__main__":
    main()
