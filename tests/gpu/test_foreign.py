"""Kernels of other compilers on the GPU, functions of JAX, and graphs that mix all of them."""

from __future__ import annotations

import gc
import importlib.util
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from support.numbers import fresh_rng
from tilewright import f32, simt, u32
from tilewright.interop import cuda

pytestmark = pytest.mark.filterwarnings("ignore")

SOURCE = """
extern "C" __global__ void scale(unsigned n, float factor, const float *x, float *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
extern "C" __global__ void reversed(unsigned n, const float *x, float *out) {
    extern __shared__ float kept[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) kept[i] = x[i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) out[i] = kept[n - 1 - i];
}
"""
KINDS = {"ptx": ["-ptx", "-arch=compute_80"], "cubin": ["-cubin", "-arch=sm_90"],
         "fatbin": ["-fatbin", "-arch=sm_90"]}  # fmt: skip
SIZES = [0, 1, 255, 256, 257, 100_003]


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@simt.kernel
def at_least(out: simt.DisjointSlice[f32], x: simt.Slice[f32], least: f32) -> None:
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] if x[i] >= least else 0.0


def some(rng, *shape):
    return tw.from_numpy(rng.random(shape, np.float32)).sync()


def declared(function):
    with tw.unsafe():

        @cuda.kernel(function)
        def scale(
            n: u32, factor: f32, x: simt.Slice[f32], out: simt.DisjointSlice[f32]
        ) -> None: ...

    return scale


def example(name):
    spec = importlib.util.spec_from_file_location(
        f"examples_{name}", ROOT / "examples" / "interop" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_nvcc(kind, tmp_path, rng):
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    source, made = tmp_path / "scale.cu", tmp_path / f"scale.{kind}"
    source.write_text(SOURCE)
    subprocess.run(["nvcc", *KINDS[kind], str(source), "-o", str(made)], check=True)
    module = tw.load_module_from_file(made)
    function = module.load_function("scale")
    assert function.parameter_sizes == (4, 4, 8, 8)
    scale = declared(function)
    for n in SIZES:
        x, z = some(rng, n), tw.full((n,), np.nan).sync()
        scale(n, 3.0, x, z.borrow_mut()).sync()
        np.testing.assert_array_equal(z.to_numpy(), np.float32(3) * x.to_numpy())
    with pytest.raises(tw.DriverError, match="has no kernel `missing`") as caught:
        module.load_function("missing")
    assert "reversed, scale" in str(caught.value)


@pytest.fixture(scope="module")
def module():
    try:
        return tw.load_module_from_ptx(cuda.compile_cuda(SOURCE))
    except tw.CompileError as error:
        pytest.skip(str(error.got))


def test_much_shared_memory(module, rng):
    with tw.unsafe():

        @cuda.kernel(
            module.load_function("reversed"), grid=(1,), block=256, shared_mem_bytes=160_000
        )
        def backwards(n: u32, x: simt.Slice[f32], out: simt.DisjointSlice[f32]) -> None: ...

    x = some(rng, 40_000)
    z = backwards(40_000, x, tw.empty((40_000,))).out().sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy()[::-1])
    with pytest.raises(tw.Error, match="a block does not have that much shared memory"):
        backwards(1, x, tw.zeros((1,)).sync().borrow_mut()).launch_config(shared_mem_bytes=1 << 20)
    z = backwards(40_000, x, tw.empty((40_000,))).out().sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy()[::-1])


def test_ptx_that_is_wrong_says_why():
    text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { oops; ret; }\n"
    with pytest.raises(tw.DriverError) as caught:
        tw.load_module_from_ptx(text)
    assert "line 4" in str(caught.value) and "oops" in str(caught.value), str(caught.value)
    x = tw.ones((4,)).sync()
    assert x.to_numpy().sum() == 4, "the device lives on"


def test_arguments_that_are_wrong(module, rng):
    function = module.load_function("scale")
    with pytest.raises(tw.LaunchError, match="argument 0 of `scale` has the wrong size"):
        tw.AsyncKernelLaunch(function).push_arg(tw.u64(3))
    with tw.unsafe():

        @cuda.kernel(function)
        def wrong(n: u32, x: simt.Slice[f32], out: simt.DisjointSlice[f32]) -> None: ...

    with pytest.raises(tw.LaunchError, match="declared with other parameters"):
        wrong(4, some(rng, 4), tw.empty((4,))).sync()


