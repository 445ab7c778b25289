"""Rows divided by one number each: what the two factors are, and how exact they are."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.numbers import fresh_rng
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.backend.tileir.lower.elementwise import LARGE


@tw.entry
def shares(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out)
    out.store(tile / tl.reduce_sum(tile, 1, keepdims=True))


@tw.entry
def ratios(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out)
    out.store(tile / (tile + 1.0))


def text(kernel, dtype=tw.f32, **hints):
    x = tw.meta((64, 64), dtype)
    return program_text(lowered(cuda_ir(kernel, x.partition_mut((4, 64)), x), **hints).program)


def test_a_row_has_one_reciprocal():
    assert "divf" in text(shares)
    assert "tile<4x64xf32>" not in [
        line.rpartition(" : ")[2] for line in text(shares).splitlines() if "divf" in line
    ]


def test_other_quotients_are_divided():
    lines = [line for line in text(ratios, whole_first=False).splitlines() if "divf" in line]
    assert [line.rpartition(" : ")[2] for line in lines] == ["tile<4x64xf32>"]
    assert "tile<4x64xf64>" in text(shares, tw.f64).split("divf")[1].splitlines()[0]


@tw.entry
def pairs(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out)
    out.store(tile / tl.reduce_sum(tile, 1, keepdims=True))


def test_few_elements_that_share_a_divisor_are_divided():
    """Four of them pay for two factors; fewer do not."""
    for columns, is_divided in ((2, True), (4, False), (8, False)):
        x = tw.meta((64, columns), tw.f32)
        made = program_text(lowered(cuda_ir(pairs, x.partition_mut((16, columns)), x)).program)
        kinds = [line.rpartition(" : ")[2] for line in made.splitlines() if "divf" in line]
        assert (f"tile<16x{columns}xf32>" in kinds) == is_divided, columns


def numbers(rng, count):
    """Floats of all sizes, subnormal ones too, and what is special."""
    bits = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    special = np.array(
        [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, 2.0**-64, 2.0**64], "f4"
    )
    return np.concatenate([bits.view(np.float32), special])


def reciprocal(value, rng):
    """As the kernel computes it, from one that is up to an ulp away."""
    exact = np.float32(1) / value
    near = np.nextafter(exact, rng.choice(np.array([-np.inf, np.inf], "f4"), len(value)))
    near = np.where(np.isfinite(exact) & (exact != 0), near, exact)
    left = (1.0 - value.astype("f8") * near).astype("f4")
    better = (near.astype("f8") * left + near).astype("f4")
    return np.where(left == left, better, near)


def test_quotients_are_within_two_ulp():
    rng = fresh_rng()
    a, b = (numbers(rng, 1 << 20) for _ in range(2))
    a, b = np.concatenate([a, np.repeat(a[-10:], 10)]), np.concatenate([b, np.tile(b[-10:], 10)])
    with np.errstate(all="ignore"):
        size = np.abs(b)
        scale = np.where(size < 1 / LARGE, LARGE, np.where(size > LARGE, 1 / LARGE, 1)).astype("f4")
        found = (a * scale) * reciprocal(b * scale, rng)
        exact = a.astype("f8") / b.astype("f8")
        nearest = exact.astype("f4")
        error = np.abs(found.astype("f8") - exact) / np.spacing(np.abs(nearest)).astype("f8")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(nearest))
    finite = np.isfinite(nearest) & np.isfinite(found)
    assert np.max(error[finite]) <= 1.5
    # Where only one of them is infinite, the other is the largest number, or nearly.
    other = np.isinf(found) != np.isinf(nearest)
    assert np.all(np.abs(np.where(np.isinf(found), exact, found)[other]) >= 3.4028e38)
