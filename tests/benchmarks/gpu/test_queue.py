"""Small and large products from one queue: each way takes each of them once."""

from __future__ import annotations

import asyncio

import pytest

import tilewright as tw
from benchmarks.gpu import queue
from benchmarks.host.report import Report, from_json, markdown, to_json
from benchmarks.timing import Effort

MIX = queue.Mix(small=16, large=32, units=10, tile=(16, 16))


class Counting(queue.Worker):
    """Notes what it was asked for."""

    seen: list[int]

    def product(self, size):
        self.__dict__.setdefault("seen", []).append(size)
        return super().product(size)


def test_the_queue_is_always_the_same():
    sizes = MIX.queue()
    assert sorted(sizes) == [16] * 8 + [32] * 2 and sizes == MIX.queue()


@pytest.mark.parametrize("way", ["serial", "threaded", "tasks"])
def test_each_way_takes_each_product_once(way):
    workers = [Counting(MIX) for _ in range(3)]
    for worker in workers:
        worker.seen.clear()
    done = getattr(queue, way)(workers, MIX.queue(), 0)
    if done is not None:
        asyncio.run(done)
    tw.synchronize()
    assert sorted(size for worker in workers for size in worker.seen) == sorted(MIX.queue())


def test_the_tables_have_a_column_for_each_way(monkeypatch):
    monkeypatch.setattr(queue, "STREAMS", (1, 2))
    monkeypatch.setattr(queue, "HOST_WORK", (0, 3))
    monkeypatch.setattr("benchmarks.host.probes.TURN", 0.0)
    report = Report({}, list(queue.tables(MIX, Effort(seconds=0.0, rounds=1))), stem="queue")
    tw.synchronize()
    for table in report.tables:
        assert table.columns == ["serial", "threads", "tasks"] and len(table.rows) == 2
    assert markdown(from_json(to_json(report))) == markdown(report)
