from __future__ import annotations

import ctypes

import numpy as np
import pytest

from support.numbers import fresh_rng

numba_cuda = pytest.importorskip("numba.cuda")
pytest.importorskip("numba_cuda")

import tilewright as tw
from tilewright.interop.numba import kernel

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(np, "row_stack"), reason="this Numba wants an older NumPy"),
]


@numba_cuda.jit
def scale_kernel(x, out, factor, flag):
    i, j = numba_cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1] and flag:
        out[i, j] = x[i, j] * factor


@numba_cuda.jit
def wrong_kernel(x, out):
    x[0] = out[0]


def as_array(words):
    """An array of rank 2 out of the words Numba takes it as."""
    owner, parent, count, item, address, rows, columns, *strides = words
    assert owner == parent == 0 and item == 4 and count == rows * columns
    whole = (ctypes.c_float * 100_000).from_address(address)
    flat = np.ctypeslib.as_array(whole)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), strides)


def run(values, grid):
    x, out = as_array(values[:9]), as_array(values[9:18])
    factor = np.array([values[18]], np.int64).view(np.float64)[0]
    if values[19] & 0xFF:
        out[...] = (x * factor).astype(np.float32)


@pytest.fixture
def scale(fake_cuda, fake_gpu, monkeypatch):
    find = fake_cuda.find_function

    def by_demangled(module, name):
        fake_cuda.kernels[name] = run
        return find(module, name)

    monkeypatch.setattr(fake_cuda, "find_function", by_demangled)
    with tw.unsafe():
        return kernel(
            scale_kernel, reads=("x",), writes=("out",), block=(16, 16),
            grid=lambda a: (-(-a["out"].shape[0] // 16), -(-a["out"].shape[1] // 16)),
        )  # fmt: skip


def some(device, shape=(20, 30)):
    return tw.from_numpy(fresh_rng().random(shape, np.float32), device=device).sync()


def test_a_kernel_of_numba_is_an_op(scale, fake_gpu, fake_cuda):
    x = some(fake_gpu)
    z = scale(x, tw.zeros((20, 30), device=fake_gpu), 2.0, True).out().sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())
    launch = [entry for entry in fake_cuda.log if entry[0] == "launch"][-1]
    assert launch[2] == (2, 2, 1)


def test_arrays_may_have_gaps(scale, fake_gpu):
    x = some(fake_gpu, (40, 60))
    z = scale(x[::2, 1::2], tw.zeros((20, 30), device=fake_gpu), 3.0, True).out().sync()
    np.testing.assert_array_equal(z.to_numpy(), (x.to_numpy()[::2, 1::2] * 3.0).astype("f4"))


def test_code_is_made_once_for_types_alike(scale, fake_gpu):
    x, z = some(fake_gpu), tw.zeros((20, 30), device=fake_gpu).sync()
    for factor, flag in [(2.0, True), (3.0, False), (np.float32(2), True), (7, True)]:
        launch = scale(x, z.borrow_mut(), factor, flag)
        launch.compile()
        launch.close()
    types = [str(each[2]) for _, each in scale.kernel._maker._loaded]
    assert types == ["float64", "float32", "int64"]


def test_graphs_record_it(scale, fake_gpu):
    x, z = some(fake_gpu), tw.zeros((20, 30), device=fake_gpu).sync()
    graph = scale(x, z.borrow_mut(), 2.0, True).graph()
    assert not z.to_numpy().any()
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())


def test_what_is_refused(scale, fake_gpu, fake_cuda):
    x, z = some(fake_gpu), tw.zeros((20, 30), device=fake_gpu).sync()
    on_cpu = tw.zeros((20, 30), device="cpu").sync()
    half = tw.zeros((20, 30), tw.bf16, device=fake_gpu).sync()
    before = len(fake_cuda.log)
    with pytest.raises(tw.BorrowError, match="`out` of `scale_kernel` is written"):
        scale(x, z, 2.0, True)
    with pytest.raises(tw.LaunchError, match="kernel of Numba, which runs on NVIDIA GPUs"):
        scale(on_cpu, tw.zeros((20, 30), device="cpu"), 2.0, True).sync()
    with pytest.raises(tw.LaunchError, match="`x` of `scale_kernel` has an element type"):
        scale(half, z.borrow_mut(), 2.0, True).sync()
    with tw.unsafe(), pytest.raises(TypeError, match=r"made by @numba\.cuda\.jit is needed"):
        kernel(lambda x: x)
    assert not [entry for entry in fake_cuda.log[before:] if entry[0] == "launch"]


def test_what_is_only_read_cannot_be_written(fake_gpu):
    with tw.unsafe():
        wrong = kernel(wrong_kernel, reads=("x",), writes=("out",))
    x, z = some(fake_gpu, (8,)), tw.zeros((8,), device=fake_gpu).sync()
    with pytest.raises(Exception, match=r"(?i)read-?only|cannot modify|setitem"):
        wrong(x, z.borrow_mut()).sync()
