"""Functions of kernels on Dask arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32

array = pytest.importorskip("dask.array")


@tw.function(outputs="x", tiles=(16,))
@tw.entry
def axpy(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32], a: f32) -> None:
    z.store(a * tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.function(outputs=lambda x: (3,), tiles=(4,))
@tw.entry
def shorter(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(0.0)


@pytest.fixture
def data():
    return [fresh_rng().standard_normal(50).astype(np.float32) for _ in range(2)]


@pytest.mark.parametrize("chunks", [50, 16, 7])
def test_blocks_are_mapped(data, chunks):
    x, y = (array.from_array(each, chunks=chunks) for each in data)
    z = axpy(x, y, 3.0)
    assert isinstance(z, array.Array) and z.dtype == np.float32 and z.chunks == x.chunks
    found = z.compute(scheduler="threads")
    np.testing.assert_allclose(found, 3 * data[0] + data[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((axpy(z, y, 1.0) + 1).sum().compute(scheduler="synchronous"),
                               (found + data[1] + 1).sum(), rtol=1e-4)  # fmt: skip


@pytest.mark.parametrize("chunks", [(7, 1, 13, 29), (0, 50, 0), 20], ids=str)
def test_blocks_that_differ_are_divided_alike(data, chunks):
    chunks = (chunks,) if isinstance(chunks, tuple) else chunks
    x, y = array.from_array(data[0], chunks=chunks), array.from_array(data[1], chunks=16)
    for z in (axpy(x, y, 3.0), axpy(x, data[1], 3.0), axpy(data[0], y, 3.0)):  # and NumPy's
        found = z.compute(scheduler="synchronous")
        np.testing.assert_allclose(found, 3 * data[0] + data[1], rtol=1e-5, atol=1e-6)


def test_unknown_extents(data):
    x = array.from_array(data[0], chunks=10)
    x = x[x > 0]
    found = axpy(x, x, 1.0).compute(scheduler="synchronous")
    np.testing.assert_allclose(found, 2 * data[0][data[0] > 0], rtol=1e-6)


@pytest.mark.parametrize("shape", [(20,), (5, 10)], ids=str)
def test_arrays_of_different_shapes_are_named(data, shape):
    other = array.ones(shape, chunks=5, dtype="f4")
    with pytest.raises(TypeError, match=rf"shapes \(50,\) and {re.escape(str(shape))}"):
        axpy(array.from_array(data[0], chunks=10), other, 1.0)


def test_dask_calls_nothing_before_it_is_asked(data):
    calls = []
    x = array.from_array(data[0], chunks=10).map_blocks(
        lambda b: calls.append(b.size) or b, dtype="f4"
    )
    axpy(x, x, 1.0)
    assert not any(calls)  # blocks without elements tell the type


def test_results_of_another_shape_are_refused(data):
    with pytest.raises(TypeError, match="blocks of the same shape"):
        shorter(array.from_array(data[0], chunks=10))


@pytest.mark.full
def test_in_other_processes(data):
    x, y = (array.from_array(each, chunks=16) for each in data)
    found = axpy(x, y, 3.0).compute(scheduler="processes", num_workers=2)
    np.testing.assert_allclose(found, 3 * data[0] + data[1], rtol=1e-5, atol=1e-6)
