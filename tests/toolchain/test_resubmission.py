"""Plain launches and graphs again and again, and by many threads: nothing is left behind."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
from support.fake_cuda import FakeCuda, names
from support.leaks import assert_none_left
from tilewright.devices.cuda.device import CudaDevice
from tilewright.tensors.pending_work import SUBMISSIONS

from .test_submission import device, double, fake, filled, tensors, warm

__all__ = ["device", "fake", "tensors", "warm"]

ROUNDS = 40


def test_launches_leave_no_references_behind(fake, warm):
    p, x, stream = warm
    watched = [p, x, x.plain, p.ticket, p.tensor, stream, double, double.kernel, (), None, True]

    def all_ways():
        for end in ("start_on", "sync_on"):
            getattr(double(p, x), end)(stream)
            op = double(p, x)
            getattr(op, end)(stream)
            with pytest.raises(tw.BorrowError):
                getattr(op, end)(stream)
            fake.fail("launch", 701)
            with pytest.raises(tw.DriverError):
                getattr(double(p, x), end)(stream)
            ended = double(p, x)
            double(p, x).sync_on(stream)
            with pytest.raises(tw.BorrowError):
                getattr(ended, end)(stream)
        stream.synchronize()
        stream.sweep()

    assert_none_left(all_ways, watched, ROUNDS)


def test_launches_of_graphs_leave_no_references_behind(fake, warm):
    p, x, stream = warm
    z = p.unpartition()
    for call, build in GRAPHS.items():
        graph = build(double(z.partition_mut(8), x)).graph_on(stream)
        graph.launch().sync_on(stream)
        watched = [graph, graph._replay, graph._memory, stream, None, True, ()]

        def all_ways(graph=graph, call=call):
            for end in ("start_on", "sync_on"):
                op = graph.launch()
                assert getattr(op, end)(stream) is None and op.spent
                with pytest.raises(tw.BorrowError, match="already used"):
                    getattr(op, end)(stream)
                fake.fail(call, 701)
                with pytest.raises(tw.DriverError):
                    getattr(graph.launch(), end)(stream)
                with pytest.raises(TypeError):
                    graph.launch(3)
            stream.synchronize()
            stream.sweep()

        assert_none_left(all_ways, watched, ROUNDS)


GRAPHS = {"launch": lambda op: op, "replay": lambda op: op.then(double)}
"""Graphs, by what the driver is asked for at each launch."""


def test_a_graph_is_launched_by_threads(fake, warm, device):
    p, x, stream = warm
    z = p.unpartition()
    graph = double(p, x).graph_on(stream)

    def work(stream):
        for _ in range(40):
            graph.launch().sync_on(stream)

    threads = [threading.Thread(target=work, args=(device.new_stream(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 2)


def test_a_graph_names_the_lines_of_its_launches(warm):
    p, x, stream = warm
    graph = double(p, x).graph_on(stream)
    graph.launch().sync_on(stream)
    op = graph.launch()  # built
    op.start_on(stream)  # used
    with pytest.raises(tw.BorrowError) as raised:
        op.sync_on(stream)
    places = dict(raised.value.places)
    assert places["built"].text.endswith("# built")
    assert places["used"].text.endswith("# used")
    with pytest.warns(RuntimeWarning, match="never run"):
        graph.launch()


def test_work_that_is_not_done_in_time_is_waited_for(fake, warm):
    p, x, stream = warm
    fake.hold(stream)
    releasing = threading.Timer(0.1, fake.release)
    releasing.start()
    assert double(p, x).sync_on(stream) == (p, x)
    releasing.join()
    assert stream.idle()
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


@pytest.mark.parametrize("end", ["start_on", "sync_on"])
def test_who_waits_for_work_to_be_put_there_hears_of_it(warm, monkeypatch, end):
    (p, x, stream), told = warm, []
    monkeypatch.setattr(type(SUBMISSIONS), "notify_all", lambda puts: told.append(puts))

    def tell(build):
        getattr(build(), end)(stream)
        assert not told  # as nobody waits
        monkeypatch.setattr(SUBMISSIONS, "waiting", 1)
        getattr(build(), end)(stream)
        monkeypatch.setattr(SUBMISSIONS, "waiting", 0)
        assert told
        told.clear()

    tell(lambda: double(p, x))
    graph = double(p, x).graph_on(stream)
    graph.launch().sync_on(stream)
    tell(graph.launch)


def test_threads_launch_on_streams_of_their_own(fake, device):
    wrong = []

    def work(x, z):
        stream = device.new_stream()
        for round_ in range(60):
            op = double(z.partition_mut(8), x)
            op.sync_on(stream) if round_ % 3 else op.start_on(stream)
            if round_ % 7 == 0 and not np.array_equal(z.to_numpy(), np.full(8, 6, "f4")):
                wrong.append(round_)

    pairs = [(filled(3), tw.zeros(8).sync()) for _ in range(6)]
    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_one_op_is_launched_by_one_thread(fake, warm):
    p, x, stream = warm
    for _ in range(20):
        op, refused, barrier = double(p, x), [], threading.Barrier(4)
        del fake.log[:]

        def end(op=op, refused=refused, barrier=barrier):
            barrier.wait(10)
            try:
                op.start_on(stream)
            except tw.BorrowError as error:
                refused.append(error)

        threads = [threading.Thread(target=end) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(refused) == 3 and names(fake.log) == ["launch"]


def test_what_is_started_inside_of_a_start_is_refused(warm):
    p, x, stream = warm
    op = double(p, x)
    with pytest.raises(tw.Error, match="may only build ops"):
        tw.value(1).map(lambda _: op.start_on(stream)).sync_on(stream)
    op.start_on(stream)


def test_launches_are_traced(warm):
    p, x, stream = warm
    with tw.trace() as trace:
        double(p, x).sync_on(stream)
    assert any("double" in entry.name for entry in trace.entries)


def test_an_ending_on_a_stream_of_another_device_is_refused(warm):
    p, x, _ = warm
    other = CudaDevice(FakeCuda(), 0).new_stream()
    with pytest.raises(tw.SchedulingError, match="live on another device"):
        double(p, x).start_on(other)
