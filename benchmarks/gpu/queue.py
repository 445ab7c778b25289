"""The command `python -m benchmarks.gpu.queue`: small and large products from one queue.

Workers, each with a stream and memory of its own, take products from the queue until it is empty:
one after the other; threads that wait; tasks of one event loop. Writes queue.json, queue.md and,
where matplotlib is installed, queue.png; `--draw` makes the last two of a JSON file.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

import tilewright as tw

from .. import kernels
from ..__main__ import TRIALS
from ..host.experiments import event_loop, spin
from ..host.files import read, write
from ..host.probes import Probe, measured, repeated
from ..host.report import Report, Table, markdown
from ..host.work import Loop
from ..records import Figures
from ..timing import Effort
from .__main__ import machine

Rows: TypeAlias = dict[str, dict[str, Figures]]

STREAMS = (1, 2, 4, 8, 16, 32)
HOST_WORK = (0, 10, 30, 100, 300)
"""Microseconds of Python code before each product."""
HOW = """\
Products a second at best, over samples that are taken in turns, and by the median in brackets. Each
product is waited for before its worker takes the next one.
"""
USUAL = Effort(seconds=0.2, rounds=5)


@dataclass(frozen=True, slots=True)
class Mix:
    """What is in the queue."""

    small: int = 512
    large: int = 2048
    units: int = 400
    share: float = 0.8
    """Of the small ones."""
    tile: tuple[int, int] = (128, 128)

    def queue(self) -> list[int]:
        """Sizes of products, in an order that is always the same."""
        count = round(self.share * self.units)
        sizes = [self.small] * count + [self.large] * (self.units - count)
        random.Random(0).shuffle(sizes)
        return sizes


class Worker:
    """A stream, and what its products are of."""

    def __init__(self, mix: Mix) -> None:
        self.stream = tw.default_device().new_stream()
        self._policy = tw.SingleStream(self.stream)
        self._given = {size: self._memory(mix, size) for size in (mix.small, mix.large)}
        for size in self._given:
            self.product(size).sync_on(self.stream)  # compiles

    def _memory(self, mix: Mix, size: int) -> tuple[Any, ...]:
        x, y = (tw.randn((size, size), tw.f16).sync_on(self.stream) for _ in range(2))
        z = tw.full((size, size), np.nan, tw.f16).sync_on(self.stream)
        return z.partition_mut(mix.tile), x, y

    def product(self, size: int) -> tw.DeviceOp[Any]:
        """One of the queue."""
        given = self._given[size]
        return cast("tw.DeviceOp[Any]", kernels.gemm(*given))

    def run(self, sizes: Iterator[int], work: int) -> None:
        """Take products until there are none, and wait for each."""
        for size in sizes:
            spin(work)
            self.product(size).sync_on(self.stream)

    async def task(self, sizes: Iterator[int], work: int) -> None:
        """The same as a task."""
        for size in sizes:
            spin(work)
            await self.product(size).schedule(self._policy)


def serial(workers: Sequence[Worker], sizes: Sequence[int], work: int) -> None:
    """One worker does all."""
    workers[0].run(iter(sizes), work)


def threaded(workers: Sequence[Worker], sizes: Sequence[int], work: int) -> None:
    """Each worker is a thread."""
    left = iter(sizes)  # a list's, which threads may share
    threads = [threading.Thread(target=each.run, args=(left, work)) for each in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def tasks(workers: Sequence[Worker], sizes: Sequence[int], work: int) -> None:
    """Each worker is a task of one loop."""
    left = iter(sizes)
    await asyncio.gather(*[each.task(left, work) for each in workers])


def ways(
    workers: Sequence[Worker], sizes: Sequence[int], work: int, loop: Loop
) -> dict[str, Probe]:
    """All who empty the same queue."""
    return {
        "serial": repeated(partial(serial, workers, sizes, work)),
        "threads": repeated(partial(threaded, workers, sizes, work)),
        "tasks": loop.probe(partial(tasks, workers, sizes, work)),
    }


def contest(mix: Mix, settings: Mapping[str, tuple[int, int]], effort: Effort) -> Rows:
    """Seconds of a product by how many streams there are, and how much the host does for each."""
    sizes = mix.queue()
    workers = [Worker(mix) for _ in range(max(streams for streams, _ in settings.values()))]
    probes: dict[tuple[str, str], Probe] = {}
    with event_loop() as loop:
        for row, (streams, work) in settings.items():
            for way, probe in ways(workers[:streams], sizes, work, loop).items():
                probes[row, way] = probe
        found = measured(probes, effort)
    rows: Rows = {row: {} for row in settings}
    for (row, way), figure in found.items():
        rows[row][way] = _each(figure, mix.units)
    return rows


def _each(figure: Figures, units: int) -> Figures:
    times = figure.minimum / units, figure.median / units, figure.maximum / units
    return Figures(*times, figure.samples)


def tables(mix: Mix, effort: Effort) -> Iterator[Table]:
    """By streams, and by work of the host."""
    what = (
        f"Products a second: {mix.units} of f16, {mix.share:.0%} of them of {mix.small} and the"
        f" others of {mix.large} rows and columns, in tiles of {mix.tile[0]} x {mix.tile[1]}."
    )
    by_streams = {str(streams): (streams, 0) for streams in STREAMS}
    rows = contest(mix, by_streams, effort)
    yield Table("queue_streams", "By streams", what, "streams", rows, per_second=True)
    most = 16
    by_work = {str(work): (most, work) for work in HOST_WORK}
    rows = contest(mix, by_work, effort)
    about = f"{what} With {most} streams, and W microseconds of Python code before each."
    yield Table("queue_work", "By work of the host", about, "W", rows, per_second=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.queue", description=__doc__)
    parser.add_argument("--seconds", type=float, default=USUAL.seconds, help="for each figure")
    parser.add_argument("--out", type=Path, default=TRIALS, help="folder for the results")
    parser.add_argument("--draw", type=Path, metavar="JSON", help="only draw what was measured")
    given = parser.parse_args(arguments)
    if given.draw is not None:
        write(read(given.draw), given.out)
        return 0
    with tw.device("cuda"):
        found = list(tables(Mix(), Effort(given.seconds, USUAL.rounds)))
    report = Report(
        machine(), found, title="A queue of small and large work", stem="queue", how=HOW
    )
    write(report, given.out)
    print(markdown(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
