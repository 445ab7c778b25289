"""Replays of graphs that are waited for on the CPU, which the core runs: no Python is needed."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda
from support.core_paths import slow_graph_launches
from support.leaks import assert_none_left
from support.processes import run_program
from tilewright import f32
from tilewright.base import config
from tilewright.devices import registry
from tilewright.devices.host import CPU, REFERENCE
from tilewright.graph import CudaGraph, GraphLaunch

pytestmark = pytest.mark.cpu_alone

ROUNDS = 100
WARM = 3
TILE = 16


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@pytest.fixture(autouse=True)
def on_cpu() -> Any:
    with tw.device("cpu") as found:
        yield found


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[GraphLaunch]:
    """The launches that needed a closer look."""
    return slow_graph_launches(monkeypatch)


def counter(size: int) -> tuple[tw.CudaGraph[Any], tw.Tensor[Any]]:
    """A graph whose memory is known, and what it counts in."""
    x, z, one = (tw.full((size,), value).sync() for value in (0.0, float("nan"), 1.0))
    with tw.CudaGraph.scope(CPU.new_stream()) as scope:
        for _ in range(2):
            scope.record(add(z.partition_mut(TILE), x, one))
            scope.record(add(x.partition_mut(TILE), z, one))
    for _ in range(WARM):
        scope.graph.launch().sync()
    return scope.graph, x


def was_run(x: tw.Tensor[Any], times: int) -> None:
    """A graph that counts in a tensor was launched so often since."""
    expected = np.full(x.shape, 4.0 * (WARM + times), "f4")
    np.testing.assert_array_equal(x.to_numpy(), expected)


LONG = 5e6
"""Nanoseconds of this thread that no launch takes; compiling anything takes more."""


def test_nothing_changes_with_the_number_of_launches(looked_at: list[GraphLaunch]) -> None:
    graph, x = counter(77)
    assert len(looked_at) <= 1
    slowest = 0
    for _ in range(200):
        begin = time.thread_time_ns()
        op = graph.launch()
        op.sync()
        slowest = max(slowest, time.thread_time_ns() - begin)
        assert type(op) is GraphLaunch and type(graph) is CudaGraph
    assert slowest < LONG
    was_run(x, 200)


@pytest.mark.parametrize("size", [0, 1, TILE - 1, TILE, TILE + 1, 1009, 100_003])
def test_replays_need_no_look(looked_at: list[GraphLaunch], size: int) -> None:
    graph, x = counter(size)
    del looked_at[:]
    for stream in (CPU.new_stream(), CPU.new_stream()):
        assert graph.launch().sync_on(stream) is None
        assert graph.launch().sync() is None
    assert not looked_at
    was_run(x, 4)


def test_memory_that_somebody_has_borrowed_is_looked_at_once(
    looked_at: list[GraphLaunch],
) -> None:
    graph, x = counter(50)
    for _ in range(3):
        x.copy_from(np.full(50, 4.0 * (WARM - 3), "f4")).sync()
        borrow = x.borrow_mut()
        for is_known in (False, True, True):
            del looked_at[:]
            graph.launch().sync()
            assert is_known == (not looked_at)
        with pytest.raises(tw.BorrowError):
            borrow.copy_from(np.zeros(50, "f4"))
        was_run(x, 0)


def test_memory_that_was_copied_to_and_from_needs_no_look(looked_at: list[GraphLaunch]) -> None:
    graph, x = counter(50)
    other = tw.zeros((50,)).sync()
    del looked_at[:]
    for _ in range(3):
        x.copy_from(np.full(50, 4.0 * (WARM - 2), "f4")).sync()
        graph.launch().sync()
        other.copy_from(x).sync()
        graph.launch().sync()
        was_run(x, 0)
        was_run(other, -1)
    assert not looked_at


def test_settings_of_a_block_are_in_force(looked_at: list[GraphLaunch]) -> None:
    graph, x = counter(100_003)
    for number in (1, 2, 3, 1):
        del looked_at[:]
        with config.override(num_threads=number):
            graph.launch().sync()
        assert not looked_at
        words = [node.record.words for node in graph._replay._listed.nodes]
        assert {each[4] for each in words} == {number}
    for _ in range(2):
        del looked_at[:]
        graph.launch().sync()
        assert all(each[4] == CPU.new_stream().threads() for each in words)
    assert not looked_at
    was_run(x, 6)


def test_replays_that_are_traced_are_seen() -> None:
    graph, x = counter(100)
    with tw.trace() as trace:
        graph.launch().sync()
    assert any("graph scope.graph" in entry.name for entry in trace.entries)
    was_run(x, 1)


def test_a_graph_is_not_replayed_while_an_op_is_started() -> None:
    graph, x = counter(10)
    inner = graph.launch()
    with pytest.raises(tw.Error, match="cannot be run here"):
        tw.value(1).then(lambda _: inner.sync()).sync()
    was_run(x, 0)


def test_graphs_of_another_device_are_refused() -> None:
    graph, x = counter(10)
    with pytest.raises(tw.Error, match="cannot be enqueued on a stream of another device"):
        graph.launch().sync_on(REFERENCE.new_stream())
    was_run(x, 0)


def test_nothing_is_left_behind() -> None:
    graph, x = counter(100)
    stream, replay = CPU.new_stream(), graph._replay
    watched = [
        graph, replay, replay._run, graph._memory, graph.name, x, stream, stream.timeline,
        None, True, (),
    ]  # fmt: skip

    def both_ways() -> None:
        graph.launch().sync()
        graph.launch().sync_on(stream)

    assert_none_left(both_ways, watched, ROUNDS)


def test_a_thread_waits_for_its_turn(looked_at: list[GraphLaunch]) -> None:
    graph, x = counter(10)
    op, went = graph.launch(), threading.Event()

    def work() -> None:
        op.sync()
        went.set()

    thread = threading.Thread(target=work)
    with graph._replay._turn:
        thread.start()
        assert not went.wait(0.05)
    thread.join(10)
    assert went.is_set()
    was_run(x, 1)


def test_an_interrupt_leaves_one_that_waits_for_its_turn_as_it_was() -> None:
    graph, x = counter(10)
    has_turn, end = threading.Event(), threading.Event()

    def work() -> None:
        with graph._replay._turn:
            has_turn.set()
            end.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    has_turn.wait(10)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    op = graph.launch()
    with pytest.raises(KeyboardInterrupt):
        op.sync()
    end.set()
    thread.join(10)
    timer.join()
    assert not op.spent and op.used_by is None
    op.sync()
    was_run(x, 1)


FORKED = """
import tilewright as tw
with tw.device("cpu"):
    x, z, stream = tw.full((20,), 3.0).sync(), tw.zeros((20,)).sync(), CPU.new_stream()
    with tw.CudaGraph.scope(stream) as scope:
        scope.record(z.copy_from(x))
    for _ in range(100):
        scope.graph.launch().sync_on(stream)
    z.copy_from(np.zeros(20, "f4")).sync()
    child = os.fork()
    if child == 0:
        try:
            scope.graph.launch().sync_on(stream)
        except tw.ContextError as error:
            print(error.message)
        for _ in range(3):
            scope.graph.launch().sync()
        print(z.to_numpy().tolist() == [3.0] * 20, flush=True)
        os._exit(0)
    print(os.waitpid(child, 0)[1], z.to_numpy().any())
    scope.graph.launch().sync_on(stream)
    print(z.to_numpy().tolist() == [3.0] * 20)
