"""Long scans along the last axis, which have two levels."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from host.passes.test_accumulate_tiles import before
from support.ir import checked
from tilewright.base.dtypes import bf16, f32, i32
from tilewright.ir.ops.reduction import SCAN
from tilewright.ir.verify import verify
from tilewright.passes.split_scans import split_scans


@tw.entry
def scanned(out: tl.TensorMut, x: tl.Tensor, *, BACK: tl.Const[bool], AXIS: tl.Const[int]) -> None:
    tile = tl.load_tile_like(x, out)
    out.store(tl.cumsum(tile, AXIS, reverse=BACK))


@tw.entry
def peaks(out: tl.TensorMut[f32], x: tl.Tensor[f32], *, BACK: tl.Const[bool]) -> None:
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    out.store(tl.scan(tile, 1, tl.neg_inf, lambda a, b: tl.maximum(a, b), reverse=BACK))


def lengths(func):
    """The lengths of all scans."""
    return [op.results[0].tile.shape[op.attrs["axis"]] for op in func.walk() if op.is_a(SCAN)]


def same(func, *arrays):
    """Compare a function before and after the pass; gives what the pass has made."""
    after = split_scans(func)
    verify(after, "split_scans")
    ours, theirs = ([a.copy() for a in arrays] for _ in range(2))
    checked(func, theirs)
    checked(after, ours)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-5)
    return after


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("dtype", [f32, i32])
def test_sums_of_vectors_are_scanned(dtype, back):
    out, x = tw.meta((2, 128), dtype), tw.meta((2, 128), dtype)
    func = before(scanned, out.partition_mut((2, 128)), x, BACK=back, AXIS=1)
    rng = np.random.default_rng(1)
    given = (rng.standard_normal((2, 128)) * 50).astype(dtype.np)
    if dtype is f32:
        given[0, 37] = np.inf
        given[1, 90] = np.nan
    assert lengths(same(func, np.zeros_like(given), given)) == [4, 64]


@pytest.mark.parametrize("back", [False, True])
def test_extremes_are_scanned_as_well(back):
    func = before(peaks, tw.meta((2, 128)).partition_mut((2, 128)), tw.meta((2, 128)), BACK=back)
    given = np.random.default_rng(2).standard_normal((2, 128)).astype(np.float32)
    assert lengths(same(func, np.zeros_like(given), given)) == [4, 64]


def test_vectors_have_the_elements_that_were_loaded():
    out, x = tw.meta((1, 256), bf16), tw.meta((1, 256), bf16)
    func = before(scanned, out.partition_mut((1, 256)), x, BACK=False, AXIS=1)
    assert lengths(split_scans(func)) == [8, 64]


@pytest.mark.parametrize(("shape", "axis"), [((128, 2), 0), ((2, 16), 1)])
def test_other_axes_and_short_rows_stay_as_they_are(shape, axis):
    func = before(scanned, tw.meta(shape).partition_mut(shape), tw.meta(shape), BACK=False,
                  AXIS=axis)  # fmt: skip
    assert lengths(split_scans(func)) == [shape[axis]]
