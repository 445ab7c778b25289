from __future__ import annotations

import ctypes

import numpy as np
import pytest

from support.native_cuda import NativeCuda
from support.numbers import fresh_rng

triton = pytest.importorskip("triton")

import tilewright as tw
from host.interop.triton_kernels import add_kernel, all_types_kernel, scan_kernel
from tilewright.interop.triton import kernel

pytestmark = pytest.mark.filterwarnings("ignore")


def floats(address, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(address))


class Seen(list):
    """The arguments of each launch, as the driver got them."""

    def __call__(self, values, grid):
        self.append((values, grid))
        if len(values) < 7 or values[4] >> 32:
            return  # other types than the kernel in Python has
        x, y, out, n, alpha = values[:5]
        n, alpha = n & 0xFFFFFFFF, np.array([alpha], np.int64).view(np.float32)[0]
        floats(out, n)[:] = floats(x, n) + alpha * floats(y, n)


@pytest.fixture
def fake_cuda():
    """A driver that native code calls, as launches alike are the core's."""
    return NativeCuda(2)


@pytest.fixture
def seen(fake_cuda):
    fake_cuda.kernels["add_kernel"] = found = Seen()
    return found


@pytest.fixture
def add(seen, fake_gpu):
    with tw.unsafe():
        return kernel(
            add_kernel,
            reads=("x_ptr", "y_ptr"),
            writes=("out_ptr",),
            grid=lambda a: triton.cdiv(a["n"], a["BLOCK"]),
        )


def some(device, n=1000):
    return tw.from_numpy(fresh_rng().random(n, np.float32), device=device).sync()


def test_a_kernel_of_triton_is_an_op(add, fake_gpu, seen):
    x, y = some(fake_gpu), some(fake_gpu)
    z = add(x, y, tw.empty((1000,), device=fake_gpu), 1000, 0.5, BLOCK=256).out().sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + np.float32(0.5) * y.to_numpy())
    values, grid = seen[0]
    assert grid == (4, 1, 1)
    assert len(values) == 7 and values[5:] == [0, 0], "Triton adds two addresses of its own"


def test_code_is_made_once_for_arguments_alike(add, fake_gpu, fake_cuda):
    x, z = some(fake_gpu), tw.empty((1000,), device=fake_gpu).sync()
    for n, warps in [(1000, 4), (1008, 4), (1003, 4), (1003, 8)]:
        add(x, x, z.borrow_mut(), min(n, 1000), 0.5, BLOCK=256, num_warps=warps).sync()
    maker = add.kernel._maker
    divisible = [asked.divisible for _, asked in maker._loaded]
    assert divisible == [("x_ptr", "y_ptr", "out_ptr")] * 2, "1000 is no multiple of 16"
    assert [c.metadata.num_warps for c in maker._loaded.values()] == [4, 8]


def test_what_triton_specializes(add, fake_gpu, seen):
    x, z = some(fake_gpu), tw.empty((1000,), device=fake_gpu).sync()
    add(x[1:], x[:-1], z.borrow_mut(), 992, 0.5, BLOCK=128).sync()
    (asked,) = [asked for _, asked in add.kernel._maker._loaded]
    assert asked.divisible == ("y_ptr", "out_ptr", "n"), "x[1:] is not aligned"
    assert dict(asked.types)["x_ptr"] == "*fp32" and dict(asked.types)["n"] == "i32"


def test_one_is_a_constant(fake_gpu, fake_cuda):
    """Triton leaves arguments that are 1 out of the kernel's parameters."""
    seen = fake_cuda.kernels["scan_kernel"] = []
    fake_cuda.kernels["scan_kernel"] = lambda values, grid: seen.append(values)
    with tw.unsafe():
        scan = kernel(
            scan_kernel, reads=("x_ptr",), writes=("out_ptr",), grid=(3,), strided=("x_ptr",)
        )
    x, z = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    scan(x, z.borrow_mut(), 1, WIDTH=64).sync()
    scan(x[::2], z.borrow_mut(), 2, WIDTH=64).sync()
    assert [len(values) for values in seen] == [4, 5]
    assert seen[1][2] == 2


def test_shared_memory_and_warps_follow_the_metadata(fake_gpu, fake_cuda):
    fake_cuda.kernels["scan_kernel"] = lambda values, grid: None
    with tw.unsafe():
        scan = kernel(scan_kernel, reads=("x_ptr",), writes=("out_ptr",), grid=(1,))
    x, z = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    launch = scan(x, z.borrow_mut(), 3, WIDTH=1024, num_warps=8)
    launch.sync()
    (compiled,) = scan.kernel._maker._loaded.values()
    assert compiled.metadata.num_warps == 8 and compiled.metadata.shared > 0
    (code,) = [code for form in scan.kernel._forms.values() for code in form.made.values()]
    config = code.run._ready.config
    assert config.block_dim == (256, 1, 1)
    assert config.shared_mem_bytes == compiled.metadata.shared


