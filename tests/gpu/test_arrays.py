"""Arrays of every library on the GPU as arguments of kernels, and tensors as arrays of theirs."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng

SIZE = 1 << 20
TILE = (1024,)


@tw.entry
def double(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile + tile)


class Torch:
    def __init__(self) -> None:
        self.torch = pytest.importorskip("torch")

    def give(self, array: Any) -> Any:
        return self.torch.from_numpy(array).cuda()

    def take(self, tensor: Any) -> Any:
        return self.torch.from_dlpack(tensor).cpu().numpy()


class Cupy:
    def __init__(self) -> None:
        self.cupy = pytest.importorskip("cupy")

    def give(self, array: Any) -> Any:
        return self.cupy.asarray(array)

    def take(self, tensor: Any) -> Any:
        return self.cupy.from_dlpack(tensor).get()


class Jax:
    def __init__(self) -> None:
        self.jax = pytest.importorskip("jax")
        if self.jax.default_backend() != "gpu":
            pytest.skip("JAX has no GPU here")

    def give(self, array: Any) -> Any:
        return self.jax.device_put(array)

    def take(self, tensor: Any) -> Any:
        return np.asarray(self.jax.dlpack.from_dlpack(tensor))


class Numba:
    def __init__(self) -> None:
        self.cuda = pytest.importorskip("numba.cuda")

    def give(self, array: Any) -> Any:
        return self.cuda.to_device(array)

    def take(self, tensor: Any) -> Any:
        return self.cuda.as_cuda_array(tensor).copy_to_host()


@pytest.fixture(params=[Torch, Cupy, Jax, Numba], ids=lambda library: library.__name__.lower())
def library(request):
    return request.param()


def some():
    return fresh_rng().random(SIZE, np.float32)


def test_their_arrays_are_arguments(library):
    array = some()
    z = tw.full((SIZE,), np.nan).sync()
    double(z.partition_mut(TILE), library.give(array)).sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * array)


def test_our_tensors_are_their_arrays(library):
    array = some()
    z = double(tw.empty((SIZE,)).partition(TILE), library.give(array)).out().start()
    np.testing.assert_array_equal(library.take(z), 2 * array)


def test_their_arrays_live_until_the_device_has_read_them(library):
    array = some()
    theirs = library.give(array)
    z = tw.full((SIZE,), np.nan).sync()
    for _ in range(8):
        double(z.partition_mut(TILE), theirs).start()
    del theirs
    gc.collect()
    library.give(np.full(SIZE, np.nan, np.float32))  # takes the memory, if it is free
    np.testing.assert_array_equal(z.to_numpy(), 2 * array)


def test_what_they_lend_is_let_go_of(library):
    theirs = library.give(some())
    try:
        known = weakref.ref(theirs)
    except TypeError:
        pytest.skip("its arrays have no weak references")
    ours = tw.asarray(theirs)
    double(tw.empty((SIZE,)).partition(TILE), ours).sync()
    del theirs, ours
    tw.default_device().synchronize()
    gc.collect()
    tw.empty((1,)).sync()  # whoever allocates next gives back what is due
    gc.collect()
    assert known() is None


def test_arrays_of_jax_are_never_written():
    array = some()
    theirs = Jax().give(array)
    with pytest.raises(tw.BorrowError, match="read-only"):
        tw.asarray(theirs).partition_mut(TILE)
    np.testing.assert_array_equal(np.asarray(theirs), array)
