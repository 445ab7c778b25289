"""The layers of a small decoder, shared by the graph examples: norm, two products, a sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32

WIDTH = 2048
LAYERS = 22
ROWS = 8
"""Rows of a matrix that one block multiplies."""


@tw.entry
def rms_norm(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], eps: f32) -> None:
    """One block has the whole vector."""
    assert out.shape[0] >= x.shape[0]
    tile = tl.load_tile_like(x, out)
    mean_square = tl.reduce_sum(tile * tile, 0) / float(x.shape[0])
    out.store(tile * tl.rsqrt(mean_square + eps))


@tw.entry
def matvec(
    out: tl.TensorMut[f32], matrix: tl.Tensor[f16, tl.Dyn, tl.Dyn], x: tl.Tensor[f32, tl.Dyn],
    *, BK: tl.Const[int] = 2048,
) -> None:  # fmt: skip
    """Each block multiplies a few rows, BK columns at a time."""
    assert matrix.shape[1] == x.shape[0]
    (BM,) = out.shape
    row, _, _ = tl.get_tile_block_id()
    tiles, vector = matrix.partition((BM, BK)), x.partition((BK,))
    total = tl.zeros((BM,), f32)
    for k in range(tl.num_tiles(vector, 0)):
        products = tiles.load([row, k]).astype(f32) * vector.load([k])[None, :]
        total = total + tl.reduce_sum(products, 1)
    out.store(total)


@tw.entry
def add(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """A residual connection."""
    out.store(tl.load_tile_like(x, out) + tl.load_tile_like(y, out))


@dataclass(frozen=True)
class Weights:
    """Two square matrices for each layer."""

    up: list[tw.Tensor[f16]]
    down: list[tw.Tensor[f16]]

    @classmethod
    def random(cls, width: int, layers: int) -> Weights:
        """Weights that neither grow nor shrink what passes through them much."""
        rng = np.random.default_rng()
        scale = np.float32(0.3 / width**0.5)

        def one() -> tw.Tensor[f16]:
            values = rng.standard_normal((width, width), dtype=np.float32) * scale
            return tw.from_numpy(values.astype(np.float16)).sync()

        return cls([one() for _ in range(layers)], [one() for _ in range(layers)])

    def forward_on_host(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the decoder should give, in double precision."""
        h = x.astype(np.float64)
        for up, down in zip(self.up, self.down, strict=True):
            normal = h / np.sqrt((h * h).mean() + 1e-6)
            h = h + _wide(down) @ (_wide(up) @ normal)
        return h


def _wide(tensor: tw.Tensor[f16]) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.to_numpy()
    return array.astype(np.float64)
