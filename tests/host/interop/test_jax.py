from __future__ import annotations

import _thread
import importlib.util

import numpy as np
import pytest

from support.numbers import fresh_rng

jax = pytest.importorskip("jax")
jnp = jax.numpy

import tilewright as tw
from host.interop.kernels import (
    many_numbers,
    refuse_negative,
    scale,
    softmax,
    sum_and_difference,
    whole_rows,
)
from source_tree import ROOT
from tilewright import simt
from tilewright.devices.protocol import Block
from tilewright.interop.jax import JaxOp, custom_op
from tilewright.interop.xla import Buffer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def some(*shape):
    return jnp.asarray(fresh_rng().standard_normal(shape, dtype=np.float32))


@pytest.fixture(params=[lambda f: f, jax.jit], ids=["eager", "jit"])
def way(request):
    return request.param


@pytest.mark.thinned(6)
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 7), (4, 8), (5, 9), (37, 1009)])
def test_values(way, shape):
    soft, x = way(custom_op(softmax, tiles=whole_rows, outputs="x")), some(*shape)
    found = soft(x)
    assert isinstance(found, jax.Array) and found.shape == shape
    np.testing.assert_allclose(found, jax.nn.softmax(x, 1), rtol=1e-5, atol=1e-7)


def test_inside_of_other_work(way):
    soft, x = custom_op(softmax, tiles=whole_rows, outputs="x"), some(8, 33)
    found = way(lambda x: soft(2 * x).T @ x + 1)(x)
    np.testing.assert_allclose(found, jax.nn.softmax(2 * x, 1).T @ x + 1, rtol=1e-4, atol=1e-5)


def test_large_arrays(way):
    """Larger than what is copied at once anywhere on the way."""
    twice, x = way(custom_op(scale, tiles=(4096,), outputs="x")), some(3_000_001)
    np.testing.assert_array_equal(twice(x, 2.0), 2 * x)


def test_several_results_numbers_and_constants(way):
    two = way(
        custom_op(
            sum_and_difference, tiles=(64,),
            outputs={"s": "x", "d": lambda x, y: jax.ShapeDtypeStruct(y.shape, y.dtype)},
        )
    )  # fmt: skip
    x, y = some(100), some(100)
    s, d = two(x, y)
    np.testing.assert_array_equal([s, d], [x + y, x - y])
    for twice in (False, True):
        many = way(custom_op(many_numbers, tiles=64, outputs="x", constants={"TWICE": twice}))
        np.testing.assert_allclose(many(0.5, 3, True, x), (1 + twice) * (x * 0.5 + 3), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "int8"])
def test_element_types(way, dtype):
    many = way(custom_op(many_numbers, tiles=64, outputs="x", constants={"TWICE": False}))
    x = (jnp.arange(100) % 8).astype(dtype)
    found = many(2.0, 3, True, x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, (x * 2 + 3).astype(dtype))


def test_vmap_runs_it_again_and_again(way):
    soft, x = custom_op(softmax, tiles=whole_rows, outputs="x"), some(3, 5, 9)
    found = way(jax.vmap(soft))(x)
    np.testing.assert_allclose(found, jax.nn.softmax(x, 2), rtol=1e-5, atol=1e-7)


@pytest.mark.cpu_alone  # on a GPU the call has returned by then: tests/gpu/test_foreign.py
def test_what_a_kernel_refuses(way):
    op, x = way(custom_op(refuse_negative, tiles=(64,), outputs="x")), jnp.ones(64)
    np.testing.assert_array_equal(op(x), x)
    with pytest.raises(Exception, match="negative"):
        op(-x).block_until_ready()
    np.testing.assert_array_equal(op(x), x)


@pytest.mark.cpu_alone  # where it runs on the calling thread
def test_interrupts_are_raised(way, monkeypatch):
    op, x = way(custom_op(scale, tiles=(64,), outputs="x")), jnp.arange(100.0)
    with monkeypatch.context() as patched:
        patched.setattr(JaxOp, "_lent_by", lambda *_: _thread.interrupt_main())
        with pytest.raises(KeyboardInterrupt):
            op(x, 2.0).block_until_ready()
    np.testing.assert_array_equal(op(x, 2.0), 2 * x)


def test_wrong_calls():
    op = custom_op(scale, tiles=(64,), outputs="x")
    with pytest.raises(TypeError, match="`scale` takes x, factor, got 1 arguments"):
        op(jnp.ones(4))
    with pytest.raises(TypeError, match="`outputs` of `scale` says"):
        custom_op(scale, tiles=(64,), outputs="y")
    made = custom_op(scale, tiles=(64,), outputs=lambda x, factor: 5)
    with pytest.raises(TypeError, match=r"must return a shape, .*; got 5"):
        made(jnp.ones(4), 2.0)


