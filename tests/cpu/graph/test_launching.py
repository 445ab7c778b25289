"""Replays on the CPU that the caller waits for: natively, and by a call of Python."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import only_called
from support.lending import lent
from support.numbers import fresh_rng
from tilewright import f32, i32, simt
from tilewright.base import config
from tilewright.devices.cpu.replay import CpuReplay
from tilewright.devices.host import CPU, REFERENCE
from tilewright.op.place import place_of

ROUNDS = 60
TILE = 16


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@simt.kernel
def gathered(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Reads where it is told to, which may be outside."""
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[x[i]]


@simt.kernel
def talking(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = i
        if i == 1:
            print("one", i)


@simt.kernel
def lasting(out: simt.DisjointSlice[f32], turn: simt.Slice[f32]) -> None:
    """Short in its first two turns."""
    i = simt.index_1d()
    if i < len(out):
        rounds: int = 1
        if turn[0] > 2.0:
            rounds = 20_000
        mine: float = f32(i)
        for _ in range(rounds):
            mine = mine * 0.5 + 1.0
        out[i] = mine


class Ways:
    """How replays that somebody waited for went."""

    def __init__(self, *, by_core: bool) -> None:
        self.by_core = by_core
        """Whether the core may run them."""
        self.called = 0
        """How many were enqueued by a call of Python."""

    def begin(self) -> None:
        """Count anew."""
        self.called = 0

    def were_short(self) -> bool:
        """Whether the core has run all replays since then, where it may; else none."""
        return self.by_core == (self.called == 0)


@pytest.fixture(params=["called", "core"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ways]:
    """Replays are run by the core, or are enqueued by a call of Python."""
    ways = Ways(by_core=request.param == "core")
    put_on = CpuReplay.put_on

    def put(self: CpuReplay, stream: Any, *, inline: bool = False) -> Any:
        ways.called += inline
        return put_on(self, stream, inline=inline)

    monkeypatch.setattr(CpuReplay, "put_on", put)
    with nullcontext() if ways.by_core else only_called():
        yield ways


@pytest.fixture(autouse=True)
def on_cpu() -> Any:
    with tw.device("cpu") as found:
        yield found


def vector(size: int, dtype: Any = np.float32) -> tw.Tensor[Any]:
    data = fresh_rng().integers(0, max(size, 1), size).astype(dtype)
    return tw.from_numpy(data).sync()


def poisoned(size: int) -> tw.Tensor[Any]:
    return tw.full((size,), float("nan")).sync()


def same(tensor: tw.Tensor[Any], expected: Any) -> None:
    np.testing.assert_array_equal(tensor.to_numpy(), np.asarray(expected, "f4"))


def counter(size: int, steps: int = 10) -> tuple[tw.CudaGraph[Any], tw.Tensor[Any]]:
    """A graph whose replays add so many ones to a tensor, in as many nodes; an even number."""
    x, z, one = (tw.full((size,), value).sync() for value in (0.0, float("nan"), 1.0))
    with tw.CudaGraph.scope(CPU.new_stream()) as scope:
        for _ in range(steps // 2):
            scope.record(add(z.partition_mut(TILE), x, one))
            scope.record(add(x.partition_mut(TILE), z, one))
    return scope.graph, x


@pytest.mark.parametrize("size", [0, 1, TILE - 1, TILE, TILE + 1, 1009, 100_003])
def test_every_node_runs_once_in_each_replay(ways: Ways, size: int) -> None:
    graph, x = counter(size)
    graph.launch().sync()
    ways.begin()
    for _ in range(3):
        graph.launch().sync()
    assert ways.were_short()
    same(x, np.full(size, 40.0))


@pytest.mark.parametrize("size", [1, TILE - 1, TILE + 1, 257])
def test_what_replays_compute_is_what_the_reference_does(ways: Ways, size: int) -> None:
    a, b = (fresh_rng().random(size).astype("f4") for _ in range(2))
    found = {}
    for device in (CPU, REFERENCE):
        with tw.device(device):
            x, y, z, w = (tw.from_numpy(each.copy()).sync() for each in (a, b, b, b))
            graph = (
                add(z.partition_mut(TILE), x, y)
                .then(lambda z, *_, w=w: scale(w.partition_mut(TILE), z.unpartition(), 0.3))
                .graph()
            )
            for _ in range(3):
                x.copy_from(a).sync()
                w.copy_from(np.full(size, np.nan, "f4")).sync()
                graph.launch().sync()
            found[device.name] = w.to_numpy()
    np.testing.assert_array_equal(found[CPU.name], found[REFERENCE.name])


def test_copies_are_nodes_like_others(ways: Ways) -> None:
    source, x, z = np.zeros(100, "f4"), vector(100), poisoned(100)
    with tw.CudaGraph.scope(CPU.new_stream()) as scope:
        scope.record(x.copy_from(source))
        scope.record(scale(z.partition_mut(TILE), x, 2.0))
    for _ in range(4):
        source[:] = fresh_rng().random(100)
        ways.begin()
        scope.graph.launch().sync()
        same(z, source * 2)
    assert ways.were_short()


def test_a_failure_is_raised_once_and_the_nodes_behind_it_ran(ways: Ways) -> None:
    rows, out = vector(50, np.int32), vector(50, np.int32)
    x, z, one = (tw.full((20,), value).sync() for value in (0.0, float("nan"), 1.0))
    with tw.CudaGraph.scope(CPU.new_stream()) as scope:
        scope.record(gathered(out.borrow_mut(), rows))
        scope.record(add(z.partition_mut(TILE), x, one))
        scope.record(scale(x.partition_mut(TILE), z, 1.0))
    good = rows.to_numpy()
    bad = good.copy()
    bad[7] = 50
    for i in range(3):
        rows.copy_from(good).sync()
        for _ in range(2):
            scope.graph.launch().sync()
        np.testing.assert_array_equal(out.to_numpy(), good[good])
        rows.copy_from(bad).sync()
        for _ in range(2):
            ways.begin()
            op = scope.graph.launch()
            with pytest.raises(tw.LaunchError, match="index out of range in `gathered`") as told:
                op.sync()
            [note] = told.value.__notes__
            assert note.startswith("while running `graph scope.graph`, built at")
            assert op.spent and op._graph is None
        assert ways.were_short()
        same(x, np.full(20, 4.0 * (i + 1)))


def test_what_nodes_print_is_written(ways: Ways, capsys: Any) -> None:
    out = vector(10, np.int32)
    graph = talking(out.borrow_mut()).graph()
    for _ in range(3):
        graph.launch().sync()
    assert capsys.readouterr().out == "one 1\n" * 3
    assert ways.called == 3, "prints are read in Python"


def test_an_op_is_used_once_and_says_where(ways: Ways) -> None:
    graph, x = counter(10)
    graph.launch().sync()
    op = graph.launch()
    op.sync()  # the first
    with pytest.raises(tw.BorrowError, match=r"used by `sync\(\)`") as raised:
        op.sync()
    assert dict(raised.value.places)["used"].text == "op.sync()  # the first"
    assert place_of(op.built).text == "op = graph.launch()"
    same(x, np.full(10, 20.0))


def test_what_was_borrowed_before_is_ended_by_name_and_place(ways: Ways) -> None:
    x, z = vector(20), poisoned(20)
    graph = scale(z.partition_mut(TILE), x, 2.0).graph()
    for _ in range(2):
        graph.launch().sync()
    reader = scale(poisoned(20).partition_mut(TILE), z, 1.0)
    ways.begin()
    graph.launch().sync()  # the end of it
    with pytest.raises(tw.BorrowError, match=r"written by `scale\.graph`") as raised:
        reader.sync()
    assert any(p.text == "graph.launch().sync()  # the end of it" for _, p in raised.value.places)
    assert ways.were_short()


def test_a_refused_replay_ends_no_borrow(ways: Ways) -> None:
    x, z, w = vector(20), poisoned(20), poisoned(20)
    graph = scale(z.partition_mut(TILE), x, 2.0).graph()
    for _ in range(2):
        graph.launch().sync()
    reader = scale(w.partition_mut(TILE), z, 3.0)
    with x.borrow_mut().numpy(), pytest.raises(tw.BorrowError, match=r"`scale\.graph` would read"):
        graph.launch().sync()
    reader.sync()
    same(w, x.to_numpy() * 6)


def test_a_view_of_the_output_blocks_the_next_replay(ways: Ways) -> None:
    x, z = vector(20), poisoned(20)
    graph = scale(z.partition_mut(TILE), x, 2.0).graph()
    for _ in range(2):
        graph.launch().sync()
    view = lent(z)
    with pytest.raises(tw.BorrowError, match=r"`scale\.graph` would write"):
        graph.launch().sync()
    del view
    graph.launch().sync()
    same(z, x.to_numpy() * 2)


def test_arguments_change_between_replays(ways: Ways) -> None:
    x, y, z, w = vector(20), vector(20), poisoned(20), poisoned(20)
    graph = scale(z.partition_mut(TILE), x, 2.0).graph()
    for _ in range(3):
        for target, source, factor in ((z, x, 2.0), (w, y, 3.0)):
            graph.set_args(0, target.partition_mut(TILE), source, factor)
            target.copy_from(np.full(20, np.nan, "f4")).sync()
            for _ in range(2):
                ways.begin()
                graph.launch().sync()
            same(target, source.to_numpy() * np.float32(factor))
    assert ways.were_short()


def test_replays_and_launches_on_one_stream_keep_their_order(ways: Ways) -> None:
    graph, x = counter(1 << 16, 2)
    ten = tw.full((1 << 16,), 10.0).sync()
    stream = CPU.new_stream()
    for _ in range(6):
        scale(x.partition_mut(1 << 12), ten, 1.0).start_on(stream)
        graph.launch().sync_on(stream)
        same(x, np.full(1 << 16, 12.0))


def test_memory_in_use_on_another_stream_is_waited_for(ways: Ways) -> None:
    graph, x = counter(1 << 18, 2)
    ten = tw.full((1 << 18,), 10.0).sync()
    streams = [CPU.new_stream() for _ in range(2)]
    for _ in range(6):
        scale(x.partition_mut(1 << 12), ten, 1.0).start_on(streams[0])
        graph.launch().sync_on(streams[1])
        same(x, np.full(1 << 18, 12.0))


def test_replays_that_are_started_come_before_one_that_is_waited_for(ways: Ways) -> None:
    graph, x = counter(1 << 14)
    streams = [CPU.new_stream() for _ in range(2)]
    for _ in range(5):
        graph.launch().start_on(streams[0])
        graph.launch().start_on(streams[1])
        graph.launch().sync_on(streams[0])
    same(x, np.full(1 << 14, 150.0))


def test_one_that_nobody_waits_for_goes_the_usual_way(ways: Ways) -> None:
    graph, x = counter(10)
    graph.launch().sync()
    ways.begin()
    graph.launch().start()
    graph.launch().into_future().result()
    assert ways.called == 0, "others run them"
    same(x, np.full(10, 30.0))


def in_threads(count: int, work: Any) -> None:
    """Runs something in threads, each with its number, and raises what one of them did."""
    wrong: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            with tw.device("cpu"):
                work(number)
        except BaseException as error:  # the test's own thread tells it
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if wrong:
        raise wrong[0]


@pytest.mark.parametrize("size", [10, 1 << 15])
def test_threads_replay_one_graph(ways: Ways, size: int) -> None:
    graph, x = counter(size)
    streams = [CPU.new_stream() for _ in range(2)]

    def work(number: int) -> None:
        for i in range(ROUNDS):
            graph.launch().sync_on(streams[(number + i) % 2])

    in_threads(4, work)
    same(x, np.full(size, 10.0 * 4 * ROUNDS))


def test_arguments_change_while_another_thread_replays(ways: Ways) -> None:
    """Each replay has the old ones or the new ones, in all of its blocks."""
    size = 1 << 14
    ones, twos = (tw.full((size,), value).sync() for value in (1.0, 2.0))
    z = tw.full((size,), 1.0).sync()
    graph = scale(z.partition_mut(64), ones, 1.0).graph()
    seen: list[Any] = []

    def change(x: tw.Tensor[Any]) -> None:
        try:
            graph.set_args(0, z.partition_mut(64), x, 1.0)
        except tw.BorrowError:  # the other thread has used `z` meanwhile, which ends this cut
            change(x)

    def work(number: int) -> None:
        for i in range(ROUNDS):
            if number == 0:
                change((ones, twos)[i % 2])
            else:
                graph.launch().sync()
                seen.append(np.unique(z.to_numpy()).tolist())

    in_threads(2, work)
    assert all(each in ([1.0], [2.0]) for each in seen)


def lasts(count: int) -> tuple[tw.CudaGraph[Any], tw.Tensor[Any], tw.Tensor[Any]]:
    """A graph that lasts from its third replay on, what it counts replays in, and what it fills."""
    out, x, z, one = poisoned(count), *[tw.full((1,), each).sync() for each in (0.0, 0.0, 1.0)]
    with tw.CudaGraph.scope(CPU.new_stream()) as scope:
        scope.record(add(z.partition_mut(1), x, one))
        scope.record(scale(x.partition_mut(1), z, 1.0))
        for _ in range(2):
            scope.record(lasting(out.borrow_mut(), x))
    return scope.graph, x, out


def test_an_interrupt_ends_a_replay_that_lasts_and_the_graph_goes_on(ways: Ways) -> None:
    """The third replay lasts; it is in native code as nobody else used the graph's memory."""
    count, stream = 1 << 22, CPU.new_stream()
    graph, x, out = lasts(count)
    for _ in range(2):
        x.copy_from(np.zeros(1, "f4")).sync()
        out.copy_from(np.full(count, np.nan, "f4")).sync()
        for _ in range(2):
            graph.launch().sync_on(stream)
        same(out, np.arange(count, dtype="f4") * 0.5 + 1)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        op = graph.launch()
        ways.begin()
        with pytest.raises(KeyboardInterrupt):
            op.sync_on(stream)  # many blocks, a minute
        timer.join()
        assert op.spent and ways.were_short()
    same(x, [3.0])


@pytest.fixture
def on_signal() -> Any:
    """Gives a function that has another called by a signal, soon."""
    timers: list[threading.Timer] = []

    def call(function: Any) -> None:
        signal.signal(signal.SIGUSR1, lambda number, frame: function())
        timers.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)))
        timers[-1].start()

    before = signal.getsignal(signal.SIGUSR1)
    yield call
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGUSR1, before)