@pytest.mark.parametrize(
    "name", ["i8", "u8", "i16", "i32", "u32", "i64", "f16", "bf16", "f32", "f64", "f8e5m2"]
)
def test_element_types_of_memory(fake_gpu, fake_cuda, name):
    fake_cuda.kernels["all_types_kernel"] = lambda values, grid: None
    with tw.unsafe():
        copy = kernel(all_types_kernel, reads=("x_ptr",), writes=("out_ptr",), grid=(1,))
    dtype = getattr(tw, name)
    x, z = (tw.zeros((64,), dtype, device=fake_gpu).sync() for _ in range(2))
    copy(x, z.borrow_mut(), True, np.float64(2.0), tw.i64(7)).sync()
    ((_, asked),) = copy.kernel._maker._loaded
    assert dict(asked.types)["flag"] == "u1"
    assert dict(asked.types)["factor"] == "fp64" and dict(asked.types)["count"] == "i64"


def test_launches_alike_are_submitted(add, fake_gpu, seen, monkeypatch):
    """Each with the code that Triton would use: by type, alignment, and being 1 or not."""
    numbers = [(1000, 0.5), (992, 0.5), (1, 0.5), (7, np.float64(0.5)), (tw.i64(9), 2)]
    x, y, z = some(fake_gpu), some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    for n, alpha in numbers:
        add(x, y, z.borrow_mut(), n, alpha, BLOCK=256).sync()
    made = len(add.kernel._maker._loaded)
    assert made == 5
    monkeypatch.setattr("tilewright.launch.foreign_code.ForeignRun.start", None)
    first = len(seen)
    for n, alpha in numbers:
        add(x, y, z.borrow_mut(), n, alpha, BLOCK=256).sync()
    assert [len(values) for values, _ in seen[first:]] == [7, 7, 6, 7, 7]
    assert [grid[0] for _, grid in seen[first:]] == [4, 4, 1, 1, 1]
    assert len(add.kernel._maker._loaded) == made


def test_nodes_keep_the_code_they_were_recorded_with(add, fake_gpu, seen):
    x, z = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    graph = add(x, x, z.borrow_mut(), 1000, 1.0, BLOCK=256).graph()
    y = some(fake_gpu)
    graph.set_args(0, y, y, z.borrow_mut(), 999, 2.0, BLOCK=256)
    graph.launch().sync()
    np.testing.assert_allclose(z.to_numpy()[:999], 3 * y.to_numpy()[:999], rtol=1e-6)
    with pytest.raises(tw.LaunchError, match="keeps its constants"):
        graph.set_args(0, y, y, z.borrow_mut(), 999, 2.0, BLOCK=128)
    with pytest.raises(tw.LaunchError, match="keeps the code it was recorded with"):
        graph.set_args(0, y, y, z.borrow_mut(), 992, 2.0, BLOCK=256)


def test_graphs_record_it(add, fake_gpu, seen):
    x, z = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    graph = add(x, x, z.borrow_mut(), 1000, 1.0, BLOCK=256).graph()
    assert not seen
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())


def test_what_is_refused(add, fake_gpu, fake_cuda, seen):
    x, z = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    on_cpu = tw.zeros((1000,), device="cpu").sync()
    with pytest.raises(tw.BorrowError, match="`out_ptr` of `add_kernel` is written"):
        add(x, x, z, 1000, 0.5, BLOCK=256)
    with pytest.raises(TypeError, match="`add_kernel` needs the constant `BLOCK`"):
        add(x, x, z.borrow_mut(), 1000, 0.5)
    with pytest.raises(TypeError, match="`add_kernel` has no parameter `WARPS`"):
        add(x, x, z.borrow_mut(), 1000, 0.5, BLOCK=256, WARPS=4)
    with pytest.raises(tw.LaunchError, match="kernel of Triton, which runs on NVIDIA GPUs"):
        add(on_cpu, on_cpu, tw.zeros((1000,), device="cpu"), 1000, 0.5, BLOCK=256).sync()
    with pytest.raises(tw.LaunchError, match=r"clusters of blocks \(num_ctas > 1\)"):
        add(x, x, z.borrow_mut(), 1000, 0.5, BLOCK=256, num_ctas=2).sync()
    with tw.unsafe():
        with pytest.raises(TypeError, match="`add_kernel` has no parameter `y`; it takes x_ptr"):
            kernel(add_kernel, reads=("y",), grid=(1,))
        with pytest.raises(TypeError, match=r"made by @triton\.jit is needed, got function"):
            kernel(lambda x: x, grid=(1,))
    with pytest.raises(tw.LaunchError, match="wrap it inside"):
        kernel(add_kernel, grid=(1,))
    assert not seen


def test_an_element_type_that_triton_lacks(add, fake_gpu, seen):
    x = tw.zeros((64,), tw.f8e8m0fnu, device=fake_gpu)
    z = tw.zeros((64,), device=fake_gpu).sync()
    with pytest.raises(tw.LaunchError, match="`x_ptr` of `add_kernel` has an element type"):
        add(x.sync(), z, tw.empty((64,), device=fake_gpu), 64, 0.5, BLOCK=64).sync()
    assert not seen
