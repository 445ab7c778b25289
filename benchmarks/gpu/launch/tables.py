"""The tables: a launch by its number of tensors, and many launches and a wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from ...case import NotAvailable
from ...host.experiments import Experiment
from ...host.probes import Probe, measured, repeated
from ...host.report import Goal, Table
from ...host.work import SMALL, inputs
from ...records import Figures
from ...timing import Effort
from ..case import CUTILE, OURS
from .contestants import OF_MANY, OF_ONE, PREPARED, Launcher, Maker, qualified

TENSORS = (1, 2, 4, 8, 16)
LENGTHS = (1, 10, 100, 1000)
SHARES = {1: 1.0, 2: 1.0, 16: 0.5}
"""Of the time of cuTile Python, by the number of tensors, at most."""
NODE_GOAL = 1.2e-6
"""Seconds of a node of the longest graph, at most."""


def started(launcher: Launcher) -> Probe:
    """The host's time to put work on a stream; waiting for it is not counted."""

    def probe(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            launcher.launch()
        end = time.perf_counter()
        launcher.wait()
        return end - begin

    return probe


def waited(launcher: Launcher) -> Probe:
    """The time until the work is done."""
    return repeated(launcher.run)


Qualified: TypeAlias = dict[str, Launcher]


def gathered(
    makers: Mapping[str, Maker], tensors: int, length: int
) -> tuple[Qualified, dict[str, str]]:
    """Those who can take part, and why others cannot."""
    given = inputs(tensors)
    able: Qualified = {}
    absent: dict[str, str] = {}
    for name, make in makers.items():
        try:
            able[name] = qualified(make, given, length)
        except NotAvailable as reason:
            absent[name] = str(reason)
        except Exception as error:  # whatever it is, the others go on and the report shows it
            absent[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return able, absent


Rows: TypeAlias = dict[str, dict[str, Figures]]


def contests(
    makers: Mapping[str, Maker],
    sizes: Mapping[str, tuple[int, int]],
    how: Callable[[Launcher], Probe],
    effort: Effort,
) -> tuple[Rows, dict[str, str]]:
    """A row for each size, of tensors and launches; and who could not take part, and why.

    All rows take turns, so that figures of different rows can be compared, too.
    """
    probes: dict[tuple[str, str], Probe] = {}
    absent: dict[str, str] = {}
    for row, (tensors, length) in sizes.items():
        able, missing = gathered(makers, tensors, length)
        probes.update({(row, name): how(one) for name, one in able.items()})
        absent.update({f"{name}, {row}": why for name, why in missing.items()})
    rows: Rows = {row: {} for row in sizes}
    for (row, name), found in measured(probes, effort).items():
        rows[row][name] = found
    return rows, absent


BY_TENSORS = {str(count): (count, 1) for count in TENSORS}
BY_LENGTH = {str(length): (3, length) for length in LENGTHS}
ABOUT = f"A kernel over {SMALL} elements, its arguments ready."


def starting(effort: Effort) -> Table:
    """A launch that is not waited for, by the number of tensors."""
    rows, absent = contests(OF_ONE, BY_TENSORS, started, effort)
    return Table(
        "launch_start", "Starting a launch",
        f"{ABOUT} The host's time to put it on a stream: `kernel(args).start_on(stream)`;"
        " `graph.launch().start_on(stream)` with a graph of one node, made before;"
        " `ct.launch(stream, grid, kernel, args)`; `kernel[grid](args)`; the driver's call.",
        "tensors", rows, goals=list(_shares(rows)), absent=absent,
    )  # fmt: skip


def waiting(effort: Effort) -> Table:
    """A launch that is waited for."""
    rows, absent = contests(OF_ONE, BY_TENSORS, waited, effort)
    return Table(
        "launch_wait", "Launching and waiting",
        f"{ABOUT} The same until it is done, ours by `sync_on(stream)`.",
        "tensors", rows, goals=list(_shares(rows)), absent=absent,
    )  # fmt: skip


def _shares(rows: Mapping[str, Mapping[str, Figures]]) -> Iterator[Goal]:
    """Ours against cuTile Python, where both are there."""
    for count, most in SHARES.items():
        cells = rows.get(str(count), {})
        for name in (OURS, PREPARED):
            if name in cells and CUTILE in cells:
                share = cells[name].minimum / cells[CUTILE].minimum
                yield Goal(f"{name} with {count} tensors, of {CUTILE}", share, most)


def many(effort: Effort) -> Table:
    """So many launches and a wait."""
    rows, absent = contests(OF_MANY, BY_LENGTH, waited, effort)
    return Table(
        "launch_many", "Many launches and a wait",
        f"N sums of two tensors of {SMALL} elements, then a synchronization; all of them.",
        "N", rows, goals=list(_node(rows)), absent=absent,
    )  # fmt: skip


def _node(rows: Mapping[str, Mapping[str, Figures]]) -> Iterator[Goal]:
    longest = max(LENGTHS)
    cells = rows.get(str(longest), {})
    if PREPARED in cells:
        each = cells[PREPARED].minimum / longest
        yield Goal(f"us of a node of a graph of {longest}", each * 1e6, NODE_GOAL * 1e6)


EXPERIMENTS: dict[str, Experiment] = {
    "launch_start": starting,
    "launch_wait": waiting,
    "launch_many": many,
}
