"""Matrix products that share an operand, awaited together: an `Arc` has several readers."""

from __future__ import annotations

import asyncio

import numpy as np

import tilewright as tw
from gemm import gemm
from tilewright import Tensor, f32


async def product(x: tw.Arc[f32], seed: int, n: int) -> Tensor[f32]:
    """x @ y for a fresh y; the result belongs to the caller."""
    y = tw.randn((x.shape[1], n), seed=seed)
    return await gemm(tw.empty((x.shape[0], n)).partition((64, 64)), x, y, BK=32).out()


async def products() -> None:
    """Three products of one matrix."""
    x = tw.Arc(await tw.randn((130, 75), seed=0))
    found = await asyncio.gather(*[product(x, seed, 97) for seed in (1, 2, 3)])
    left = x.to_numpy()
    for seed, z in zip((1, 2, 3), found, strict=True):
        right = await tw.randn((75, 97), seed=seed).to_numpy()
        np.testing.assert_allclose(z.to_numpy(), left @ right, rtol=1e-4, atol=1e-4)


def main() -> None:
    """Run the loop."""
    asyncio.run(products())
    print("async_gemm: three products of one (130, 75) matrix agree with NumPy")


if __name__ == "__main__":
    main()
