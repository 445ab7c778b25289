"""One stream, one memory, two kinds of kernel: a tile softmax, then a rule for each element.

    tilewright run examples/tile_to_simt

The tile kernel reduces whole rows; the SIMT kernel decides element by element. `then` puts both on
the same stream, and the second reads the very tensor that the first wrote. On a GPU the SIMT kernel
is built as PTX for `--arch`, else for TILEWRIGHT_TARGET, else for the GPU at hand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt

Matrix = npt.NDArray[np.float32]

ROWS, COLS = 4, 8
TILE = (2, 8)
THRESHOLD, SCALE = 0.08, 4.0
PASS = "PASS: tile softmax -> SIMT threshold/scale passed"


@tw.entry
def row_softmax(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    """Row by row, stable: the largest number of a row is taken off first."""
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


@simt.kernel
def threshold_scale(
    out: simt.DisjointSlice[f32], x: simt.Slice[f32], threshold: f32, scale: f32
) -> None:
    """Keep what reaches the threshold, scaled; the rest becomes 0."""
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * scale if x[i] >= threshold else 0.0


def given() -> Matrix:
    """The input: each row is the one before, moved; so all have the same softmax."""
    rows, cols = np.indices((ROWS, COLS))
    return (0.25 * rows + 0.5 * cols - 1.5).astype(np.float32)


def softmax(x: Matrix) -> npt.NDArray[np.float64]:
    """What NumPy says."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True), dtype=np.float64)
    total: npt.NDArray[np.float64] = shifted.sum(axis=1, keepdims=True)
    probs: npt.NDArray[np.float64] = shifted / total
    return probs


def main() -> None:
    """Run the chain and check every element."""
    x = given()
    probs = tw.zeros((ROWS, COLS)).partition(TILE)
    pipeline = row_softmax(probs, x).then(
        lambda p, x: threshold_scale(tw.zeros((ROWS, COLS)), p.unpartition(), THRESHOLD, SCALE)
    )
    gated, *_ = pipeline.sync()
    expected = softmax(x)
    got, wanted = gated.to_numpy(), np.where(expected >= THRESHOLD, SCALE * expected, 0.0)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5)
    with np.printoptions(precision=6, suppress=True):
        print("input  ", x[0])
        print("softmax", expected[0].astype(np.float32))
        print("output ", got[0])
    print(PASS)


if __name__ == "__main__":
    main()
