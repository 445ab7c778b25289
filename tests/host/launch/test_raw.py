from __future__ import annotations

import ctypes
import gc
from functools import partial

import numpy as np
import pytest

import tilewright as tw
from support.interrupts import MOST_POINTS, raise_at, raise_behind
from support.numbers import fresh_rng
from tilewright.devices.cuda.results import INVALID_PTX
from tilewright.tensors import pending_work

PTX = ".version 7.0\n.target sm_80\n.visible .entry scale()\n"
CONFIG = tw.LaunchConfig((4, 1, 1), (256, 1, 1))


@pytest.fixture
def scale(fake_cuda, fake_gpu):
    """A kernel of the driver: out[i] = factor * x[i], for n elements; n is u32, factor f32."""

    def run(values, grid):
        n, factor, x, out = values
        bits = np.array([factor], np.int64).view(np.float32)[0]
        floats = ctypes.c_float * (n & 0xFFFFFFFF)
        np.ctypeslib.as_array(floats.from_address(out))[:] = bits * np.ctypeslib.as_array(
            floats.from_address(x)
        )

    fake_cuda.kernels["scale"], fake_cuda.parameters["scale"] = run, (4, 4, 8, 8)
    return tw.load_module_from_ptx(PTX).load_function("scale")


def some(device, n=1000):
    return tw.from_numpy(fresh_rng().random(n, np.float32), device=device).sync()


def launching(function, x, out, factor=2.0):
    launch = tw.AsyncKernelLaunch(function)
    launch.push_arg(tw.u32(x.size)).push_arg(tw.f32(factor))
    with tw.unsafe():
        launch.push_device_ptr(x.device_pointer()).push_device_ptr(out.device_pointer())
    return launch.set_launch_config(CONFIG)


def launches(fake_cuda):
    return [entry for entry in fake_cuda.log if entry[0] == "launch"]


def test_ptx_goes_to_the_first_gpu_or_to_the_one_that_is_named(fake_cuda, fake_gpus):
    fake_cuda.kernels["scale"] = lambda values, grid: None
    for where, name in [(None, "cuda:0"), (1, "cuda:1"), ("cuda:1", "cuda:1"), (fake_gpus[1],) * 2]:
        function = tw.load_module_from_ptx(PTX.encode(), where).load_function("scale")
        assert function.context.name == getattr(name, "name", name)


def test_a_kernel_of_the_driver_is_an_op(scale, fake_gpu):
    x, out = some(fake_gpu), tw.empty((1000,), device=fake_gpu).sync()
    launching(scale, x, out).then(lambda _: launching(scale, out, out)).sync()
    np.testing.assert_array_equal(out.to_numpy(), 4 * x.to_numpy())


def test_plain_memory_is_only_numbered(scale, fake_gpu, fake_cuda, monkeypatch):
    x, out = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    monkeypatch.setattr(tw.AsyncKernelLaunch, "execute", None)
    stream, other = fake_gpu.new_stream(), fake_gpu.new_stream()
    launching(scale, x, out).start_on(stream)
    fake_cuda.hold(other)
    launching(scale, out, x, 0.5).start_on(stream)
    fake_cuda.release()
    np.testing.assert_array_equal(out.to_numpy(), 2 * x.to_numpy())


def test_launches_behind_listed_work_of_their_stream_are_only_numbered(scale, fake_gpu, fake_cuda):
    """However long the stream is busy; those on other streams wait as ever."""
    x, y, out = some(fake_gpu), some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    stream, other = fake_gpu.new_stream(), fake_gpu.new_stream()
    expected = 6 * y.to_numpy()
    fake_cuda.hold(stream)
    tw.memcpy(x, y).start_on(stream)
    for _ in range(50):
        launching(scale, x, out).start_on(stream)
    orders = [tensor.region.storage.order for tensor in (x, out)]
    listed = [[*order.writes, *order.reads, *order.superseded] for order in orders]
    assert [len(each) for each in listed] == [1, 0]
    launching(scale, out, x, 3.0).start_on(other)
    fake_cuda.release()
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_it_is_ordered_with_work_on_other_streams(scale, fake_gpu, fake_cuda):
    x, out = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    expected = 6 * x.to_numpy()
    first, second = fake_gpu.new_stream(), fake_gpu.new_stream()
    fake_cuda.hold(first)
    launching(scale, x, out).start_on(first)
    launching(scale, out, x, 3.0).start_on(second)
    fake_cuda.release()
    np.testing.assert_array_equal(x.to_numpy(), expected)


@pytest.fixture
def no_waiting(monkeypatch):
    """Nothing else runs here: who waits for work to be put on a stream waits for ever."""
    monkeypatch.setattr(pending_work, "_wait_until", None)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops that were never run
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("interrupted", [raise_at, raise_behind])
@pytest.mark.parametrize("end", [tw.DeviceOp.sync_on, tw.DeviceOp.start_on])
def test_nobody_waits_for_a_launch_that_was_interrupted(scale, fake_gpu, end, interrupted):
    x, out = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    expected, stream, other = x.to_numpy(), fake_gpu.new_stream(), fake_gpu.new_stream()
    for point in range(1, MOST_POINTS):
        is_over = not interrupted(point, partial(end, launching(scale, x, out), stream))
        assert stream.timeline.all_submitted() is not None, point
        launching(scale, x, out, point).sync_on(other)
        np.testing.assert_array_equal(out.to_numpy(), np.float32(point) * expected)
        if is_over:
            break
    assert 20 < point < MOST_POINTS - 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops that were never run
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("interrupted", [raise_at, raise_behind])
def test_listed_work_stays_listed_wherever_an_interrupt_comes(
    scale, fake_gpu, fake_cuda, interrupted
):
    """Launches on other streams wait for it."""
    x, y, out = some(fake_gpu), some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    for point in range(1, MOST_POINTS):
        stream, other = fake_gpu.new_stream(), fake_gpu.new_stream()
        launching(scale, y, x, point).sync_on(other)
        fake_cuda.hold(stream)
        tw.memcpy(x, y).start_on(stream)
        is_over = not interrupted(point, partial(launching(scale, x, out).start_on, stream))
        launching(scale, x, x, 3.0).start_on(other)
        fake_cuda.release()
        np.testing.assert_array_equal(x.to_numpy(), 3 * y.to_numpy())
        if is_over:
            break
    assert 20 < point < MOST_POINTS - 1


