"""z = x + y, awaited: the loop goes on while the device works, and independent sums overlap."""

from __future__ import annotations

import asyncio

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """One block adds one tile."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


async def summed(seed: int, n: int) -> npt.NDArray[np.float32]:
    """Everything is made, added and read back where it lives; nothing runs before `await`."""
    x, y = tw.rand((n,), seed=seed), tw.rand((n,), seed=seed + 1)
    z = await add(tw.empty((n,)).partition((1024,)), x, y).out()
    return z.to_numpy()


async def sums(n: int) -> None:
    """Four sums at once, each on a stream of its own."""
    found = await asyncio.gather(*[summed(seed, n) for seed in range(4)])
    drawn = [tw.rand((n,), seed=seed).to_numpy() for seed in range(5)]
    numbers = await asyncio.gather(*drawn)
    for i, z in enumerate(found):
        np.testing.assert_allclose(z, numbers[i] + numbers[i + 1], rtol=1e-6)


def main() -> None:
    """Run the loop."""
    asyncio.run(sums(10_007))
    print("async_add: four sums of 10007 elements agree with NumPy")


if __name__ == "__main__":
    main()
