"""SIMT kernels that use every part of the language, and how to run one on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import bf16, bool_, f16, f32, f64, i8, i32, i64, simt, u8, u32

Array = np.ndarray[Any, Any]


@simt.kernel
def threshold(out: simt.DisjointSlice[f32], x: simt.Slice[f32], least: f32, scale: f32) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * scale if x[i] >= least else 0.0


@simt.kernel
def clause(out: simt.DisjointSlice[f32], x: simt.Slice[f32], y: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        return
    if i >= len(x):
        return
    out[i] += x[i] - y[len(y) - 1 - i]


@simt.kernel
def collatz(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        n = x[i]
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
            if steps > 50:
                break
        out[i] = steps


@simt.kernel
def rounds(out: simt.DisjointSlice[i32], x: simt.Slice[i32], most: i32) -> None:
    i = simt.index_1d()
    if i < len(out):
        total = 0
        for k in range(x[i]):
            if k % 3 == 1:
                continue
            for j in range(k, most):
                if j > 2 * k + x[i]:
                    break
                total += j
            if total > 500:
                break
        out[i] = total


def classify(v: int, limit: int) -> int:
    """Early returns, at every depth."""
    if v < 0:
        return -1
    for k in range(limit):
        if k * k == v:
            return k
        if k * k > v:
            return -k
    return 1000


@simt.kernel
def classified(out: simt.DisjointSlice[i32], x: simt.Slice[i32], limit: i32) -> None:
    i = simt.index_1d()
    if i < len(out):
        if x[i] == 7:
            return
        out[i] = classify(x[i], limit)


@simt.kernel
def gathered(out: simt.DisjointSlice[f32], x: simt.Slice[f32], where: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        total: float = f32(0)
        for k in range(3):
            at = where[i] + k
            if at >= 0 and at < len(x):
                total += x[at]
        if i > 0 and i + 1 < len(x):
            total += x[i - 1] * x[i + 1]
        out[i] = total + x[0]


@simt.kernel
def elementary(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        v = x[i]
        if v > 0.5:
            out[i] = simt.exp(v) + simt.log(v)
        elif v < -0.5:
            out[i] = simt.sin(v) * simt.tanh(v)
        else:
            out[i] = simt.sqrt(abs(v)) + simt.pow(abs(v) + 0.5, 1.5)


@simt.kernel
def halves(out: simt.DisjointSlice[f16], x: simt.Slice[bf16], keep: simt.Slice[bool_]) -> None:
    i = simt.index_1d()
    if i < len(out) and keep[i]:
        out[i] = f16(f32(x[i]) * 1.5)


@simt.kernel
def integers(
    out: simt.DisjointSlice[i64], mask: simt.DisjointSlice[bool_], x: simt.Slice[i8],
    y: simt.Slice[u8], z: simt.Slice[u32]
) -> None:  # fmt: skip
    i = simt.index_1d()
    if i < len(out):
        out[i] = i64(x[i]) * 1000 + i64(y[i] >> u8(1)) - i64(z[i] % u32(7)) // 3
        mask[i] = x[i] < 0


@simt.kernel
def doubles(out: simt.DisjointSlice[f64], x: simt.Slice[f64], n: i32) -> None:
    i = simt.index_1d()
    if i < len(out):
        total = x[i]
        for k in range(n):
            total = total * 0.5 + x[k]
        out[i] = min(max(total, -3.0), 3.0)


@simt.kernel(domain=2)
def rows(out: simt.DisjointSlice[f32], x: simt.Slice[f32], width: i32) -> None:
    i = simt.index_2d(width)
    if i < len(out):
        out[i] = x[i] + f32(i.row) * 100.0 + f32(i.col)


@simt.kernel
def placed(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        t, b, n = simt.thread_idx(), simt.block_idx(), simt.block_dim()
        same = 1 if b * n + t == i else 0
        out[i] = same * 1000000 + t * 1000 + b * 10 + simt.grid_dim()


@simt.kernel
def in_runs(out: simt.DisjointSlice[f32], x: simt.Slice[f32], y: simt.Slice[f32]) -> None:
    """Four elements a thread; the first run of `y` for all of them."""
    i = simt.index_1d()
    mine, theirs = out.runs(4), x.runs(4)
    if i < len(mine) and i < len(theirs):
        run, read, first = mine[i], theirs[len(theirs) - 1 - i], y.runs(4)[0]
        for k in range(len(run)):
            run[k] = read[3 - k] + first[k]
        run[1] += run[0]


@simt.kernel(domain=2, block=(4, 3))
def in_tiles(out: simt.DisjointSlice[f32], x: simt.Slice[f32], y: simt.Slice[f32], n: i32) -> None:
    """Two rows of three elements a thread; the last tile of `x`, and `y` in rows of 5."""
    mine, theirs = out.tiles((2, 3), n), x.tiles((2, 3), n)
    i = simt.index_2d(mine.width)
    if i < len(mine) and i < len(theirs):
        tile, read, first = mine[i], theirs[len(theirs) - 1 - i], y.tiles((2, 3), 5)[0, 0]
        for r in range(2):
            for c in range(3):
                tile[r, c] = read[1 - r, 2 - c] + first[r, c]
        tile[0, 1] += tile[1, 0]


@simt.kernel
def tiles_in_a_row(out: simt.DisjointSlice[i32], x: simt.Slice[i32], n: i32) -> None:
    """Tiles counted along the rows; the neighbour's row of each is looked up while it runs."""
    i = simt.index_1d()
    tiles = out.tiles((3, 1), n)
    if i < len(tiles):
        tile = tiles[i]
        for r in range(3):
            tile[r, 0] = x[i] * 8 + tile[(r + 1) % tile.shape[0], 0]


