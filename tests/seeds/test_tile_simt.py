"""Tile kernels and kernels of single threads in one program."""

from __future__ import annotations

import ctypes
import importlib.util
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from seeds.kernels import numbers, put, same
from source_tree import ROOT
from tilewright import DeviceOp, LaunchConfig, simt


def example(name):
    """An example, as a module."""
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


EXAMPLE = example("tile_to_simt")
THRESHOLD, SCALE = 0.08, 4.0


def softmax(x):
    p = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def gated(probs):
    return np.where(probs >= THRESHOLD, SCALE * probs, 0)


def run_threshold_scale(values, grid):
    """What the PTX of the example does, for a driver in Python."""
    out, n, x, _, *given = values
    threshold, scale = np.array(given, np.int64).view(np.float32)[::2]
    floats = ctypes.c_float * n
    source = np.ctypeslib.as_array(floats.from_address(x))
    result = np.where(source >= threshold, source * scale, np.float32(0))
    np.ctypeslib.as_array(floats.from_address(out))[:] = result


@pytest.fixture
def threshold_scale(simulated_gpu):
    """The SIMT kernel as PTX, loaded on a simulated GPU."""
    driver = simulated_gpu._driver
    driver.kernels["threshold_scale"] = run_threshold_scale
    driver.parameters["threshold_scale"] = (8, 8, 8, 8, 4, 4)
    ptx = EXAMPLE.threshold_scale.ptx("sm_90")
    return tw.load_module_from_ptx(ptx).load_function("threshold_scale")


class ThresholdScale(DeviceOp):
    """The PTX as an op."""

    def __init__(self, function, out, x):
        self._function, self._out, self._x = function, tw.move(out), tw.move(x)
        self.streams = []

    def execute(self, ctx):
        self.streams.append(ctx.stream)
        launch = tw.AsyncKernelLaunch(self._function)
        with tw.unsafe():
            for tensor in (self._out, self._x):
                launch.push_device_ptr(tensor.device_pointer()).push_arg(tw.u64(tensor.size))
        launch.push_arg(tw.f32(THRESHOLD)).push_arg(tw.f32(SCALE))
        ctx.run(launch.set_launch_config(LaunchConfig((1, 1, 1), (256, 1, 1))))
        return self._out, self._x


def test_d01_a_tile_kernel_computes_the_softmax_of_rows(rng, device):
    """A tile kernel computes the softmax of each row."""
    x = numbers(rng, 10, 8)
    probs = EXAMPLE.row_softmax(tw.zeros((10, 8)).partition((2, 8)), put(x)).out().sync()
    np.testing.assert_allclose(probs.to_numpy(), softmax(x), rtol=1e-5, atol=1e-6)


def test_d02_a_kernel_of_threads_gates_what_it_gave(rng, device):
    """A SIMT kernel keeps and scales what reaches a threshold, element by element."""
    x = rng.random((10, 8), np.float32) / 4
    found, *_ = EXAMPLE.threshold_scale(tw.zeros((10, 8)), put(x), THRESHOLD, SCALE).sync()
    same(found, np.where(x >= np.float32(THRESHOLD), x * np.float32(SCALE), np.float32(0)))


def test_d03_both_run_in_one_process_over_one_memory(rng, device):
    """Both kernels run in one process, the second on the tensor that the first wrote."""
    x, seen = numbers(rng, 10, 8), []

    def gate(p, _):
        z = p.unpartition()
        seen.append(z.device_pointer().address)
        return EXAMPLE.threshold_scale(tw.zeros((10, 8)), z, THRESHOLD, SCALE)

    op = EXAMPLE.row_softmax(tw.zeros((10, 8)).partition((2, 8)), put(x)).then(gate)
    found, probs, *_ = op.sync()
    assert probs.device_pointer().address == seen[0]
    np.testing.assert_allclose(found.to_numpy(), gated(softmax(x)), rtol=0, atol=1e-5)


def test_d04_they_are_two_kernels():
    """The two are separate kernels, not one that mixes both ways of writing."""
    assert isinstance(EXAMPLE.row_softmax, tw.Entry) and not hasattr(EXAMPLE.row_softmax, "ptx")
    assert "threshold_scale" in EXAMPLE.threshold_scale.ptx("sm_90")


def test_d05_one_file_has_both(rng):
    """The SIMT kernel is a project of its own beside the host program.

    Differs: one-file-for-both
    """
    text = (ROOT / "examples" / "tile_to_simt.py").read_text()
    assert "@tw.entry" in text and "@simt.kernel" in text and "def main" in text


def test_d07_the_tile_stage_reduces_whole_rows():
    """The tile stage has reductions along rows and exponentials."""
    x = tw.meta((4, 8), tw.f32)
    text = EXAMPLE.row_softmax.ir(x.partition_mut((2, 8)), x)
    assert "reduce" in text and "exp" in text


def test_d08_the_simt_stage_branches_for_each_thread(rng, device):
    """The SIMT stage decides for each element; threads of a block take different branches."""

    @simt.kernel
    def sign(out: simt.DisjointSlice[tw.i32], x: simt.Slice[tw.f32]) -> None:
        assert len(x) >= len(out)
        i = simt.index_1d()
        if i < len(out):
            if x[i] > 0.0:
                out[i] = 1
            else:
                out[i] = -1

    data = numbers(rng, 100)
    found, _ = sign(tw.zeros((100,), tw.i32), put(data)).sync()
    same(found, np.where(data > 0, 1, -1))