def test_what_nobody_waits_for_is_let_go_of(scale, fake_gpu):
    """Also of launches on parts of memory, which Python lists."""
    x, out = some(fake_gpu, 2000), tw.zeros((2000,), device=fake_gpu).sync()
    stream = fake_gpu.new_stream()
    for _ in range(500):
        launching(scale, x[:1000], out[:1000]).start_on(stream)
    assert len(stream._marks) < 100
    assert len(out.region.storage.order.superseded) < 100


def test_in_a_graph(scale, fake_gpu):
    x, out = some(fake_gpu), tw.zeros((1000,), device=fake_gpu).sync()
    graph = launching(scale, x, out).then(lambda _: launching(scale, out, out, 3.0)).graph()
    assert not out.to_numpy().any()
    graph.launch().sync()
    np.testing.assert_array_equal(out.to_numpy(), 3 * (2 * x.to_numpy()))


@pytest.mark.parametrize(
    ("push", "problem"),
    [
        (lambda launch: launch.push_arg(tw.u64(3)), "argument 0 of `scale` has the wrong size"),
        (lambda launch: launch.push_arg(np.float64(3)), "expected: 4 bytes"),
        (lambda launch: launch.push_arg(True), "got: bool, 1 bytes"),
        (lambda launch: launch.push_device_ptr(64), "got: an address, 8 bytes"),
        (
            lambda launch: launch.push_arg(tw.u32(1)).push_arg(tw.f32(1)).push_arg(tw.f32(2)),
            "argument 2 of `scale` has the wrong size",
        ),
    ],
)
def test_arguments_of_a_wrong_size_are_refused_where_they_are_pushed(
    scale, fake_cuda, push, problem
):
    with tw.unsafe(), pytest.raises(tw.LaunchError) as caught:
        push(tw.AsyncKernelLaunch(scale))
    assert problem in str(caught.value) and "test_raw.py" in str(caught.value)
    assert not launches(fake_cuda)


def test_one_argument_too_many_or_too_few(scale, fake_gpu, fake_cuda):
    x = some(fake_gpu)
    launch = launching(scale, x, x)
    with pytest.raises(tw.LaunchError, match="`scale` takes no more arguments"):
        launch.push_arg(tw.u32(1))
    few = tw.AsyncKernelLaunch(scale).push_arg(tw.u32(1)).set_launch_config(CONFIG)
    with pytest.raises(tw.DriverError, match="cannot be launched with these arguments"):
        few.sync_on(fake_gpu.new_stream())
    assert not launches(fake_cuda)


def test_numbers_that_do_not_fit_are_refused(scale):
    with pytest.raises(tw.ShapeError, match="`argument 0` of `scale` is out of range"):
        tw.AsyncKernelLaunch(scale).push_arg(tw.u32(-1)).close()


def test_memory_of_another_device_is_refused(scale, fake_gpus, fake_cuda):
    here, there = some(fake_gpus[0]), some(fake_gpus[1])
    with pytest.raises(tw.LaunchError, match="argument 3 of `scale` lives on another device"):
        launching(scale, here, there).sync()
    with pytest.raises(tw.LaunchError, match="argument 2 of `scale` lives on another device"):
        launching(scale, there, here).sync_on(fake_gpus[0].new_stream())
    assert not launches(fake_cuda)


def test_a_stream_of_another_device_is_refused(scale, fake_gpus, fake_cuda):
    x = some(fake_gpus[1])
    with pytest.raises(tw.ContextError, match="`scale` cannot be launched there"):
        launching(scale, x, x).sync()
    assert not launches(fake_cuda)


def test_memory_is_let_go_of_after_a_refusal(scale, fake_gpus, fake_cuda):
    fake_gpus[0].synchronize()
    before = len(fake_cuda.memory)
    x, y = some(fake_gpus[0]), some(fake_gpus[1])
    with pytest.raises(tw.LaunchError):
        launching(scale, x, y).sync()
    del x, y
    gc.collect()
    for device in fake_gpus:
        device.pool.trim()
    assert len(fake_cuda.memory) == before


def test_ptx_that_is_not_valid(fake_cuda, fake_gpu):
    fake_cuda.fail("load_module", INVALID_PTX)
    with pytest.raises(tw.DriverError, match="rejected load_module") as caught:
        tw.load_module_from_ptx(PTX)
    assert "the PTX is not valid" in str(caught.value)
    with pytest.raises(tw.DriverError, match="expected: a cubin, a fatbin or PTX"):
        tw.load_module_from_ptx("no PTX at all")