@simt.kernel(unsafe=True)
def histogram(counts: tl.Ptr[i32], x: simt.Slice[i32], bins: i32) -> None:
    i = simt.index_1d()
    if i < len(x) and x[i] >= 0:
        tl.atomic_add(counts.offset(x[i] % bins), 1)


@simt.kernel(unsafe=True)
def reversed_by_pointer(target: tl.Ptr[f32], source: tl.Ptr[f32], n: i32) -> None:
    i = simt.index_1d()
    if i < n:
        tl.store_ptr(target.offset(n - 1 - i), tl.load_ptr(source.offset(i)) + 1.0)


@simt.kernel(unsafe=True)
def claimed(slots: tl.Ptr[i32], out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out) and x[i] % 3 != 0:
        out[i] = tl.atomic_cas(slots.offset(i), -1, x[i])


@dataclass(frozen=True)
class Case:
    """A kernel, fresh arguments of n elements, and how it is launched."""

    kernel: Any
    given: Callable[[np.random.Generator, int], Sequence[Any]]
    """The outputs first, as many as `outputs`."""
    outputs: int = 1
    config: Callable[[Any], Any] = lambda launch: launch
    tolerance: float = 0.0


def floats(rng: np.random.Generator, n: int) -> Array:
    """Numbers around zero."""
    return rng.standard_normal(n).astype(np.float32)


def ints(rng: np.random.Generator, n: int, low: int = -5, high: int = 60) -> Array:
    """Small numbers."""
    return rng.integers(low, high, n, np.int32)


CASES: dict[str, Case] = {
    "threshold": Case(threshold, lambda r, n: (floats(r, n), floats(r, n + 3), 0.1, 4.0)),
    "clause": Case(clause, lambda r, n: (floats(r, n), floats(r, n // 2), floats(r, n + 1))),
    "collatz": Case(collatz, lambda r, n: (ints(r, n), ints(r, n, 1, 99))),
    "rounds": Case(rounds, lambda r, n: (ints(r, n), ints(r, n, -2, 12), 17)),
    "classified": Case(classified, lambda r, n: (ints(r, n), ints(r, n), 6)),
    "gathered": Case(
        gathered, lambda r, n: (floats(r, n), floats(r, n + 1), ints(r, n, -4, n + 2))
    ),
    "elementary": Case(elementary, lambda r, n: (floats(r, n), floats(r, n)), tolerance=1e-5),
    "halves": Case(
        halves,
        lambda r, n: (
            floats(r, n).astype(f16.np), floats(r, n).astype(bf16.np), ints(r, n, 0, 2).astype(bool)
        ),
    ),
    "integers": Case(
        integers,
        lambda r, n: (
            ints(r, n).astype(np.int64), ints(r, n, 0, 2).astype(bool), ints(r, n).astype(np.int8),
            ints(r, n).astype(np.uint8), ints(r, n).astype(np.uint32),
        ),
        outputs=2,
    ),
    "doubles": Case(doubles, lambda r, n: (r.standard_normal(n), r.standard_normal(n + 5), 4)),
    "rows": Case(
        rows,
        lambda r, n: (floats(r, n * 7).reshape(-1, 7), floats(r, n * 7), 7),
        config=lambda launch: launch.launch_config(block=(4, 3)),
    ),
    "runs": Case(
        in_runs, lambda r, n: (floats(r, 3 * n), floats(r, 3 * n + 1), floats(r, 5)),
    ),
    "tiles": Case(
        in_tiles,
        lambda r, n: (floats(r, n * 7).reshape(-1, 7), floats(r, n * 7), floats(r, 10), 7),
        config=lambda launch: launch.launch_config(grid=(1, 64)),
    ),
    "tiles-in-a-row": Case(
        tiles_in_a_row, lambda r, n: (ints(r, 5 * n), ints(r, 5 * n), 5),
    ),
    "tiles-without-columns": Case(
        tiles_in_a_row, lambda r, n: (ints(r, 5 * n), ints(r, 5 * n), -1),
    ),
    "placed": Case(placed, lambda r, n: (ints(r, n),)),
    "placed-100": Case(
        placed, lambda r, n: (ints(r, n),), config=lambda k: k.launch_config(block=100)
    ),
}  # fmt: skip


def run_on(device: str, case: Case, args: Sequence[Any]) -> list[Array]:
    """The outputs of a case on a device."""
    with tw.device(device):
        tensors = [tw.from_numpy(a).sync() for a in args[: case.outputs]]
        borrowed = [t.borrow_mut() for t in tensors]
        case.config(case.kernel(*borrowed, *args[case.outputs :])).sync()
        return [t.to_numpy() for t in tensors]


UNSAFE = {"histogram": histogram, "reversed": reversed_by_pointer, "claimed": claimed}
"""Kernels with raw pointers, which no table of arguments describes."""
