"""The same decode loop as one op made of others, captured as a whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tilewright as tw
from decoder import LAYERS, ROWS, WIDTH, Weights, add, matvec, rms_norm
from tilewright import DeviceOp, Tensor, f16, f32

TOKENS = 64

Vector = Tensor[f32]


def layer(h: Vector, up: Tensor[f16], down: Tensor[f16], out: Vector) -> DeviceOp[Vector]:
    """One layer from `h` to `out`; what lies between is made when the op is captured."""
    normal = rms_norm(tw.empty((WIDTH,)).partition((WIDTH,)), h, 1e-6).out()
    inner = matvec(tw.empty((WIDTH,)).partition((ROWS,)), up, normal).out()
    outer = matvec(tw.empty((WIDTH,)).partition((ROWS,)), down, inner).out()
    return add(out.partition_mut(WIDTH), h, outer).out()


def forward(weights: Weights, given: Vector) -> DeviceOp[Vector]:
    """All layers, one after the other, each writing what the next one reads."""
    buffers = [tw.zeros((WIDTH,)).sync() for _ in range(2)]
    op: DeviceOp[Vector] = tw.value(given)
    for number, (up, down) in enumerate(zip(weights.up, weights.down, strict=True)):
        op = op.then(into(buffers[number % 2]), up, down)
    return op


def into(out: Vector) -> Callable[[Vector, Tensor[f16], Tensor[f16]], DeviceOp[Vector]]:
    """A layer that writes `out`, borrowed when the layer runs: arguments of `then` are borrowed
    where it is written, and the layers take turns with two buffers."""
    return lambda h, up, down: layer(h, up, down, out)


def main() -> None:
    """Capture the op, then replay it for each token."""
    weights = Weights.random(WIDTH, LAYERS)
    given = tw.zeros((WIDTH,)).sync()
    graph = forward(weights, given).graph_on(given.device.new_stream())
    result = graph.take_output()
    tokens = np.random.default_rng().standard_normal((TOKENS, WIDTH), dtype=np.float32)
    for token in tokens:
        graph.update(given.copy_from(token))
        graph.launch().sync_on(graph.stream)
    expected = weights.forward_on_host(tokens[-1])
    np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-3, atol=1e-3)
    print(f"cuda_graphs_deviceop: {TOKENS} tokens, {len(graph.nodes)} nodes each")


if __name__ == "__main__":
    main()
