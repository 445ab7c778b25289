"""The experiments, each a function that gives a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, cast

import tilewright as tw

from ..data import poison, random
from ..records import Figures
from ..timing import Effort
from . import kernels
from .forms import forms
from .importing import importing
from .probes import Probe, measured, repeated
from .report import Goal, Table
from .work import SMALL, WIDTH, Loop, built, chain, placed, replays, small, started, wide

Experiment: TypeAlias = Callable[[Effort], Table]

LAUNCH_GOAL = 15e-6
"""Seconds of a warm launch of three tensors, at most."""
SLOPE_GOAL = 0.3e-6
"""Seconds for each further tensor, at most."""
NODE_GOAL = 0.25
"""Of a launch, for a node of a graph, at most."""
GPU_NODE_GOAL = 1.2e-6
"""Seconds of a node of a long graph on a GPU, at most."""


@contextmanager
def event_loop() -> Generator[Loop, None, None]:
    """A loop for one experiment."""
    loop = Loop()
    try:
        yield loop
    finally:
        loop.close()


def arguments(effort: Effort) -> Table:
    """A launch by its number of tensors."""
    rows = {str(n): measured(_endings(n), effort) for n in kernels.SUMS}
    least, most = min(kernels.SUMS), max(kernels.SUMS)
    grown = rows[str(most)]["sync"].minimum - rows[str(least)]["sync"].minimum
    goals = (
        Goal("us of a launch of 3 tensors", rows["3"]["sync"].minimum * 1e6, LAUNCH_GOAL * 1e6),
        Goal("us for each further tensor", grown / (most - least) * 1e6, SLOPE_GOAL * 1e6),
    )
    return Table(
        "host_arguments", "A launch by its tensors",
        f"One kernel over {SMALL} elements: building the op; building it, running it and waiting;"
        " building and starting it, while others run it. Reading another tensor takes the"
        " kernel itself some of the time.",
        "tensors", rows, goals=goals if _on_host() else (),
    )  # fmt: skip


def _endings(count: int) -> dict[str, Probe]:
    kernel, given = kernels.SUMS[count], small(count)
    return {
        "build": built(lambda: kernel(*given)),
        "sync": repeated(lambda: kernel(*given).sync()),
        "start": started(lambda: kernel(*given)),
    }


CHAINS = (10, 1000)
MANY = 100
"""Nodes beyond which the start of a graph on a GPU does not count."""


def chains(effort: Effort) -> Table:
    """A chain, and replays of one."""
    rows = {f"{n} ops": measured(_ways(n), effort) for n in CHAINS}
    goals = [_node_goal(n, rows[f"{n} ops"]) for n in CHAINS if _on_host() or n > MANY]
    return Table(
        "host_graph", "Chains and graphs",
        f"Launches of three tensors of {SMALL} elements one after the other; all of them.",
        "length", rows, goals=goals,
    )  # fmt: skip


def _node_goal(length: int, cells: Mapping[str, Figures]) -> Goal:
    """A node against a launch; on a GPU, which has its own time between kernels, by the clock."""
    replay = cells["graph replay"].minimum
    if _on_host():
        share = replay / cells["sync each"].minimum
        return Goal(f"a node of {length} against a launch", share, NODE_GOAL)
    return Goal(f"us of a node of {length}", replay / length * 1e6, GPU_NODE_GOAL * 1e6)


def _on_host() -> bool:
    return tw.default_device().host_visible


def _ways(length: int) -> dict[str, Probe]:
    kernel, given = kernels.SUMS[3], small(3)

    def each() -> None:
        for _ in range(length):
            cast("tw.DeviceOp[Any]", kernel(*given)).sync()

    return {
        "sync each": repeated(each),
        "chained, one sync": repeated(lambda: chain(kernel, given, length).sync()),
        "graph replay": repeated(replays(kernel, small(3), length)),
    }


def awaiting(effort: Effort) -> Table:
    """One op, by how it is waited for."""
    kernel, given = kernels.SUMS[3], small(3)
    with event_loop() as loop:
        probes = {
            "sync": repeated(lambda: kernel(*given).sync()),
            "into_future, result": repeated(lambda: kernel(*given).into_future().result()),
            "await": loop.probe(lambda: kernel(*given)),
        }
        rows = {"a launch": measured(probes, effort)}
    return Table(
        "host_await", "Waiting and awaiting",
        "A launch of three tensors: on the calling thread; by a future, where another thread runs"
        " it and wakes this one; in a task of asyncio.",
        "", rows,
    )  # fmt: skip


STREAMS = 4
ELEMENTS = 1 << 15


def streams(effort: Effort) -> Table:
    """The same work on one stream and on several."""
    some = [tw.default_device().new_stream() for _ in range(STREAMS)]
    rows = {
        f"{STREAMS} launches of {blocks}": measured(
            {
                "one stream": repeated(partial(_spread, _pieces(tile), some[:1])),
                f"{STREAMS} streams": repeated(partial(_spread, _pieces(tile), some)),
            },
            effort,
        )
        for blocks, tile in (("1 block", ELEMENTS), ("16 blocks", ELEMENTS // 16))
    }
    return Table(
        "host_streams", "Streams that overlap",
        "The same work on one stream and on several. Launches of one block keep one core busy, so"
        " only other streams can use the others; those of many blocks use all cores by themselves.",
        "work", rows,
    )  # fmt: skip


def _pieces(tile: int) -> list[tuple[Any, Any]]:
    """Outputs and inputs that have nothing to do with each other."""
    return [
        (placed(poison((ELEMENTS,))).partition_mut(tile), placed(random((ELEMENTS,))))
        for _ in range(STREAMS)
    ]


def _spread(pieces: list[tuple[Any, Any]], streams: list[Any]) -> None:
    """Start each piece on the next stream, then wait for all."""
    for i, (z, x) in enumerate(pieces):
        kernels.busy(z, x).start_on(streams[i % len(streams)])
    for stream in streams:
        stream.synchronize()


LENGTHS = (1, 2, 3, 5, 10, 30, 100, 300, 1000)


def modes(effort: Effort) -> Table:
    """So many launches, in four ways."""
    with event_loop() as loop:
        rows = {str(n): measured(_modes(n, loop), effort) for n in LENGTHS}
    return Table(
        "host_modes", "Execution modes",
        f"N launches of y = x * g, {WIDTH} numbers of f16; all of them.", "N", rows,
    )  # fmt: skip


def _modes(length: int, loop: Loop) -> dict[str, Probe]:
    kernel, given = kernels.scale, wide()

    def each() -> None:
        for _ in range(length):
            cast("tw.DeviceOp[Any]", kernel(*given)).sync()

    return {
        "sync each": repeated(each),
        "chained, one sync": repeated(lambda: chain(kernel, given, length).sync()),
        "then-chain, one await": loop.probe(lambda: chain(kernel, given, length)),
        "graph replay": repeated(replays(kernel, wide(), length)),
    }


SPINS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
NODES = 300


def overlap(effort: Effort) -> Table:
    """A graph, and work of the host beside it."""
    graph = chain(kernels.scale, wide(), NODES).graph()
    with event_loop() as loop:

        async def beside(microseconds: int) -> None:
            future = graph.launch().into_future()
            spin(microseconds)
            await future

        def after(microseconds: int) -> None:
            graph.launch().sync()
            spin(microseconds)

        rows = {
            str(w): measured(
                {
                    "sync": repeated(partial(after, w)),
                    "async": loop.probe(partial(beside, w)),
                },
                effort,
            )
            for w in SPINS
        }
    return Table(
        "host_overlap", "Overlap with work of the host",
        f"Rounds a second: a graph of {NODES} launches of y = x * g, and W microseconds of Python"
        " code, after it or meanwhile.",
        "W", rows, per_second=True,
    )  # fmt: skip


def spin(microseconds: int) -> None:
    """Keep the calling thread busy, in Python."""
    end = time.perf_counter_ns() + 1000 * microseconds
    while time.perf_counter_ns() < end:
        pass


EXPERIMENTS: dict[str, Experiment] = {
    "host_import": importing,
    "host_forms": forms,
    "host_arguments": arguments,
    "host_graph": chains,
    "host_await": awaiting,
    "host_streams": streams,
    "host_modes": modes,
    "host_overlap": overlap,
}
