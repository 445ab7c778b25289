"""z = x @ y by few blocks that each visit many tiles, in groups that meet their operands again."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import DType, bf16, f16, f32

E = TypeVar("E", bound=DType)

TOLERANCE: dict[type[DType], float] = {f32: 1e-5, f16: 2e-3, bf16: 2e-2}
"""How far a product may be off: by the rounding of its elements."""


@tw.entry
def persistent_gemm(
    z: tl.MappedPartitionMut[E],
    x: tl.Tensor[E, tl.Dyn, tl.Dyn],
    y: tl.Tensor[E, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 32,
) -> None:
    """A tile belongs to one block, so it is stored at an index of the loop, and nowhere else."""
    assert x.shape[1] == y.shape[0]  # checked at launch, before anything runs
    BM, BN = z.shape
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    for index in z.iter_indices():
        m, n = index
        acc = tl.zeros((BM, BN), f32)
        for k in range(xs.num_tiles(1)):
            acc = tl.mma(xs.load((m, k)), ys.load((k, n)), acc)
        z.store(acc.astype(z.dtype), index)


def matrix(rows: int, columns: int, dtype: type[DType]) -> npt.NDArray[Any]:
    """Fresh random numbers."""
    return np.random.default_rng().standard_normal((rows, columns)).astype(dtype.np)


def check(result: npt.NDArray[Any], x: npt.NDArray[Any], y: npt.NDArray[Any], off: float) -> None:
    """Compare a product with NumPy's, computed in double precision."""
    expected = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(
        result.astype(np.float64), expected, rtol=off, atol=off * max(1, x.shape[1]) ** 0.5 * 4
    )


def main() -> None:
    """Shapes around the tile, and the number of blocks left to the device."""
    for dtype, off in TOLERANCE.items():
        for rows, inner, columns in (1, 1, 1), (63, 31, 65), (64, 32, 64), (257, 75, 193):
            x, y = matrix(rows, inner, dtype), matrix(inner, columns, dtype)
            z = tw.full((rows, columns), float("nan"), dtype).sync()
            tiles = z.partition_mut((64, 64)).map((8, 1))
            persistent_gemm(tiles, tw.from_numpy(x, dtype), tw.from_numpy(y, dtype)).sync()
            check(z.to_numpy(), x, y, off)
    print("persistent_gemm: f32, f16 and bf16 at the edges of tiles agree with NumPy")


if __name__ == "__main__":
    main()