@pytest.mark.parametrize(
    ("x", "factor", "problem"),
    [
        ([1.0, 2.0], 2.0, "`x` of `scale` is an array, got list"),
        (3.0, 2.0, "`x` of `scale` is an array, got float"),
        (np.ones(3, np.complex64), 2.0, "`x` of `scale` has an element type .*: complex64"),
        (np.ones(3, np.float32), "two", "`factor` of `scale` is a number, got str"),
        (np.ones(3, np.float32), None, "`factor` of `scale` is a number, got NoneType"),
        (np.ones(3, np.float32), np.ones(3), r"is a number, got an array of shape \(3,\)"),
    ],
)
def test_wrong_arguments_are_named(way, x, factor, problem):
    op = custom_op(scale, tiles=(64,), outputs="x")
    with pytest.raises(TypeError, match=problem):
        way(lambda: op(x, factor))()


@simt.kernel
def halved(z: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32], least: tw.f32) -> None:
    assert len(x) >= len(z)
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i] / 2.0 if x[i] > least else 0.0


@pytest.mark.thinned(5)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5, 7), (257,)])
def test_kernels_of_threads_are_functions(way, shape):
    op, x = custom_op(halved, outputs="x"), some(*shape)
    for _ in range(3):
        found = way(lambda x: op(x, 0.25))(x)
        np.testing.assert_array_equal(found, np.where(x > 0.25, x / 2, 0))
    with pytest.raises(TypeError, match="takes its outputs undivided"):
        custom_op(halved, outputs="x", tiles=(3,))


def test_example(capsys):
    path = ROOT / "examples" / "interop" / "jax_softmax.py"
    spec = importlib.util.spec_from_file_location("examples_jax_softmax", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    assert capsys.readouterr().out.startswith("jax_softmax: ")


class OnGpu:
    """A call of XLA's with arrays of a GPU, on a stream of its own."""

    def __init__(self, inputs, outputs, numbers, stream):
        self.arguments, self.results = map(self._buffers, (inputs, outputs))
        self.numbers, self._stream = numbers, stream

    def _buffers(self, tensors):
        return [Buffer(t.dtype, t.shape, t.region.address) for t in tensors]

    def stream(self):
        return self._stream


def test_on_a_gpu_work_is_put_in_the_order_of_a_stream(fake_gpu, fake_cuda):
    seen = []
    fake_cuda.kernels["scale"] = lambda values, grid: seen.append(values)
    op = custom_op(scale, tiles=(256,), outputs="x")
    x, z = (tw.zeros((1000,), device=fake_gpu).sync() for _ in range(2))
    theirs = fake_gpu.new_stream()
    fake_cuda.hold(theirs)
    theirs.fill(Block(x.region.address, 4, (1000,), (4,), host=False), b"\0\0\0\1")
    op._run_on_gpu(OnGpu([x], [z], {"factor": 2.0}, theirs.handle))
    assert not seen, "it comes after what is on XLA's stream"
    *_, last = [entry for entry in fake_cuda.log if entry[0] == "wait"]
    assert last[-1] == theirs.handle, "which waits for it in turn"
    fake_cuda.release()
    assert {x.region.address, z.region.address} <= set(seen[0])


def test_numbers_in_memory_of_a_gpu_are_waited_for(fake_gpu, fake_cuda):
    seen = []
    fake_cuda.kernels["scale"] = lambda values, grid: seen.append(values)
    op = custom_op(scale, tiles=(256,), outputs="x")
    x, z = (tw.zeros((1000,), device=fake_gpu).sync() for _ in range(2))
    factor = tw.from_numpy(np.array(2.5, np.float32), device=fake_gpu).sync()
    op._run_on_gpu(OnGpu([x, factor], [z], {}, fake_gpu.new_stream().handle))
    fake_gpu.synchronize()
    assert np.float32(2.5).view(np.int32) in [value & 0xFFFFFFFF for value in seen[0]]


@pytest.mark.cpu_alone  # numbers in memory of a GPU need a closer look each time
def test_calls_alike_are_quick(monkeypatch):
    twice, x = custom_op(scale, tiles=(64,), outputs="x"), jnp.arange(100.0)
    known, computed = jax.jit(lambda x: twice(x, 3.0)), jax.jit(twice)
    for _ in range(2):
        known(x).block_until_ready(), computed(x, 2.0).block_until_ready()
    monkeypatch.setattr("tilewright.interop.jax._region", None)
    for factor in (2.0, -5.0):
        y = jnp.asarray(fresh_rng().random(100, np.float32))
        np.testing.assert_array_equal(known(y), y * 3)
        np.testing.assert_array_equal(computed(y, factor), y * factor)


@pytest.mark.parametrize("dtype", [tw.f32, tw.bf16, tw.i32, tw.bool_])
def test_a_tensor_is_an_array_of_jax_for_asarray(dtype):
    t = tw.convert(tw.asarray(np.array([[1, 0, 2], [3, 0, 4]], np.int32)), dtype).sync()
    found = jnp.asarray(t)
    assert isinstance(found, jax.Array) and found.shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(found), t.to_numpy())
    assert found.dtype == t.to_numpy().dtype


def test_functions_of_outputs_have_names_of_their_own():
    like = {name: lambda a, b: jax.ShapeDtypeStruct(a.shape, b.dtype) for name in ("s", "d")}
    x, y = some(10), some(10)
    both = custom_op(sum_and_difference, tiles=(4,), outputs=like)(x, y)
    np.testing.assert_array_equal(both[0], x + y)