"""


def test_a_child_process_replays_on_streams_of_its_own() -> None:
    refused = "a stream or event of the parent process cannot be used in a forked child"
    assert run_program(FORKED).splitlines() == [refused, "True", "0 False", "True"]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A GPU that is simulated."""
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (device,) = registry._Gpus.found
    with tw.device(device):
        yield device


def counter_on(gpu: Any) -> tuple[tw.CudaGraph[Any], tw.Tensor[Any]]:
    """A graph on a GPU that counts by two."""
    x, z, one = (tw.full((20,), value).sync() for value in (0.0, float("nan"), 1.0))
    with tw.CudaGraph.scope(gpu.new_stream()) as scope:
        scope.record(add(z.partition_mut(TILE), x, one))
        scope.record(add(x.partition_mut(TILE), z, one))
    scope.graph.launch().sync()
    return scope.graph, x


def test_runs_on_gpus_follow_each_other_on_other_streams(
    gpu: Any, looked_at: list[GraphLaunch]
) -> None:
    graph, x = counter_on(gpu)
    looked_at.clear()
    for k in range(4):
        graph.launch().sync_on(gpu.new_stream())
        graph.launch().sync()
        graph.launch().start()
        gpu.synchronize()
        np.testing.assert_array_equal(x.to_numpy(), np.full(20, 2.0 * (3 * k + 4), "f4"))
    assert looked_at == []


def test_threads_replay_one_graph_on_a_gpu(gpu: Any, looked_at: list[GraphLaunch]) -> None:
    graph, x = counter_on(gpu)
    looked_at.clear()

    def work() -> None:
        stream = gpu.new_stream()
        for k in range(12):
            (graph.launch().sync_on if k % 2 else graph.launch().start_on)(stream)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.to_numpy(), np.full(20, 2.0 * (4 * 12 + 1), "f4"))
    assert len(looked_at) < 4 * 12  # some came behind a run on a stream that was not idle


def test_a_thread_waits_for_its_turn_on_a_gpu(gpu: Any) -> None:
    graph, x = counter_on(gpu)
    op, went = graph.launch(), threading.Event()

    def work() -> None:
        op.sync()
        went.set()

    thread = threading.Thread(target=work)
    with graph._replay._turn:
        thread.start()
        assert not went.wait(0.05)
    thread.join(10)
    assert went.is_set()
    np.testing.assert_array_equal(x.to_numpy(), np.full(20, 4.0, "f4"))
