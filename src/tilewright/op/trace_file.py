"""Write a trace in the Trace Event Format, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from .trace_links import Link, links_of

if TYPE_CHECKING:
    from .trace import Entry, MemorySample, Trace

HOST = 0
"""The number under which viewers show the host's threads; devices follow."""
ON_DEVICE = ("work", "stream wait")
"""Kinds shown in the lane of their stream; all others happen on threads of the host."""
Event: TypeAlias = "dict[str, Any]"


def text_of(trace: Trace) -> str:
    """Return the text of the file."""
    shown = {"displayTimeUnit": "ns", "traceEvents": events_of(trace)}
    return json.dumps(shown)


def events_of(trace: Trace) -> list[Event]:
    """Return the events of the file: names of lanes, spans, and counters of memory."""
    lanes, entries, memory = _Lanes(), list(trace.entries), list(trace.memory)
    times = [entry.start for entry in entries] + [sample.time for sample in memory]
    begin = min(times, default=0)
    spans = [_span(entry, begin, lanes) for entry in entries]
    counters = [_counter(sample, begin, lanes) for sample in memory]
    arrows = [
        event
        for number, link in enumerate(links_of(entries), 1)
        for event in _arrow(number, link, begin, lanes)
    ]
    return [*lanes.names(), *spans, *arrows, *counters]


def _arrow(number: int, link: Link, begin: int, lanes: _Lanes) -> list[Event]:
    """Return both ends of an arrow, at the starts of the spans that it connects.

    Viewers attach an end to the span that has begun last in its lane, even if that one is over.
    """
    source, target = link.source, link.target
    start, end = source.start, max(source.start, target.start)
    return [
        {"ph": "s", **_end(number, link.kind, source, start - begin, lanes)},
        {"ph": "f", "bp": "e", **_end(number, link.kind, target, end - begin, lanes)},
    ]


def _end(number: int, kind: str, entry: Entry, time: int, lanes: _Lanes) -> Event:
    process, lane = lanes.of(entry)
    return {
        "cat": kind, "name": kind, "id": number, "pid": process, "tid": lane, "ts": time / 1e3,
    }  # fmt: skip


def _span(entry: Entry, begin: int, lanes: _Lanes) -> Event:
    process, lane = lanes.of(entry)
    return {
        "ph": "X", "cat": entry.kind, "name": entry.name, "pid": process, "tid": lane,
        "ts": (entry.start - begin) / 1e3, "dur": (entry.end - entry.start) / 1e3,
        "args": _details(entry),
    }  # fmt: skip


def _details(entry: Entry) -> Event:
    found: Event = {} if entry.stream is None else {"stream": repr(entry.stream)}
    traffic = entry.traffic
    if traffic is None:
        return found
    if traffic.grid:
        found |= {"kernel": entry.name, "grid": list(traffic.grid), "target": traffic.target}
    found |= {"bytes read": traffic.read, "bytes written": traffic.written}
    if entry.bandwidth is not None:
        found["GB/s"] = round(entry.bandwidth / 1e9, 3)
    return found


def _counter(sample: MemorySample, begin: int, lanes: _Lanes) -> Event:
    return {
        "ph": "C", "name": "memory", "pid": lanes.process(f"device {sample.device.name}"),
        "tid": 0, "ts": (sample.time - begin) / 1e3,
        "args": {"used": sample.used, "unused": sample.reserved - sample.used},
    }  # fmt: skip


class _Lanes:
    """Numbers for the rows of a viewer: the host's threads, and the streams of each device."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {"host": HOST}
        self._lanes: dict[tuple[str, str], int] = {}

    def process(self, group: str) -> int:
        """Return the number of a group of lanes."""
        return self._processes.setdefault(group, len(self._processes))

    def of(self, entry: Entry) -> tuple[int, int]:
        """Return the numbers of the group and of the lane of an entry."""
        group, row = "host", entry.thread
        if entry.stream is not None and entry.kind in ON_DEVICE:
            group, row = f"device {entry.stream.device.name}", f"stream {entry.stream.number}"
        return self.process(group), self._lanes.setdefault((group, row), len(self._lanes))

    def names(self) -> list[Event]:
        """Return the events that name the groups and the lanes."""
        processes = [
            {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}
            for name, number in self._processes.items()
        ]
        threads = [
            {"ph": "M", "name": "thread_name", "pid": self._processes[group], "tid": lane,
             "args": {"name": row}}
            for (group, row), lane in self._lanes.items()
        ]  # fmt: skip
        order = [
            {"ph": "M", "name": "thread_sort_index", "pid": self._processes[group], "tid": lane,
             "args": {"sort_index": place}}
            for place, ((group, _), lane) in enumerate(sorted(self._lanes.items(), key=_order))
        ]  # fmt: skip
        return [*processes, *threads, *order]


def _order(item: tuple[tuple[str, str], int]) -> tuple[str, int, int]:
    """Return what puts the lanes of a group in order: streams by their numbers."""
    (group, row), lane = item
    number = row.rpartition(" ")[2]
    return group, int(number) if number.isdigit() else -1, lane