def test_memory_of_the_driver():
    data, found = fresh_rng().random(10_000, np.float32), np.zeros(10_000, np.float32)

    def put(ctx):
        with tw.unsafe():
            address = cuda.malloc_async(data.nbytes, ctx.stream)
            cuda.memcpy_htod_async(address, data, ctx.stream)
            cuda.memcpy_dtoh_async(found, address, ctx.stream)
            cuda.free_async(address, ctx.stream)
        return tw.value(None)

    for _ in range(20):
        tw.with_context(put).sync()
    np.testing.assert_array_equal(found, data)


@pytest.mark.parametrize("n", SIZES)
def test_triton(n, rng):
    triton = pytest.importorskip("triton")
    kernels = pytest.importorskip("host.interop.triton_kernels")
    with tw.unsafe():
        axpy = pytest.importorskip("tilewright.interop.triton").kernel(
            kernels.add_kernel, reads=("x_ptr", "y_ptr"), writes=("out_ptr",),
            grid=lambda a: triton.cdiv(a["n"], a["BLOCK"]),
        )  # fmt: skip
    x, y = some(rng, n), some(rng, n)
    for warps in (2, 8):
        z = tw.full((n,), np.nan).sync()
        axpy(x, y, z.borrow_mut(), n, 0.5, BLOCK=256, num_warps=warps).sync()
        np.testing.assert_allclose(z.to_numpy(), x.to_numpy() + 0.5 * y.to_numpy(), rtol=1e-6)


def test_triton_with_shared_memory(rng):
    pytest.importorskip("triton")
    kernels = pytest.importorskip("host.interop.triton_kernels")
    with tw.unsafe():
        scan = pytest.importorskip("tilewright.interop.triton").kernel(
            kernels.scan_kernel,
            reads=("x_ptr",),
            writes=("out_ptr",),
            grid=(1,),
            strided=("x_ptr",),
        )
    x = some(rng, 2048)
    for step in (1, 2):
        z = scan(x[::step], tw.zeros((1024,)), step, WIDTH=1024).out().sync()
        np.testing.assert_allclose(z.to_numpy(), np.cumsum(x.to_numpy()[::step][:1024]), rtol=1e-4)


OLD_NAMES = {"row_stack": "vstack", "in1d": "isin", "trapz": "trapezoid"}
"""Names that NumPy has dropped, and numba-cuda 0.30 still looks for."""


def numba_scale():
    numba_cuda = pytest.importorskip("numba.cuda")
    for old, new in OLD_NAMES.items():
        if not hasattr(np, old):
            setattr(np, old, getattr(np, new))

    @numba_cuda.jit
    def scale_kernel(x, out, factor):
        i = numba_cuda.grid(1)
        if i < out.size:
            out[i] = x[i] * factor

    with tw.unsafe():
        return pytest.importorskip("tilewright.interop.numba").kernel(
            scale_kernel, reads=("x",), writes=("out",)
        )


def test_numba(rng):
    scale = numba_scale()
    for n in SIZES[1:]:
        x, z = some(rng, 2 * n), tw.full((n,), np.nan).sync()
        scale(x[::2], z.borrow_mut(), 2.0).sync()
        np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy()[::2])


def cupy_scale():
    cupy = pytest.importorskip("cupy")
    with tw.unsafe():

        @pytest.importorskip("tilewright.interop.cupy").kernel(cupy.RawKernel(SOURCE, "scale"))
        def scale(
            n: u32, factor: f32, x: simt.Slice[f32], out: simt.DisjointSlice[f32]
        ) -> None: ...

    return scale


def test_cupy(rng):
    cupy = pytest.importorskip("cupy")
    scale = cupy_scale()
    for n in SIZES:
        x, z = some(rng, n), tw.full((n,), np.nan).sync()
        scale(n, 2.0, x, z.borrow_mut()).sync()
        np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())
    theirs = cupy.arange(100, dtype="f4")
    z = scale(100, 2.0, theirs, tw.zeros((100,))).out().sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * np.arange(100, dtype="f4"))


def test_graphs_of_all_kinds(module, rng):
    """Tile, SIMT, CUDA C++, Numba and CuPy in one graph, again and again on other data."""
    raw, n = declared(module.load_function("scale")), 10_007
    kinds = [raw]
    if importlib.util.find_spec("cupy"):
        kinds.append(cupy_scale())
    numbas = numba_scale() if importlib.util.find_spec("numba_cuda") else None
    x, y, z = some(rng, n), some(rng, n), tw.zeros((n,)).sync()
    steps = [tw.zeros((n,)).sync() for _ in range(4)]
    op = add(steps[0].partition_mut((1024,)), x, y)
    op = op.then(lambda *_: at_least(steps[1].borrow_mut(), steps[0], 1.0))
    op = op.then(lambda *_: kinds[0](n, 2.0, steps[1], steps[2].borrow_mut()))
    op = op.then(lambda *_: kinds[-1](n, 3.0, steps[2], steps[3].borrow_mut()))
    last = numbas or (lambda a, b, c: raw(n, c, a, b))
    graph = op.then(lambda *_: last(steps[3], z.borrow_mut(), 0.5)).graph()
    for _ in range(3):
        a = rng.random(n, np.float32)
        x.borrow_mut().copy_from(a).sync()
        graph.launch().sync()
        total = a + y.to_numpy()
        np.testing.assert_allclose(z.to_numpy(), np.where(total >= 1, 3 * total, 0), rtol=1e-6)


