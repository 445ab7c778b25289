"""Draw a trace: what each thread and stream does over time, and the memory of the pools (SVG)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from zlib import crc32

from ..op.trace import Entry, MemorySample, Trace
from ..op.trace_links import PRECEDES, links_of
from .subcommand import in_bytes

WIDTH, MARGIN, LABELS = 1200, 24, 150
LANE, BAR, HEAD, CHART = 34, 22, 76, 90
"""Heights of a lane, of a bar in it, of the title with the axis, and of a chart of memory."""
LEAST = 0.8
"""Width of the narrowest bar that is drawn."""
PER_LETTER = 6.6
"""Width of a letter in a bar."""
MOST_BARS, MOST_ARROWS = 4000, 400
"""Bars that are drawn, the longest ones, and arrows."""
KINDS = ("op", "compile", "work", "host wait", "stream wait")
NOT_WORK = ("wait", "compile")
STYLE = """
  .page{fill:#fff}.text{fill:#1c2430}.faint{fill:#66707f}.line{stroke:#d9dee6}.lane{fill:#f5f7fa}
  .wait{fill:#c3cad6}.compile{fill:#f0dfb4}.on{fill:#fff}.used{fill:#4c78d0;fill-opacity:.75}.kept{fill:#4c78d0;fill-opacity:.22}
  .arrow{fill:none;stroke:#c2562c;stroke-width:1.2}
  text{font:12px ui-sans-serif,system-ui,sans-serif}.title{font-size:16px;font-weight:600}
  @media (prefers-color-scheme:dark){.page{fill:#14181f}.text{fill:#e6eaf0}.faint{fill:#93a0b2}
  .line{stroke:#2c3442}.lane{fill:#1b212b}
  .wait{fill:#465064}.compile{fill:#4d4224}}"""


def draw(trace: Trace, title: str) -> str:
    """Return the picture of a trace."""
    entries = [entry for entry in trace.entries if entry.kind in KINDS]
    times = [t for e in entries for t in (e.start, e.end)] + [s.time for s in trace.memory]
    scale = Scale(min(times, default=0), max(times, default=1))
    lanes = _lanes(entries)
    pools = _pools(trace.memory)
    height = HEAD + LANE * len(lanes) + CHART * len(pools) + MARGIN
    y, body = HEAD, scale.axis(height)
    places: dict[Entry, int] = {}
    for label, members in lanes:
        body += _lane(label, members, y, scale)
        places.update(dict.fromkeys(members, y))
        y += LANE
    body += _arrows(entries, places, scale)
    for name, samples in pools.items():
        body += _chart(name, samples, y, scale)
        y += CHART
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}"><style>{STYLE}</style><rect class="page" width="100%" height="100%"/>'
    )
    name = f'<text class="text title" x="{MARGIN}" y="34">{escape(title)}</text>'
    return "\n".join([head, name, *body, "</svg>\n"])


class Scale:
    """From times to places."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.length = begin, max(end - begin, 1)

    def x(self, time: int) -> float:
        """Return the place of a time."""
        room = WIDTH - LABELS - 2 * MARGIN
        return LABELS + MARGIN + room * (time - self.begin) / self.length

    def axis(self, height: int) -> list[str]:
        """Return the lines of round times with their numbers."""
        unit, size = next((u, s) for u, s in UNITS if self.length >= 2 * s)
        step, lines = round_step(self.length / 8), list[str]()
        for number in range(int(self.length // step) + 1):
            x = self.x(self.begin + int(number * step))
            lines.append(
                f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 10}"'
                f' y2="{height - MARGIN}"/><text class="faint" x="{x:.1f}" y="{HEAD - 16}"'
                f' text-anchor="middle">{number * step / size:g} {unit}</text>'
            )
        return lines


UNITS = (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 0.5))


def round_step(least: float) -> float:
    """Return the first of 1, 2, 5, 10, ... that is not less.

    >>> round_step(3.0), round_step(70), round_step(0.6)
    (5.0, 100.0, 1.0)
    """
    step = 1.0
    for factor in (2, 2.5, 2) * 20:
        if step >= least:
            break
        step *= factor
    return step


def _lanes(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Return the entries of each thread, then of each stream; waits of the host are on threads."""
    threads: dict[str, list[Entry]] = {}
    streams: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.stream is not None and entry.kind in ("work", "stream wait"):
            label = f"{entry.stream.device.name} stream {entry.stream.number}"
            streams.setdefault(label, []).append(entry)
        else:
            threads.setdefault(entry.thread, []).append(entry)
    in_order = sorted(streams, key=lambda label: _number(streams[label][0]))
    return [*threads.items(), *((label, streams[label]) for label in in_order)]


def _number(entry: Entry) -> tuple[str, int]:
    assert entry.stream is not None
    return entry.stream.device.name, entry.stream.number


def _lane(label: str, members: Sequence[Entry], y: int, scale: Scale) -> list[str]:
    width = WIDTH - 2 * MARGIN
    lines = [
        f'<rect class="lane" x="{MARGIN}" y="{y + 2}" width="{width}" height="{LANE - 4}" rx="4"/>',
        f'<text class="text" x="{MARGIN + 8}" y="{y + 21}">{escape(label)}</text>',
    ]
    longest = sorted(members, key=lambda e: e.start - e.end)[:MOST_BARS]
    # What is inside of another entry is drawn on it.
    lines += [_bar(entry, y, scale) for entry in longest]
    return lines


def _bar(entry: Entry, y: int, scale: Scale) -> str:
    x, top = scale.x(entry.start), y + (LANE - BAR) / 2
    width = max(scale.x(entry.end) - x, LEAST)
    kind = entry.kind.rpartition(" ")[2]
    colour = f'class="{kind}"' if kind in NOT_WORK else f'fill="{colour_of(entry.name)}"'
    rest = f' height="{BAR}" rx="2" {colour}><title>{escape(about(entry))}</title></rect>'
    bar = f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}"{rest}'
    letters = int((width - 8) / PER_LETTER)
    name = f"compile {entry.name}" if kind == "compile" else entry.name
    if letters < min(len(name), 4):
        return bar
    name = name if len(name) <= letters else f"{name[: letters - 1]}…"
    style = "faint" if kind in NOT_WORK else "on"
    return f'{bar}<text class="{style}" x="{x + 4:.1f}" y="{y + 21}">{escape(name)}</text>'


def _arrows(entries: Sequence[Entry], places: Mapping[Entry, int], scale: Scale) -> list[str]:
    """Return arrows from work to what waited for it on another stream."""
    found = [link for link in links_of(entries) if link.kind == PRECEDES][:MOST_ARROWS]
    lines: list[str] = []
    for _, source, target in found:
        x, end = scale.x(source.end), scale.x(target.start)
        y, low = places[source] + LANE / 2, places[target] + LANE / 2
        bend = max((end - x) / 2, 14)
        lines.append(
            f'<path class="arrow" d="M{x:.1f} {y:.0f}C{x + bend:.1f} {y:.0f} {end - bend:.1f}'
            f' {low:.0f} {end:.1f} {low:.0f}"><title>{escape(target.name)} waits for'
            f" {escape(source.name)}</title></path>"
        )
    return lines


def colour_of(name: str) -> str:
    """Return a colour for a name, the same in all pictures."""
    number = crc32(name.encode())
    return f"hsl({number % 360},{45 + number // 360 % 20}%,{42 + number // 7200 % 10}%)"


def about(entry: Entry) -> str:
    """Return the text that is shown for an entry."""
    text = f"{entry.name}: {(entry.end - entry.start) / 1e3:.1f} us ({entry.kind})"
    if entry.traffic is None:
        return text
    if entry.traffic.grid:
        text += f", grid {'x'.join(map(str, entry.traffic.grid))}"
    text += f", reads {in_bytes(entry.traffic.read)}, writes {in_bytes(entry.traffic.written)}"
    return text if entry.bandwidth is None else f"{text}, {entry.bandwidth / 1e9:.1f} GB/s"


def _pools(memory: Sequence[MemorySample]) -> dict[str, list[MemorySample]]:
    pools: dict[str, list[MemorySample]] = {}
    for sample in memory:
        pools.setdefault(sample.device.name, []).append(sample)
    return pools


def _chart(name: str, samples: Sequence[MemorySample], y: int, scale: Scale) -> list[str]:
    most = max(max(s.reserved, s.used) for s in samples) or 1
    base, room = y + CHART - 14, CHART - 30
    kept = _steps([(s.time, s.reserved) for s in samples], most, base, room, scale)
    used = _steps([(s.time, s.used) for s in samples], most, base, room, scale)
    high = max(s.used for s in samples)
    return [
        f'<text class="text" x="{MARGIN + 8}" y="{y + 32}">memory of {escape(name)}</text>',
        f'<text class="faint" x="{MARGIN + 8}" y="{y + 50}">used {in_bytes(high)}</text>',
        f'<text class="faint" x="{MARGIN + 8}" y="{y + 66}">of {in_bytes(most)}</text>',
        f'<path class="kept" d="{kept}"/><path class="used" d="{used}"/>',
    ]


def _steps(points: Sequence[tuple[int, int]], most: int, base: int, room: int, scale: Scale) -> str:
    """Return the outline of a step function, down to its base."""
    path = [f"M{scale.x(points[0][0]):.1f} {base}"]
    for time, value in points:
        path.append(f"H{scale.x(time):.1f}V{base - room * value / most:.1f}")
    return "".join([*path, f"H{WIDTH - MARGIN}V{base}Z"])