def test_the_handler_of_a_signal_cannot_replay_what_it_interrupts(
    ways: Ways, on_signal: Any
) -> None:
    graph, x, _ = lasts(1 << 21)
    for _ in range(2):
        graph.launch().sync()
    inside = "a signal interrupted this thread while it was running"
    for handler, refused in (
        (lambda: graph.launch().sync(), inside if ways.by_core else "cannot be run here"),
        (lambda: graph.set_args(0, x.partition_mut(1), x, x), inside),
    ):
        on_signal(handler)
        op = graph.launch()
        with pytest.raises(tw.Error, match=refused):
            op.sync()
        assert op.spent
        x.copy_from(np.zeros(1, "f4")).sync()
        graph.launch().sync()
        same(x, [1.0])
        x.copy_from(np.full(1, 2.0, "f4")).sync()


@pytest.mark.cpu_alone  # a GPU is done with it before the signal comes
def test_the_handler_of_a_signal_can_start_it(ways: Ways, on_signal: Any) -> None:
    graph, x, out = lasts(1 << 20)
    for _ in range(2):
        graph.launch().sync()
    started: list[Any] = []
    on_signal(lambda: started.append(graph.launch()) or started[0].start())
    if ways.by_core:
        graph.launch().sync()
        same(x, [4.0])
        np.testing.assert_allclose(out.to_numpy(), 2)
    else:  # while Python starts an op no other is
        with pytest.raises(tw.Error, match="cannot be run here"):
            graph.launch().sync()
    assert len(started) == 1


def test_a_graph_that_is_dropped_while_it_runs_is_there_until_it_has_run(ways: Ways) -> None:
    graph, x = counter(1000)
    graph.launch().sync()
    gone, replay = weakref.ref(graph), graph._replay
    op = graph.launch()
    del graph
    op.sync()
    same(x, np.full(1000, 20.0))
    del op, replay
    gc.collect()
    assert gone() is None


def test_how_many_threads_run_it_follows_the_settings(ways: Ways) -> None:
    graph, x = counter(100_003, 2)
    for number in (1, 2, 3, 1):
        with config.override(num_threads=number):
            graph.launch().sync()
            words = [node.record.words for node in graph._replay._listed.nodes]
            assert {each[4] for each in words} == {number}
    same(x, np.full(100_003, 8.0))


def test_nothing_is_left_behind(ways: Ways) -> None:
    graph, x = counter(100)
    for _ in range(3):
        graph.launch().sync()
    gc.collect()
    before = sys.getrefcount(graph), sys.getrefcount(x), sys.getrefcount(graph._replay)
    for _ in range(ROUNDS):
        graph.launch().sync()
    after = sys.getrefcount(graph), sys.getrefcount(x), sys.getrefcount(graph._replay)
    assert after == before
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
