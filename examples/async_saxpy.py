"""y = a * x + y in place, three times in a row: started work is ordered by the memory it uses."""

from __future__ import annotations

import asyncio

import numpy as np

import tilewright as tw
from saxpy import saxpy


async def accumulate(n: int, factors: tuple[float, ...]) -> None:
    """Start all steps at once; each waits on the device for the one before, not the host."""
    x, y = await tw.zip(tw.randn((n,), seed=1), tw.zeros((n,)))
    futures = [saxpy(y.partition_mut((1024,)), x, a).into_future() for a in factors]
    await asyncio.gather(*futures)
    expected = np.zeros(n, np.float32)
    for a in factors:
        expected += np.float32(a) * x.to_numpy()
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-5, atol=1e-6)


def main() -> None:
    """Run the loop."""
    asyncio.run(accumulate(3001, (2.5, -0.5, 1.0)))
    print("async_saxpy: three updates of 3001 elements, in the order they were started")


if __name__ == "__main__":
    main()