def test_the_examples(capsys):
    example("cuda_scale").main()
    assert "cuda_scale: " in capsys.readouterr().out
    pytest.importorskip("triton")
    example("triton_softmax").main()
    assert "triton_softmax: " in capsys.readouterr().out


def test_functions_of_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    kernels = pytest.importorskip("host.interop.kernels")
    custom_op = pytest.importorskip("tilewright.interop.jax").custom_op
    soft = custom_op(kernels.softmax, tiles=kernels.whole_rows, outputs="x")
    twice = custom_op(kernels.scale, tiles=(1024,), outputs="x")
    x = jax.random.normal(jax.random.key(0), (37, 1000))
    for way in (lambda f: f, jax.jit):
        found = way(lambda x: soft(2 * x) + 1)(x)
        np.testing.assert_allclose(found, jax.nn.softmax(2 * x, 1) + 1, rtol=1e-5, atol=1e-6)
        for factor in (2.0, 3.0):
            found = way(lambda x, factor=factor: twice(x * 5, factor) * 2)(x[0])
            np.testing.assert_allclose(found, 10 * factor * x[0], rtol=1e-6)
    many = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, v: twice(v, 1.0) + 1, x))
    np.testing.assert_allclose(many(x[0]), x[0] + 50, rtol=1e-5)


def test_what_a_function_of_jax_refuses_is_reported(monkeypatch):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU here")
    kernels = pytest.importorskip("host.interop.kernels")
    custom_op = pytest.importorskip("tilewright.interop.jax").custom_op
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: seen.append(str(found.exc_value)))
    op, x = custom_op(kernels.refuse_negative, tiles=(64,), outputs="x"), jax.numpy.ones(64)
    op(-x).block_until_ready()
    tw.synchronize("cuda")
    gc.collect()
    assert any("negative" in text for text in seen)
    np.testing.assert_array_equal(op(x), x)


# --- every kind of kernel as an operator ---------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5, 7), (257,), (100_003,)])
def test_kernels_of_threads_are_operators_of_torch(shape):
    torch = pytest.importorskip("torch")
    op = torch_op(f"at_least_{len(shape)}_{sum(shape)}", at_least)
    for _ in range(4):
        x = torch.rand(shape, device="cuda")
        torch.testing.assert_close(op(x, 0.5), torch.where(x >= 0.5, x, torch.zeros_like(x)))


def test_kernels_of_others_are_operators_of_torch():
    torch = pytest.importorskip("torch")
    module = tw.load_module_from_ptx(cuda.compile_cuda(SOURCE, arch="compute_80"))
    op = torch_op("scale_of_cuda", declared(module.load_function("scale")))
    assert op.schema == "(SymInt n, float factor, Tensor x) -> Tensor"
    stream = torch.cuda.Stream()
    for n in (1, 255, 256, 257, 100_003):
        with torch.cuda.stream(stream):
            x = torch.rand(n, device="cuda")
            found = op(n, 3.0, x)
        stream.synchronize()
        torch.testing.assert_close(found, 3 * x)
    torch.library.opcheck(op.definition, (100, 2.0, torch.rand(100, device="cuda")))
    compiled = torch.compile(lambda x: op(100, 2.0, x + 1), fullgraph=True, backend="aot_eager")
    x = torch.rand(100, device="cuda")
    torch.testing.assert_close(compiled(x), 2 * (x + 1))


def torch_op(name, kernel):
    from tilewright.interop.torch import custom_op

    return custom_op(f"tilewright_gpu_tests::{name}", kernel, outputs="x")


def test_kernels_of_threads_are_functions_of_jax():
    jax = pytest.importorskip("jax")
    from tilewright.interop.jax import custom_op

    op = custom_op(at_least, outputs="x")
    for shape in ((), (1,), (5, 7), (257,)):
        x = jax.random.uniform(jax.random.key(len(shape)), shape)
        found = jax.jit(lambda x: op(x, 0.5))(x)
        np.testing.assert_array_equal(found, np.where(x >= 0.5, x, 0))
