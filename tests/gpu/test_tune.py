"""Tuning on a GPU: by its own clock, with replays of graphs."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32, simt
from tilewright.base.errors import SchedulingError

SPACE = tw.search(tile=[(16, 16), (32, 32)], BK=[16, 32]) + tw.search(
    tile=(32, 32), BK=16, occupancy=2
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Records of this test alone."""
    from tilewright.base import config

    with config.override(cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache"


def tuned(**options):
    @tw.autotune(SPACE, **options)
    @tw.entry
    def matmul(
        z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32], *, BK: tl.Const[int]
    ) -> None:
        m, n = tl.block_id(0), tl.block_id(1)
        BM, BN = z.shape
        xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
        acc = tl.zeros((BM, BN), f32)
        for k in range(xs.num_tiles(1)):
            acc = tl.mma(xs.load((m, k)), ys.load((k, n)), acc)
        z.store(acc)

    return matmul


def operands(m=67, k=33, n=37):
    rng = fresh_rng()
    x, y = (rng.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    return x, y, tw.from_numpy(x).sync(), tw.from_numpy(y).sync(), tw.zeros((m, n)).sync()


@pytest.mark.parametrize("flush", [False, True])
def test_a_product_is_tuned_by_the_clock_of_the_device(flush, monkeypatch):
    from tilewright.tune import clock

    monkeypatch.setattr(clock, "SCRUB_BYTES", 1 << 16)
    x, y, dx, dy, dz = operands()
    matmul = tuned(flush=flush)
    matmul(dz.borrow_mut(), dx, dy).sync()
    np.testing.assert_allclose(dz.to_numpy(), x @ y, rtol=1e-3, atol=1e-3)
    report = matmul.report()
    timed = [t for t in report.tried if t.seconds is not None]
    assert len(timed) == len(SPACE)
    assert all(t.samples >= 1 for t in timed)
    assert min(t.seconds for t in timed) > 0
    assert report.chosen in [config.text for config in SPACE]


def test_a_capture_needs_a_choice_that_is_made():
    x, y, dx, dy, dz = operands()
    matmul = tuned()
    with pytest.raises(SchedulingError, match="not tuned"):
        matmul(dz.borrow_mut(), dx, dy).graph()
    matmul.tune(dz.borrow_mut(), dx, dy)
    graph = matmul(dz.borrow_mut(), dx, dy).graph()
    graph.launch().sync()
    np.testing.assert_allclose(dz.to_numpy(), x @ y, rtol=1e-3, atol=1e-3)


def test_threads_are_tuned_by_their_blocks():
    @tw.autotune(tw.search(block=[32, 64, 128]))
    @simt.kernel
    def double(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = x[i] * 2.0

    x = fresh_rng().standard_normal(1013, dtype=np.float32)
    z = tw.zeros((1013,)).sync()
    double(z.borrow_mut(), tw.from_numpy(x).sync()).sync()
    np.testing.assert_array_equal(z.to_numpy(), x * 2)
    assert len(double.report().tried) == 3
