"""Dropout with a random number per element, made in the kernel from its index and a seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, u32

LIMIT = 1 << 24


def mix(bits: tl.Tile[u32]) -> tl.Tile[u32]:
    """Scramble 32 bits: shifts and odd multiplications, which wrap. Inlined into the kernel."""
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)


@tw.entry
def dropout(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], p: f32, seed: u32) -> None:
    """Drop an element with probability p, scale the others so that the mean stays."""
    (block,) = out.shape
    i, _, _ = tl.get_tile_block_id()
    index = (tl.arange(block) + i * block).astype(u32)
    uniform = (mix(index ^ seed) >> 8).astype(f32) / LIMIT
    kept = tl.load_tile_like(x, out) / (1.0 - p)
    out.store(tl.where(uniform >= p, kept, 0.0))


def expected(x: npt.NDArray[np.float32], p: float, seed: int) -> npt.NDArray[np.float32]:
    """The same in NumPy."""
    bits = np.arange(x.size, dtype=np.uint32) ^ np.uint32(seed)
    bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D)
    bits = (bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B)
    bits = bits ^ (bits >> np.uint32(16))
    uniform = (bits >> np.uint32(8)).astype(np.float32) / np.float32(LIMIT)
    return np.where(uniform >= np.float32(p), x / (1 - np.float32(p)), np.float32(0))


def main() -> None:
    """The same seed drops the same elements; about p of them."""
    rng = np.random.default_rng()
    x = rng.standard_normal(10_007, dtype=np.float32)
    out = tw.empty(x.shape).sync()
    dropout(out.partition_mut((512,)), x, 0.25, 1234).sync()
    result: npt.NDArray[np.float32] = out.to_numpy()
    np.testing.assert_allclose(result, expected(x, 0.25, 1234), rtol=1e-6)
    share = 1 - np.count_nonzero(result) / result.size
    assert 0.22 < share < 0.28, share
    print(f"dropout: dropped {share:.1%} of 10007 elements, the same ones as NumPy")


if __name__ == "__main__":
    main()