@pytest.mark.cpu_alone
def test_d13_the_simt_stage_may_come_from_a_file_of_ptx(assembler, simulated_gpu, tmp_path, capsys):
    """The host program reads the PTX of the SIMT stage from disk when it runs."""
    driver = simulated_gpu._driver
    driver.kernels["threshold_scale"] = run_threshold_scale
    path = tmp_path / "threshold_scale.ptx"
    path.write_text(EXAMPLE.threshold_scale.ptx("sm_90"))
    from_ptx = example("tile_to_simt_from_ptx")
    from_ptx.main(str(path))
    assert "PASS" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="tilewright build"):
        from_ptx.main(str(tmp_path / "missing.ptx"))


@pytest.mark.cpu_alone
def test_d14_both_are_one_chain(assembler, threshold_scale, rng):
    """A tile kernel and a PTX kernel are launched as one chain of ops."""
    x, out = numbers(rng, 4, 8), tw.zeros((4, 8)).sync()
    op = EXAMPLE.row_softmax(tw.zeros((4, 8)).partition((2, 8)), put(x)).then(
        lambda p, _: ThresholdScale(threshold_scale, out, p.unpartition())
    )
    found, _ = op.sync()
    np.testing.assert_allclose(found.to_numpy(), gated(softmax(x)), rtol=0, atol=1e-5)


@pytest.mark.cpu_alone
def test_d16_then_keeps_the_context(assembler, threshold_scale, rng, simulated_gpu):
    """`then` executes both in one context, so both launches are on one stream, in order."""
    x, out, made = numbers(rng, 4, 8), tw.zeros((4, 8)).sync(), []

    def gate(p, _):
        made.append(ThresholdScale(threshold_scale, out, p.unpartition()))
        return made[0]

    stream, log = simulated_gpu.new_stream(), simulated_gpu._driver.log
    log.clear()
    given = put(x)
    EXAMPLE.row_softmax(tw.zeros((4, 8)).partition((2, 8)), given).then(gate).sync_on(stream)
    assert made[0].streams == [stream]
    streams = [entry[-1] for entry in log if entry[0] == "launch"]
    assert streams == [stream.handle] * 2


@pytest.mark.cpu_alone
def test_d17_the_address_of_a_tensor_is_all_that_is_passed(assembler, threshold_scale, rng):
    """A SIMT kernel gets the raw address of the tensor that a tile kernel wrote."""
    x = numbers(rng, 4, 8)
    probs = EXAMPLE.row_softmax(tw.zeros((4, 8)).partition((2, 8)), put(x)).out().sync()
    address, out = int(probs.device_pointer()), tw.zeros((4, 8)).sync()
    launch = tw.AsyncKernelLaunch(threshold_scale)
    with tw.unsafe():
        launch.push_device_ptr(out.device_pointer()).push_arg(tw.u64(32))
        launch.push_device_ptr(address).push_arg(tw.u64(32))
    launch.push_arg(tw.f32(THRESHOLD)).push_arg(tw.f32(SCALE))
    launch.set_launch_config(LaunchConfig((1, 1, 1), (256, 1, 1))).sync()
    np.testing.assert_allclose(out.to_numpy(), gated(softmax(x)), rtol=0, atol=1e-5)


@pytest.mark.cpu_alone
def test_d19_same_process_context_stream_and_memory(assembler, threshold_scale, simulated_gpu):
    """Nothing else is agreed on: process, context, stream and allocations are the same."""
    z = EXAMPLE.row_softmax(tw.zeros((4, 8)).partition((2, 8)), tw.ones((4, 8))).out().sync()
    assert threshold_scale.context.name == z.device.name == simulated_gpu.name
    before, address = len(simulated_gpu._driver.memory), z.device_pointer().address
    found, same_memory = ThresholdScale(threshold_scale, tw.zeros((4, 8)).sync(), z).sync()
    assert same_memory.device_pointer().address == address
    assert len(simulated_gpu._driver.memory) <= before + 1, "one result, and no copy of the input"
    np.testing.assert_allclose(found.to_numpy(), np.full((4, 8), 0.5), rtol=0, atol=1e-5)


@pytest.mark.cpu_alone
def test_d22_ptx_of_the_simt_kernel_is_an_op(threshold_scale, rng):
    """PTX that was made from a SIMT kernel is launched as an op, away from its Python source."""
    x = rng.random((4, 8), np.float32) / 4
    found, _ = ThresholdScale(threshold_scale, tw.zeros((4, 8)).sync(), put(x)).sync()
    same(found, np.where(x >= np.float32(THRESHOLD), x * np.float32(SCALE), np.float32(0)))


def test_d23_one_kernel_is_of_one_kind():
    """Tiles and threads do not meet inside of one kernel."""

    @tw.entry
    def mixed(z: tl.TensorMut[tw.f32]) -> None:
        i = simt.index_1d()
        z.store(tl.full(z.shape, 1.0, tw.f32) * i)

    z = tw.zeros((8,)).sync()
    with pytest.raises(tw.CompileError):
        mixed(z.partition_mut((8,))).sync()
