"""A layer of experts: each token goes to a few of many matrices, and how many to which is data.

The rows of an expert are put next to each other, from a whole tile on, so that a tile of rows has
one expert. How many tiles are in use is known on the device only: the buffers have room for the
worst case, and the blocks of a persistent kernel share what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from persistent_gemm import TOLERANCE
from tilewright import DType, f32, i32

E = TypeVar("E", bound=DType)
Numbers = npt.NDArray[np.int32]

BM, BN = 16, 32
"""Rows of a tile of one expert, and its columns."""


@dataclass(frozen=True)
class Route:
    """Where the rows of tokens go: what a router's kernel would leave on the device."""

    rows: Numbers
    """For each place the token that stands there, -1 for none."""
    experts: Numbers
    """For each tile of places its expert."""
    used: Numbers
    """How many tiles are in use: one number."""
    places: Numbers
    """For each token and choice the place where it stands."""


def route(choices: Numbers, experts: int) -> Route:
    """Sort the choices of tokens by expert; each expert's places begin with a tile of their own."""
    tokens, each = choices.shape
    counts = np.bincount(choices.ravel(), minlength=experts)
    tiles = -(-counts // BM)
    most = -(-(tokens * each + experts * (BM - 1)) // BM)
    first = np.concatenate([[0], np.cumsum(tiles)[:-1]]) * BM
    rows = np.full(most * BM, -1, np.int32)
    places = np.empty_like(choices)
    for number in np.argsort(choices, axis=None, kind="stable"):
        token, choice = divmod(int(number), each)
        expert = choices[token, choice]
        rows[first[expert]] = token
        places[token, choice] = first[expert]
        first[expert] += 1
    owner = np.zeros(most, np.int32)
    owner[: tiles.sum()] = np.repeat(np.arange(experts), tiles)
    return Route(rows, owner, np.asarray([tiles.sum()], np.int32), places)


def number_at(numbers: tl.AnyTensor[i32], *index: int) -> i32:
    """One number of a tensor, checked to be there."""
    return numbers.load_tile((1,) * len(index), index).item()


@tw.entry
def dispatch(
    places: tl.MappedPartitionMut[E],
    x: tl.Tensor[E, tl.Dyn, tl.Dyn],
    rows: tl.Tensor[i32, tl.Dyn],
) -> None:
    """Put each token's row where it belongs; nothing where no token stands."""
    xs = x.partition(places.shape)
    for index in places.iter_indices():
        place, column = index
        token = number_at(rows, place)
        if token >= 0:
            places.store(xs.load((token, column)), index)
        else:
            places.store(tl.zeros(places.shape, places.dtype), index)


@tw.entry
def grouped_gemm(
    z: tl.MappedPartitionMut[E],
    x: tl.Tensor[E, tl.Dyn, tl.Dyn],
    w: tl.Tensor[E, tl.Dyn, tl.Dyn, tl.Dyn],
    experts: tl.Tensor[i32, tl.Dyn],
    used: tl.Tensor[i32, tl.Dyn],
    *,
    BK: tl.Const[int] = 32,
) -> None:
    """Multiply each tile of rows by its expert's matrix; a number that is none fails the launch."""
    bm, bn = z.shape
    xs, ws = x.partition((bm, BK)), w.partition((1, BK, bn))
    tiles = number_at(used, 0)  # the same in all blocks, so they can share the tiles
    for index in z.iter_indices_within(((0, tiles), (0, -1))):
        m, n = index
        expert = number_at(experts, m)
        acc = tl.zeros((bm, bn), f32)
        for k in range(xs.num_tiles(1)):
            acc = tl.mma(xs.load((m, k)), ws.load((expert, k, n)).reshape(BK, bn), acc)
        z.store(acc.astype(z.dtype), index)


@tw.entry
def combine(
    out: tl.TensorMut[E],
    z: tl.Tensor[E, tl.Dyn, tl.Dyn],
    places: tl.Tensor[i32, tl.Dyn, tl.Dyn],
    gates: tl.Tensor[f32, tl.Dyn, tl.Dyn],
) -> None:
    """A token's result: what its experts made of it, weighted."""
    token, column, _ = tl.get_tile_block_id()
    zs = z.partition(out.shape)
    acc = tl.zeros(out.shape, f32)
    for choice in range(places.shape[1]):
        gate = gates.load_tile((1, 1), (token, choice)).item()
        acc = acc + zs.load((number_at(places, token, choice), column)).astype(f32) * gate
    out.store(acc.astype(out.dtype))


def layer(
    x: tw.Tensor[E],
    w: tw.Tensor[E],
    choices: Numbers,
    gates: npt.NDArray[np.float32],
) -> tw.Tensor[E]:
    """All of it, started as one op; no number comes back to the host."""
    experts, inner, columns = w.shape
    way = route(choices, experts)
    room = tw.empty((way.rows.size, inner), x.dtype).partition((1, 64)).sync()
    sorted_rows = dispatch(room.map((1, 1)), x, way.rows).out()
    made = tw.empty((way.rows.size, columns), x.dtype).partition((BM, BN)).sync()
    z = grouped_gemm(made.map((4, 1)), sorted_rows, w, way.experts, way.used).out()
    out = tw.empty((x.shape[0], columns), x.dtype).partition((1, 64))
    return combine(out, z, way.places, gates).out().sync()


def expected(
    x: npt.NDArray[Any], w: npt.NDArray[Any], choices: Numbers, gates: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """The same in NumPy, token by token."""
    made = np.einsum("td,tcdh->tch", x.astype(np.float64), w.astype(np.float64)[choices])
    combined: npt.NDArray[np.float64] = np.einsum("tch,tc->th", made, gates.astype(np.float64))
    return combined


def main() -> None:
    """One token, experts without tokens, one that gets all, and any number of them."""
    rng = np.random.default_rng()
    for dtype, off in TOLERANCE.items():
        for tokens, experts, each in (1, 1, 1), (15, 4, 1), (50, 3, 2), (70, 8, 2):
            inner, columns = 40, 70
            x = rng.standard_normal((tokens, inner)).astype(dtype.np)
            w = rng.standard_normal((experts, inner, columns)).astype(dtype.np)
            gates = rng.random((tokens, each), dtype=np.float32)
            a, b = tw.from_numpy(x, dtype).sync(), tw.from_numpy(w, dtype).sync()
            for most in (1, experts):
                choices = rng.integers(0, most, (tokens, each)).astype(np.int32)
                out = layer(a, b, choices, gates)
                np.testing.assert_allclose(
                    out.to_numpy().astype(np.float64),
                    expected(x, w, choices, gates),
                    rtol=off * 4,
                    atol=off * 40,
                )
    print("grouped_gemm: up to 8 experts in f32, f16 and bf16 agree with NumPy")


if __name__ == "__main__":
    main()
