from __future__ import annotations

import asyncio
import gc
import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from support.core_paths import called_launches, only_called
from tilewright.base.errors import DriverError, LaunchError
from tilewright.devices import registry
from tilewright.launch.cuda_plan import CudaPlan


@tw.entry
def picked(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], where: tl.Tensor[tw.i32]) -> None:
    z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))


@tw.entry
def told(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    z.store(tl.load_tile_like(x, z))
    print(z.shape[0])


@pytest.fixture
def gpu(monkeypatch):
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (device,) = registry._Gpus.found
    with tw.device(device):
        yield device


@pytest.fixture
def given(gpu):
    """The arguments of a launch whose check holds, or fails; warm, so that the core can run it."""
    x = tw.from_numpy(np.arange(8, dtype=np.float32)).sync()
    inside, outside = (tw.from_numpy(np.array([i], np.int32)).sync() for i in (1, 7))

    def given(holds=True):
        z = tw.zeros((4,), tw.f32).sync()
        return z, (z.partition_mut(4), x, inside if holds else outside)

    picked(*given()[1]).sync()
    return given


def failed(run):
    with pytest.raises(LaunchError) as caught:
        run()
    error = caught.value
    return error.message, error.expected, error.got, getattr(error, "__notes__", [])


ENDINGS = {
    "sync": lambda op: op.sync(),
    "a chain": lambda op: op.then(lambda *given: tw.value(1)).sync(),
    "result": lambda op: op.into_future().result(),
    "await": lambda op: asyncio.run(awaited(op)),
}


async def awaited(op):
    return await op


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_core_runs_it_and_raises_what_the_slow_path_raises(given, ending, monkeypatch):
    def run(holds):
        z, arguments = given(holds)
        ENDINGS[ending](picked(*arguments))
        return z

    with only_called():
        expected = failed(lambda: run(holds=False))
    called = called_launches(monkeypatch)
    for _ in range(3):
        np.testing.assert_array_equal(run(holds=True).to_numpy(), [4, 5, 6, 7])
        assert failed(lambda: run(holds=False)) == expected
    assert called == []
    assert not any(stream.timeline.pending for stream in tw.default_device().streams())


def test_what_was_started_fails_where_its_memory_is_read(given, monkeypatch):
    called = called_launches(monkeypatch)
    z, arguments = given(holds=False)
    picked(*arguments).start()
    message, *_ = failed(z.to_numpy)
    assert "out of range in `picked`" in message
    assert z.to_numpy().shape == (4,), "the error was seen once"
    picked(*given()[1]).start()
    assert called == []


def test_traced_launches_need_no_look_and_are_timed_by_the_device(given, gpu, monkeypatch):
    called = called_launches(monkeypatch)
    one, two = gpu.new_stream(), gpu.new_stream()
    z, arguments = given()
    with tw.trace() as trace:
        picked(*arguments).start_on(one)
        gpu.context.calls.hold(two)
        picked(z.partition_mut(4), *arguments[1:]).start_on(two)
        gpu.context.calls.release()
        picked(z.partition_mut(4), *arguments[1:]).sync_on(two)
        np.testing.assert_array_equal(z.to_numpy(), [4, 5, 6, 7])
    assert called == []
    work = [entry for entry in trace.entries if entry.kind == "work" and entry.name == "picked"]
    assert sorted(entry.stream.number for entry in work) == [one.number, two.number, two.number]
    assert {entry.traffic for entry in work} == {(36, 16, (1, 1, 1), "sm_90")}
    assert all(entry.start <= entry.end for entry in work)


def test_what_was_started_on_a_held_stream_is_waited_for(given, gpu):
    stream = gpu.new_stream()
    gpu.context.calls.hold(stream)
    z, arguments = given(holds=False)
    picked(*arguments).start_on(stream)
    threading.Timer(0.05, gpu.context.calls.release).start()
    failed(z.to_numpy)
    assert not stream.timeline.pending


def test_one_that_takes_long_is_waited_for(given, gpu):
    stream = gpu.new_stream()
    gpu.context.calls.hold(stream)
    threading.Timer(0.05, gpu.context.calls.release).start()
    message, *_ = failed(lambda: picked(*given(holds=False)[1]).sync_on(stream))
    assert "out of range in `picked`" in message
    assert not stream.timeline.pending


def test_an_error_that_nobody_looks_at_is_reported(given, gpu, monkeypatch):
    seen = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    stream = gpu.new_stream()
    x, where = tw.zeros((8,), tw.f32).sync(), tw.from_numpy(np.array([7], np.int32)).sync()
    picked(tw.zeros((4,), tw.f32).sync().partition(4), x, where).start_on(stream)
    stream.synchronize()
    assert seen == [], "somebody may still read it"
    del x, where
    gc.collect()
    (only,) = seen
    assert "never retrieved" in only.exc_value.__notes__[-1]


def test_prints_are_written_once_each(gpu, capsys):
    x, z = tw.zeros((8,), tw.f32).sync(), tw.zeros((8,), tw.f32).sync().partition(4)
    told(z, x).sync()
    expected = capsys.readouterr().out
    assert expected
    stream = gpu.new_stream()
    for end in (
        lambda op: op.sync(),
        lambda op: op.start_on(stream),
        lambda op: op.sync_on(stream),
    ):
        end(told(z, x))
    assert capsys.readouterr().out == 3 * expected


def test_places_to_report_in_are_used_again(given, gpu):
    stream = gpu.new_stream()
    _, arguments = given()
    plan = plan_of(picked, arguments)
    for _ in range(500):
        picked(*arguments).start_on(stream)
    stream.synchronize()
    assert not stream.timeline.pending
    assert 0 < len(plan._idle) < 100
    before = len(plan._idle)
    for _ in range(10):
        picked(*arguments).sync()
    assert len(plan._idle) == before


def plan_of(kernel, arguments) -> CudaPlan:
    op = kernel(*arguments)
    _, _, plan = op._held[-1].latest
    op.close()
    return plan


def test_one_that_the_driver_refuses_leaves_nothing_behind(given, gpu):
    z, arguments = given()
    plan = plan_of(picked, arguments)
    picked(*arguments).sync()
    before = len(plan._idle)
    stream = gpu.new_stream()
    for end in ("sync_on", "start_on"):
        gpu.context.calls.fail("launch", 1)
        with pytest.raises(DriverError, match="the launch of `picked`"):
            getattr(picked(*arguments), end)(stream)
        assert not stream.timeline.pending
    assert len(plan._idle) == before
    picked(*arguments).sync_on(stream)
    np.testing.assert_array_equal(z.to_numpy(), [4, 5, 6, 7])


def test_work_on_other_streams_comes_after_one_that_reports(given, gpu):
    first, second = gpu.new_stream(), gpu.new_stream()
    gpu.context.calls.hold(first)
    z, arguments = given()
    picked(*arguments).start_on(first)
    other = tw.zeros((4,), tw.f32).sync()
    where = tw.from_numpy(np.zeros(1, np.int32)).sync()
    picked(other.partition_mut(4), z, where).start_on(second)
    gpu.context.calls.release()
    np.testing.assert_array_equal(other.to_numpy(), [4, 5, 6, 7])


@pytest.mark.parametrize("warm", [False, True])
def test_a_failure_that_nobody_hears_of_is_reported_once_its_stream_is_waited_for(
    gpu, given, monkeypatch, warm
):
    """The stream has kept the memory of the launch, behind the mark that is waited for."""
    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda found: seen.append(str(found.exc_value)))

    @tw.entry
    def cold(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], where: tl.Tensor[tw.i32]) -> None:
        z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))

    def lose():
        _, (z, x, where) = given(holds=False)
        (picked if warm else cold)(z, x.dup().sync(), where.dup().sync()).start()

    lose()
    tw.synchronize(gpu)
    gc.collect()
    assert len(seen) == 1, seen
    assert "got: 7" in seen[0]
