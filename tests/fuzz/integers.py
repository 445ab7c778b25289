"""Random integer arithmetic that LLVM could get wrong: wide shifts, divisions, conversions.

What they give divides, decides, counts rounds and is an index, in tile and in SIMT kernels. Run as
a program, for what goes wrong may end the process:

    python -m fuzz.integers tiles 0 40
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from fuzz.wild.program import DTYPES, Array
from tilewright import simt
from tilewright.base.dtypes import AnyDType, int_range
from tilewright.frontend.capture.sources import execute

KINDS = tuple(DTYPES[name] for name in ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"))
COUNT = 32
"""Elements: as many as fill the vectors of any type."""
SIMPLE = ("({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} & {1})", "({0} | {1})", "({0} ^ {1})")
HARD = ("({0} << {1})", "({0} >> {1})", "({0} // {1})", "({0} % {1})", "(({0} | 1) << {1})",
        "({0} // (({1} | 1) << {0}))", "({0} // (({1} | 1) << {1}))")  # fmt: skip
TILES = (
    "tl.divi({0}, {1})", "tl.divi({0}, {1}, rounding=tl.Rounding.POS_INF)", "tl.remi({0}, {1})",
    "tl.ceil_div({0}, {1})", "tl.mulhii({0}, {1})", "tl.maximum({0}, {1})",
    "tl.where({0} < {1}, {0}, {1})",
)  # fmt: skip


class Expressions:
    """Writes expressions of one integer type over `x` and `y`."""

    def __init__(self, rng: Random, dtype: AnyDType, forms: tuple[str, ...]) -> None:
        self.rng = rng
        self.dtype = dtype
        self.forms = forms

    def constant(self) -> str:
        """A number that is no 0, as an operand of a shift most often."""
        _, high = int_range(self.dtype)
        return str(self.rng.choice([1, 3, 57, high, high - 1, (high >> 1) + 1, self.dtype.bits]))

    def write(self, depth: int) -> str:
        """An expression; some are shifts or quotients of constants."""
        if depth == 0:
            return self.rng.choice(["x", "x", "y"])
        a, b = self.write(depth - 1), self.write(depth - 1)
        draw = self.rng.random()
        if draw < 0.25:
            shift = self.rng.choice(["<<", ">>"])
            return f"({self.rng.choice([a, self.constant()])} // ({self.constant()} {shift} {b}))"
        if draw < 0.35:
            return f"{a}.astype({self.rng.choice(KINDS).__name__}).astype({self.dtype.__name__})"
        if draw < 0.42:
            return f"{a}.astype({self.rng.choice(['f32', 'f64'])}).astype({self.dtype.__name__})"
        return self.rng.choice(self.forms).format(a, b)


def _numbers(rng: np.random.Generator, dtype: AnyDType) -> Array:
    low, high = int_range(dtype)
    bits = dtype.bits
    special = [0, 1, 2, bits - 1, bits, bits + 1, min(2 * bits, high), low, high]
    wild = rng.integers(low, high, COUNT, dtype=dtype.np, endpoint=True)
    return np.where(rng.random(COUNT) < 0.7, rng.choice(np.array(special, dtype.np), COUNT), wild)


TILE = """
def kernel(out: tl.TensorMut, z: tl.TensorMut, xs: tl.Tensor, ys: tl.Tensor, n: i32) -> None:
    x, y = tl.load_tile_like(xs, out), tl.load_tile_like(ys, out)
    v = {value}
    w = {other}
    s = tl.reduce_max({scalar}).item()
    for j in range((s & 3).astype(i32), 5, ((s >> 1) & 3 | 1).astype(i32)):
        v = v + w
        if {condition}:
            w = w ^ x
    p = xs.partition((8,))
    w = w + tl.reduce_sum(p.load([(s // 3).astype(i32) % tl.num_tiles(p, 0)]), 0, keepdims=True)
    out.store(v)
    z.store(w)
"""
THREAD = """
def kernel(
    out: simt.DisjointSlice[{kind}], z: simt.DisjointSlice[{kind}], xs: simt.Slice[{kind}],
    ys: simt.Slice[{kind}], n: i32,
) -> None:
    i = simt.index_1d()
    if i < len(out):
        x, y = xs[i], ys[i]
        v = {value}
        w = {other}
        s = {scalar}
        for j in range((s & 3).astype(i32), 5, ((s >> 1) & 3 | 1).astype(i32)):
            v = v + w
            if {condition}:
                w = w ^ x
        at = (s // 3).astype(i32) % n
        out[i] = v
        z[i] = w + xs[at] if at < len(xs) else w
"""
NAMES = {**DTYPES, "tl": tl, "simt": simt}


def source(seed: int, template: str, forms: tuple[str, ...]) -> tuple[str, AnyDType]:
    """The kernel of a seed, and the type of its integers."""
    rng = Random(seed)
    dtype = rng.choice(KINDS)
    e = Expressions(rng, dtype, forms)
    condition = f"{e.write(1)} < {e.write(1)}"
    if template is TILE:
        condition = f"tl.any({condition}).item()"
    text = template.format(
        kind=dtype.__name__, value=e.write(3), other=e.write(2), scalar=e.write(2),
        condition=condition,
    )  # fmt: skip
    return text, dtype


def tiles(text: str, given: list[Array]) -> list[Array]:
    """What a tile kernel gives."""
    kernel = tw.entry(execute(text, dict(NAMES))["kernel"])
    outputs = [tw.from_numpy(np.zeros_like(given[0])).sync() for _ in range(2)]
    kernel(*(z.partition_mut((COUNT,)) for z in outputs), *given, COUNT).sync()
    return [z.to_numpy() for z in outputs]


def threads(text: str, given: list[Array]) -> list[Array]:
    """What a SIMT kernel gives."""
    kernel = simt.kernel(execute(text, dict(NAMES))["kernel"])
    outputs = [tw.from_numpy(np.zeros_like(given[0])).sync() for _ in range(2)]
    kernel(*(z.borrow_mut() for z in outputs), *given, COUNT).sync()
    return [z.to_numpy() for z in outputs]


WAYS: dict[str, tuple[str, tuple[str, ...], Callable[[str, list[Array]], list[Array]]]] = {
    "tiles": (TILE, (*SIMPLE, *HARD, *TILES), tiles),
    "threads": (THREAD, (*SIMPLE, *HARD), threads),
}


def check(way: str, seed: int, device: Any) -> None:
    """Compare what a program gives on a device with the reference."""
    template, forms, run = WAYS[way]
    text, dtype = source(seed, template, forms)
    print(f"seed {seed}\n{text}", flush=True)
    rng = np.random.default_rng(seed)
    given = [_numbers(rng, dtype) for _ in range(2)]
    results = []
    for each in ("reference", device):
        with tw.device(each):
            results.append(run(text, given))
    for expected, got in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)


def main() -> None:
    """Compare the CPU with the reference; the last seed that is named is the one at fault."""
    first, count = map(int, sys.argv[2:4])
    for seed in range(first, first + count):
        check(sys.argv[1], seed, "cpu")


if __name__ == "__main__":
    main()
