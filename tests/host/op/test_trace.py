from __future__ import annotations

import ctypes
import json
import sys
import time
import types

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from op_kit import Failing, Give, HandStream, HostData
from tilewright.base.errors import ContextError
from tilewright.devices.null import NullDevice
from tilewright.op.core import value
from tilewright.op.outcome import Outcome
from tilewright.op.trace import (
    Tracing,
    Traffic,
    trace,
    trace_begin,
    trace_end,
    trace_submitted,
    trace_wait,
)
from tilewright.op.trace_file import events_of
from tilewright.tensors.pending_work import PendingWork
from tilewright.tensors.submission import commit


@tw.entry
def negate(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


def test_ops_and_host_waits_are_recorded():
    stream, source = HandStream(), HostData()
    source.event.passed.set()
    with trace() as found:
        Give(1).map(str).sync_on(stream)
        source.sync_on(stream)
        Give(2).sync_on(stream)
    kinds = [(entry.kind, entry.name) for entry in found.entries]
    assert kinds == [
        ("op", "Give"), ("host wait", "HostData"), ("op", "HostData"), ("op", "Give")
    ]  # fmt: skip
    assert all(entry.end >= entry.start for entry in found.entries)
    assert found.entries[0].stream is stream
    assert Tracing.active is None


def test_nothing_is_recorded_outside_and_blocks_nest():
    with trace() as outer:
        Give(1).sync()
        with trace() as inner:
            Give(1).sync()
        Give(1).sync()
    Give(1).sync()
    assert (len(outer.entries), len(inner.entries)) == (2, 1)


def test_an_op_that_fails_is_recorded_too():
    with trace() as found, pytest.raises(ValueError, match="no"):
        Failing().sync()
    assert [entry.name for entry in found.entries] == ["Failing"]


def test_the_file_is_a_chrome_trace(tmp_path):
    path, one, two = tmp_path / "trace.json", HandStream(number=1), HandStream(number=2)
    with trace(path):
        value(1).map(str).sync_on(one)
        trace_submitted('neg "quoted"', one)
        trace_wait(two, one.record())
        one.sweep()
    events = json.loads(path.read_text())["traceEvents"]
    names = {
        (e["pid"], e.get("tid")): e["args"]["name"] for e in events if "name" in e.get("args", {})
    }
    spans = [e for e in events if e["ph"] == "X"]
    rows = [(names[e["pid"], None], names[e["pid"], e["tid"]], e["cat"], e["name"]) for e in spans]
    assert rows == [
        ("host", "MainThread", "op", "value"),
        ("device hand", "stream 2", "stream wait", "waits for stream 1"),
        ("device hand", "stream 1", "work", 'neg "quoted"'),
    ]
    assert spans[2]["dur"] >= 0
    assert all(e["ts"] >= 0 for e in spans)


def test_hooks_cost_nothing_when_off():
    stream = HandStream()
    trace_submitted("neg", stream)
    trace_wait(stream, HandStream().record())
    assert stream.due == []


def test_an_empty_trace(tmp_path):
    with trace(tmp_path / "trace.json") as found:
        pass
    assert found.entries == []
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_launches_copies_and_their_order_are_seen():
    device = NullDevice()
    one, two = device.streams()[:2]
    with tw.device(device), trace() as found:
        device.hold()
        x = tw.from_numpy([1.0, 2.0]).start_on(one)
        y = x.dup().start_on(one)
        y.dup().start_on(two)
        device.release()
        device.synchronize()
    rows = [(entry.kind, entry.name, entry.stream.number) for entry in found.entries]
    assert ("stream wait", "waits for stream 0", 1) in rows
    assert {("work", "dup", 0), ("work", "dup", 1)} <= set(rows)


class OwnClock(HandStream):
    """A stream of a device with a clock of its own, which runs ten times as fast."""

    now = 1e9

    def stamp(self):
        OwnClock.now += 5.0
        return At(OwnClock.now)

    def synchronize(self):
        pass


class At:
    def __init__(self, seconds):
        self.seconds = seconds

    def host_time(self):
        return None

    def since(self, earlier):
        return (self.seconds - earlier.seconds) / 10


def test_work_is_timed_by_the_device_where_it_can_tell():
    stream = OwnClock()
    before = time.perf_counter_ns()
    with trace() as found:
        begun = trace_begin(stream)
        trace_submitted("neg", stream, begun, trace_end(stream, begun))
    (entry,) = found.entries
    assert entry.end - entry.start == 500_000_000
    assert before + 500_000_000 <= entry.start <= time.perf_counter_ns() + 500_000_000
    assert trace_begin(stream) is None


class Coarse(OwnClock):
    """A stream of a driver that tells times as numbers of single precision, in milliseconds."""

    def stamp(self):
        return CoarseAt(Coarse.now)


class CoarseAt(At):
    def since(self, earlier):
        return float(np.float32((self.seconds - earlier.seconds) * 1e3)) * 1e-3


def test_times_of_work_are_exact_in_a_long_trace():
    stream = Coarse()
    with trace() as found:
        for _ in range(1200):
            begun = trace_begin(stream)
            Coarse.now += 3e-6
            trace_submitted("neg", stream, begun, trace_end(stream, begun))
            Coarse.now += 1.0
    lengths = [entry.end - entry.start for entry in found.entries]
    assert max(abs(length - 3000) for length in lengths) <= 300
    first, last = found.entries[0], found.entries[-1]
    assert abs((last.start - first.start) / 1e9 - 1199 * (1 + 3e-6)) < 1e-4


@pytest.mark.parametrize("ending", ["entries", "save"])
def test_work_that_has_passed_is_there_though_nobody_asked_its_stream(ending, tmp_path):
    stream, path = HandStream(), tmp_path / "trace.json"
    with trace() as found:
        stream.hold()
        trace_submitted("neg", stream)
        assert found.entries == []
        stream.release()
    if ending == "save":
        found.save(path)
        names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
        assert "neg" in names
    else:
        assert [entry.name for entry in found.entries] == ["neg"]


def test_who_waits_for_work_waits_for_its_time():
    """The event of a piece of work lies behind the stamp that says when it ended."""
    order = []

    class Watched(OwnClock):
        def stamp(self):
            order.append("stamp")
            return super().stamp()

        def record(self):
            order.append("event")
            return super().record()

    stream = Watched()
    with trace():
        pending = PendingWork(stream)
        pending.begun = trace_begin(stream)
        order.clear()
        commit(pending, Outcome((("neg", None),)))
    assert order == ["stamp", "event"]


def test_an_op_with_argument_ops_is_recorded():
    device = NullDevice()
    with tw.device(device), trace() as found:
        x = tw.zeros((4,)).sync()
        tw.memcpy(x, tw.zeros((4,))).sync()
    ops = [entry.name for entry in found.entries if entry.kind == "op"]
    assert ops == ["zeros", "zeros", "memcpy"]


def test_an_op_with_argument_ops_that_fails_is_recorded():
    with trace() as found, pytest.raises(ValueError, match="no"):
        tw.zip(Give(1), Failing()).sync()
    assert [entry.name for entry in found.entries] == ["Give", "Failing", "zip"]


def test_the_bytes_and_the_bandwidth_of_copies_are_known():
    device = NullDevice()
    with tw.device(device), trace() as found:
        tw.from_numpy([1.0, 2.0, 3.0]).sync().dup().sync()
    (dup,) = [entry for entry in found.entries if (entry.kind, entry.name) == ("work", "dup")]
    assert dup.traffic == Traffic(12, 12)
    timed = dup._replace(start=10, end=34)
    assert timed.bandwidth == 1e9
    assert dup._replace(end=dup.start).bandwidth is None
    assert dup._replace(traffic=None).bandwidth is None


def test_launches_know_their_kernel_their_grid_and_their_bytes(tmp_path):
    path = tmp_path / "trace.json"
    with tw.device("reference"), trace(path) as found:
        x = tw.ones((100,)).sync()
        negate(tw.empty((100,)).partition((32,)), x).sync()
    (work,) = [entry for entry in found.entries if (entry.kind, entry.name) == ("work", "negate")]
    assert work.traffic == Traffic(400, 400, (4, 1, 1), "reference")
    events = json.loads(path.read_text())["traceEvents"]
    (shown,) = [e for e in events if e.get("cat") == "work" and e["name"] == "negate"]
    assert shown["args"]["kernel"] == "negate" and shown["args"]["grid"] == [4, 1, 1]
    assert (shown["args"]["bytes read"], shown["args"]["bytes written"]) == (400, 400)
    assert shown["args"]["GB/s"] >= 0


def test_the_memory_of_pools_is_sampled():
    with tw.device("cpu"), trace() as found:
        x = tw.ones((1 << 20,)).sync()
        y = x.dup().sync()
    used = [sample.used for sample in found.memory if sample.device.name == "cpu"]
    assert used[-1] - used[0] >= 4 << 20
    assert all(sample.reserved >= sample.used for sample in found.memory)
    del x, y


NUMBER = (int, float)
REQUIRED = {
    "X": {"name": str, "cat": str, "ts": NUMBER, "dur": NUMBER, "pid": int, "tid": int},
    "C": {"name": str, "ts": NUMBER, "pid": int, "args": dict},
    "s": {"name": str, "cat": str, "id": int, "ts": NUMBER, "pid": int, "tid": int},
    "f": {"name": str, "cat": str, "id": int, "ts": NUMBER, "pid": int, "tid": int},
    "M": {"name": str, "pid": int, "args": dict},
}
"""What the Trace Event Format asks of each phase."""


def test_the_file_keeps_to_the_trace_event_format(tmp_path):
    path = tmp_path / "trace.json"
    with tw.device("cpu"), trace(path):
        tw.ones((1000,)).sync().dup().sync()
    file = json.loads(path.read_text())
    assert file["displayTimeUnit"] == "ns"
    phases = {event["ph"] for event in file["traceEvents"]}
    assert phases == set(REQUIRED)
    for event in file["traceEvents"]:
        for key, kind in REQUIRED[event["ph"]].items():
            assert isinstance(event[key], kind), (key, event)
        assert event.get("dur", 0) >= 0 and event.get("ts", 0) >= 0
        if event["ph"] == "f":
            assert event["bp"] == "e", "an arrow ends at the span around it, not at the next one"
        if event["ph"] == "C":
            assert all(isinstance(value, int) and value >= 0 for value in event["args"].values())
    named = {e["pid"] for e in file["traceEvents"] if e["name"] == "process_name"}
    assert {event["pid"] for event in file["traceEvents"]} == named


def test_arrows_lead_from_ops_to_their_work_and_between_streams(tmp_path):
    path, device = tmp_path / "trace.json", NullDevice()
    one, two = device.streams()[:2]
    with tw.device(device), trace(path):
        device.hold()
        x = tw.from_numpy([1.0, 2.0]).start_on(one)
        x.dup().start_on(one).dup().start_on(two)
        device.release()
        device.synchronize()
    events = json.loads(path.read_text())["traceEvents"]
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert begins.keys() == ends.keys() and len(begins) > 1
    found = set()
    for number, begin in begins.items():
        end = ends[number]
        assert begin["cat"] == end["cat"] and begin["ts"] <= end["ts"]
        found.add((begin["cat"], *(lanes[e["pid"], e["tid"]] for e in (begin, end))))
        for event in (begin, end):
            assert any(
                e["ph"] == "X" and (e["pid"], e["tid"]) == (event["pid"], event["tid"])
                and e["ts"] <= event["ts"] + 1e-3 and event["ts"] <= e["ts"] + e["dur"] + 1e-3
                for e in events
            ), "an arrow has a span at both of its ends"  # fmt: skip
    assert ("precedes", "stream 0", "stream 1") in found
    assert ("enqueues", "MainThread", "stream 1") in found


def test_streams_are_in_the_order_of_their_numbers():
    device = NullDevice()
    with tw.device(device), trace() as recorded:
        for stream in device.streams()[:3][::-1]:
            tw.from_numpy([1.0]).start_on(stream)
        device.synchronize()
    events = events_of(recorded)
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    ranks = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    streams = [name for lane, name in sorted(names.items(), key=lambda item: ranks[item[0]])]
    assert [name for name in streams if name.startswith("stream")] == sorted(
        name for name in streams if name.startswith("stream")
    )


# --- NVTX --------------------------------------------------------------------------------------


def test_ops_are_ranges_of_nvtx(monkeypatch):
    ranges = []
    domain = types.SimpleNamespace(
        get_event_attributes=lambda message: message,
        push_range=ranges.append,
        pop_range=lambda: ranges.append(None),
    )
    wheel = types.SimpleNamespace(get_domain=lambda name: domain)
    monkeypatch.setitem(sys.modules, "nvtx", wheel)
    with trace(nvtx=True):
        Give(1).sync()
        with pytest.raises(ValueError, match="no"):
            Failing().sync()
    assert ranges == ["Give", None, "Failing", None]


def test_nvtx_of_the_library_for_c(monkeypatch):
    ranges = []
    library = types.SimpleNamespace(nvtxRangePushA=ranges.append, nvtxRangePop=lambda: None)
    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    with trace(nvtx=True):
        Give(1).sync()
    assert ranges == [b"Give"]


def test_no_nvtx_is_an_error_that_says_what_to_install(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setitem(sys.modules, "nvtx", None)
    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(ContextError, match="NVTX was not found") as caught, trace(nvtx=True):
        pass
    assert caught.value.hint == "pip install nvtx"
    assert Tracing.active is None
