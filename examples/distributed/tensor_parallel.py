"""A transformer block, tensor parallel: each process has some heads and some hidden units.

Two all-reduces add up what the processes have computed, after the attention and after the network.

    torchrun --nproc-per-node 4 tensor_parallel.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from layers import TILE, by_rows, gemm, product, relu, rms_norm, softmax, sum_of

import tilewright as tw
from tilewright import Tensor, f32
from tilewright.distributed import Group, all_reduce

TOKENS, WIDTH, HEADS, HIDDEN = 48, 64, 4, 96
HEAD = WIDTH // HEADS

Array = npt.NDArray[np.float32]


def weights() -> dict[str, Array]:
    """The same numbers in each process."""
    rng = np.random.default_rng(3)
    shapes = {
        "x": (TOKENS, WIDTH), "q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH),
        "o": (WIDTH, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH),
    }  # fmt: skip
    scale = np.float32(WIDTH**-0.5)
    return {
        name: rng.standard_normal(shape, dtype=np.float32) * (scale if name != "x" else 1)
        for name, shape in shapes.items()
    }


def block(rank: int, size: int, group: Group | None) -> Array:
    """The output of the block, of which this rank computes a part; alone it needs no group."""
    if HEADS % size or HIDDEN % size:
        raise ValueError(f"{HEADS} heads and {HIDDEN} units are not divided by {size} processes")
    given = weights()

    def columns(name: str) -> Tensor[f32]:
        part = np.split(given[name], size, axis=1)[rank]
        return tw.from_numpy(np.ascontiguousarray(part)).sync()

    def rows(name: str) -> Tensor[f32]:
        return tw.from_numpy(np.split(given[name], size, axis=0)[rank]).sync()

    def added(part: Tensor[f32]) -> Tensor[f32]:
        return part if group is None else all_reduce(part, group=group).start()

    x = tw.from_numpy(given["x"]).sync()
    normal = by_rows(rms_norm, x)
    q, k, v = (product(normal, columns(name)) for name in "qkv")
    attended = product(attention(q, k, v, HEADS // size), rows("o"))
    x = sum_of(x, added(attended))
    hidden = product(by_rows(rms_norm, x), columns("up"))
    active = relu(tw.empty(hidden.shape).partition(TILE), hidden).out().start()
    result: Array = sum_of(x, added(product(active, rows("down")))).to_numpy()
    return result


def attention(q: Tensor[f32], k: Tensor[f32], v: Tensor[f32], heads: int) -> Tensor[f32]:
    """Attend with some heads, whose columns lie side by side."""
    out = tw.zeros((TOKENS, heads * HEAD)).sync()
    whole = out.borrow_mut()
    for head in range(heads):
        own = slice(head * HEAD, (head + 1) * HEAD)
        scores = by_rows(softmax, product(q[:, own], k[:, own].T), HEAD**-0.5)
        gemm(whole[:, own].partition(TILE), scores, v[:, own]).start()
    return out


def expected() -> npt.NDArray[np.float64]:
    """The same in NumPy, in double precision."""
    w = {name: array.astype(np.float64) for name, array in weights().items()}

    def norm(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        scaled: npt.NDArray[np.float64] = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
        return scaled

    x, normal = w["x"], norm(w["x"])
    parts: list[npt.NDArray[np.float64]] = []
    q, k, v = (np.split(normal @ w[name], HEADS, axis=1) for name in "qkv")
    for head in range(HEADS):
        scores = q[head] @ k[head].T * HEAD**-0.5
        shifted = np.exp(scores - scores.max(1, keepdims=True))
        parts.append(shifted / shifted.sum(1, keepdims=True) @ v[head])
    x = x + np.concatenate(parts, axis=1) @ w["o"]
    result: npt.NDArray[np.float64] = x + np.maximum(norm(x) @ w["up"], 0) @ w["down"]
    return result


def main() -> None:
    """Compare with one process, and with NumPy."""
    with tw.distributed.init() as group:
        together = block(group.rank, group.size, group)
        alone = block(0, 1, None)
        np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)  # another order of sums
        np.testing.assert_allclose(together, expected(), rtol=1e-3, atol=1e-4)
        if group.rank == 0:
            print(f"tensor_parallel: {group.size} processes agree with one, and with NumPy")


if __name__ == "__main__":
    main()
