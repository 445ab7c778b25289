"""Memory shared with other libraries on the GPU, in the order of streams."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT

torch = pytest.importorskip("torch")


@tw.entry
def double(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile + tile)


DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]


@pytest.mark.parametrize("name", DTYPES)
def test_torch_tensors_come_in(name):
    dtype = getattr(torch, name)
    theirs = torch.arange(100, device="cuda").to(dtype)
    ours = tw.asarray(theirs)
    assert ours.device.name == "cuda:0"
    assert ours.region.address == theirs.data_ptr()
    found = ours.to_numpy().astype("f8")
    assert np.array_equal(found, theirs.double().cpu().numpy())


def test_torch_tensors_are_arguments():
    theirs = torch.rand(1000, device="cuda")
    z = tw.zeros((1000,)).sync()
    double(z.partition_mut((64,)), theirs).sync()
    assert np.array_equal(z.to_numpy(), (theirs * 2).cpu().numpy())
    part = torch.rand(40, 60, device="cuda")[::2, 1::3]
    z = tw.zeros(tuple(part.shape)).sync()
    double(z.partition_mut((8, 8)), part).sync()
    assert np.array_equal(z.to_numpy(), (part * 2).cpu().numpy())


def test_kernels_write_torch_tensors():
    theirs, x = torch.zeros(1000, device="cuda"), tw.ones((1000,)).sync()
    double(tw.asarray(theirs).partition_mut((64,)), x).sync()
    assert (theirs == 2).all()


def test_we_come_after_what_torch_has_put_on_its_stream():
    stream = torch.cuda.Stream()
    z = tw.zeros((1 << 20,)).sync()
    for _ in range(10):
        with torch.cuda.stream(stream):
            theirs = torch.zeros(1 << 20, device="cuda")
            torch.cuda._sleep(20_000_000)
            theirs += 3
            double(z.partition_mut((1024,)), theirs).sync()
        assert (z.to_numpy() == 6).all()


def test_torch_comes_after_what_we_have_put_on_ours():
    big = torch.ones(1 << 24, device="cuda")
    for _ in range(5):
        z = tw.zeros((1 << 24,)).sync()
        started = double(z.partition((1024,)), big).start()
        theirs = torch.from_dlpack(started[0].unpartition())
        assert (theirs == 2).all()


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "i32", "u8", "bool_"])
def test_tensors_go_out_by_dlpack(name):
    data = np.arange(60).reshape(5, 12) % 2
    t = tw.from_numpy(data.astype(getattr(tw, name).np)).sync()
    one = True if name == "bool_" else 1
    theirs = torch.from_dlpack(t)
    assert theirs.data_ptr() == t.region.address
    assert np.array_equal(theirs.double().cpu().numpy(), data)
    with pytest.raises(tw.BorrowError, match="another library uses it"):
        tw.fill(t, one).sync()
    del theirs
    tw.fill(t, one).sync()


def test_tensors_go_out_by_the_array_interface():
    cupy = pytest.importorskip("cupy")
    t = tw.from_numpy(np.arange(12, dtype="f4").reshape(3, 4)).sync()
    theirs = cupy.asarray(t[:, 1:3])
    assert np.array_equal(theirs.get(), np.arange(12, dtype="f4").reshape(3, 4)[:, 1:3])
    back = tw.asarray(cupy.arange(10, dtype="f4"))
    assert np.array_equal(back.to_numpy(), np.arange(10))


def test_arrays_that_only_have_the_interface():
    class Only:
        def __init__(self, tensor):
            self.tensor = tensor
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    theirs = torch.arange(12, device="cuda", dtype=torch.float32).reshape(3, 4).T
    assert np.array_equal(tw.asarray(Only(theirs)).to_numpy(), theirs.cpu().numpy())
    z = tw.zeros((4, 3)).sync()
    double(z.partition_mut((2, 2)), Only(theirs)).sync()
    assert np.array_equal(z.to_numpy(), (theirs * 2).cpu().numpy())


def test_streams_know_each_other():
    stream = tw.default_device().new_stream()
    kind, handle = stream.__cuda_stream__()
    assert kind == 0
    external = torch.cuda.ExternalStream(handle)
    external.synchronize()


def test_operators_of_torch_are_in_the_order_of_its_stream():
    doubled = pytest.importorskip("tilewright.interop.torch").custom_op(
        "tilewright_gpu_tests::double", double, tiles=(1024,), outputs="x"
    )
    stream = torch.cuda.Stream()
    for _ in range(10):
        with torch.cuda.stream(stream):
            x = torch.zeros(1 << 20, device="cuda")
            torch.cuda._sleep(20_000_000)
            x += 3
            y = doubled(x)
            x.zero_()  # after it was read
            z = y + 1  # after it was written
        stream.synchronize()
        assert (z == 7).all()
    torch.library.opcheck(doubled.definition, (torch.rand(1000, device="cuda"),))
    compiled = torch.compile(lambda x: doubled(x) + 1, fullgraph=True, backend="aot_eager")
    x = torch.rand(3000, device="cuda")
    torch.testing.assert_close(compiled(x), 2 * x + 1)


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")
def test_graphs_of_torch_record_operators():
    custom_op = pytest.importorskip("tilewright.interop.torch").custom_op
    doubled = custom_op("tilewright_gpu_tests::double_again", double, tiles=(1024,), outputs="x")
    x = torch.rand(5000, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    refused = pytest.raises(tw.Error, match=r"call \.compile\(\.\.\.\) of the operator")
    with refused, torch.cuda.graph(torch.cuda.CUDAGraph()):
        doubled(x)
    doubled.compile(x)
    with torch.cuda.graph(graph):
        y = doubled(doubled(x) + 1)
    for _ in range(3):
        x.copy_(torch.rand(5000, device="cuda"))
        graph.replay()
        torch.testing.assert_close(y, 2 * (2 * x + 1))


@pytest.mark.parametrize("name", ["torch_softmax", "torch_rms_norm"])
@pytest.mark.filterwarnings("ignore")
def test_examples_on_the_gpu(name, capsys):
    path = ROOT / "examples" / "interop" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"examples_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main("cuda")
    assert capsys.readouterr().out.startswith(f"{name}: ")
