"""A graph that was dropped while a launch of it is in flight."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import i32

BUSY = 200_000
"""Iterations that last until the test has looked, a thousand times over."""


@tw.entry
def later(z: tl.TensorMut[i32], x: tl.Tensor[i32], n: i32) -> None:
    t = tl.load_tile_like(x, z)
    for _ in range(n):
        t = t * 5 + 1
    z.store(t)


def test_its_memory_may_be_given_away():
    x = tw.from_numpy(np.arange(64, dtype=np.int32)).sync()
    z = tw.zeros((64,), i32).sync()
    stream = tw.default_device().new_stream()
    with tw.CudaGraph.scope(stream) as scope:
        scope.record(later(z.partition_mut((64,)), x, BUSY))
    graph = scope.graph
    graph.launch().start_on(stream)
    with pytest.raises(tw.BorrowError, match="the graph of"):
        tw.Arc(z)
    del graph, scope
    shared = tw.Arc(z)
    factor, total = pow(5, BUSY, 1 << 32), (pow(5, BUSY, 1 << 34) - 1) // 4
    expected = np.arange(64, dtype=np.uint64) * np.uint64(factor) + np.uint64(total % (1 << 32))
    assert np.array_equal(shared.to_numpy().view(np.uint32), expected.astype(np.uint32))
