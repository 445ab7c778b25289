"""A small network, data parallel: each batch is one chain of ops, scheduled by a policy."""

from __future__ import annotations

import asyncio

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from gemm import gemm
from tilewright import Arc, DeviceOp, Tensor, f32

BATCH, INPUTS, HIDDEN, OUTPUTS = 48, 70, 96, 33
TILE = (32, 32)


@tw.entry
def relu(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Negative numbers become 0."""
    out.store(tl.maximum(tl.load_tile_like(x, out), 0.0))


def forward(x: Tensor[f32], w1: Arc[f32], w2: Arc[f32]) -> DeviceOp[Tensor[f32]]:
    """relu(x @ w1) @ w2. Nothing runs yet: three kernels in a row, on whichever stream comes."""
    hidden = gemm(tw.empty((BATCH, HIDDEN)).partition(TILE), x, w1).out()
    active = hidden.then(lambda h: relu(tw.empty((BATCH, HIDDEN)).partition(TILE), h).out())
    return active.then(lambda h: gemm(tw.empty((BATCH, OUTPUTS)).partition(TILE), h, w2).out())


def expected(x: npt.NDArray[np.float32], w1: Arc[f32], w2: Arc[f32]) -> npt.NDArray[np.float32]:
    """The same in NumPy."""
    result: npt.NDArray[np.float32] = np.maximum(x @ w1.to_numpy(), 0) @ w2.to_numpy()
    return result


async def batches(count: int) -> None:
    """All batches are in flight together, on the streams that the policy hands out in turn."""
    w1 = Arc(await tw.randn((INPUTS, HIDDEN), std=0.1, seed=1))
    w2 = Arc(await tw.randn((HIDDEN, OUTPUTS), std=0.1, seed=2))
    policy = tw.StreamPoolRoundRobin(tw.default_device())
    data = [await tw.randn((BATCH, INPUTS), seed=10 + i) for i in range(count)]
    futures = [forward(x, w1, w2).schedule(policy) for x in data]
    for x, y in zip(data, await asyncio.gather(*futures), strict=True):
        reference = expected(x.to_numpy(), w1, w2)
        np.testing.assert_allclose(y.to_numpy(), reference, rtol=1e-4, atol=1e-4)


def main() -> None:
    """Run the loop."""
    asyncio.run(batches(6))
    print("async_mlp: six batches over the streams of a policy agree with NumPy")


if __name__ == "__main__":
    main()
