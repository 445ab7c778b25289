"""`tilewright profile`: where a program's time goes on its devices, as a table and a picture."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from zlib import crc32

from ..op.ambient import device, synchronize
from ..op.trace import Entry, MemorySample, Trace, trace
from ..op.trace_links import PRECEDES, links_of
from .run import find_program, run_program, take_options
from .subcommand import FINE, Subcommand, aligned, in_bytes, say

OPTIONS = ("--device", "--output")
HEAD = ("WORK", "DEVICE", "GRID", "TIMES", "TOTAL", "SHARE", "MEAN", "FASTEST", "BYTES", "GB/s")
RIGHT = ("TIMES", "TOTAL", "SHARE", "MEAN", "FASTEST", "BYTES", "GB/s")
"""Columns of numbers."""
MORE = """\
BYTES are those of the tensors that the work reads and writes, each counted once: GB/s is what the
memory delivers if nothing is read twice, over the time of all runs. The device measures the times.
Compilation and Python are not part of them; the picture shows when they keep a device waiting. The
second run of a program finds its kernels in the cache."""


@dataclass(slots=True)
class Row:
    """All work of one name, on one device, over one grid."""

    name: str
    device: str
    grid: tuple[int, ...]
    nanoseconds: list[int] = field(default_factory=list[int])
    nbytes: int = 0

    @property
    def total(self) -> int:
        """The time of all of it."""
        return sum(self.nanoseconds)

    @property
    def bandwidth(self) -> float:
        """Bytes per nanosecond, which is GB/s; 0 where the time is not known."""
        return self.nbytes / self.total if self.total else 0.0


def rows_of(entries: Iterable[Entry]) -> list[Row]:
    """Return what devices did, the longest first."""
    found: dict[tuple[str, str, tuple[int, ...]], Row] = {}
    for entry in entries:
        if entry.kind != "work" or entry.stream is None:
            continue
        grid = () if entry.traffic is None else entry.traffic.grid
        key = entry.name, entry.stream.device.name, grid
        row = found.setdefault(key, Row(*key))
        row.nanoseconds.append(entry.end - entry.start)
        if entry.traffic is not None:
            row.nbytes += entry.traffic.read + entry.traffic.written
    return sorted(found.values(), key=lambda row: row.total, reverse=True)


def table(rows: Sequence[Row]) -> list[str]:
    """Return the rows as lines."""
    total = sum(row.total for row in rows) or 1
    cells = [HEAD, *[_cells(row, total) for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    columns = list(zip(HEAD, widths, strict=True))
    return aligned([
        [text.rjust(width) if name in RIGHT else text
         for text, (name, width) in zip(line, columns, strict=True)]
        for line in cells
    ])  # fmt: skip


def compilations(entries: Iterable[Entry]) -> list[str]:
    """Return a line for what was compiled meanwhile, or loaded from the cache on disk."""
    times = [entry.end - entry.start for entry in entries if entry.kind == "compile"]
    if not times:
        return []
    return [f"compiled or loaded: {len(times)}, in {in_seconds(sum(times))}"]


def _cells(row: Row, total: int) -> tuple[str, ...]:
    count = len(row.nanoseconds)
    return (
        row.name, row.device, "x".join(map(str, row.grid)) or "-", str(count),
        in_seconds(row.total), f"{100 * row.total / total:.1f} %", in_seconds(row.total / count),
        in_seconds(min(row.nanoseconds)), in_bytes(row.nbytes // count), f"{row.bandwidth:.1f}",
    )  # fmt: skip


def in_seconds(nanoseconds: float) -> str:
    """Format a time.

    >>> in_seconds(850), in_seconds(12_345), in_seconds(7_000_000), in_seconds(2.5e9)
    ('850 ns', '12.3 us', '7.00 ms', '2.50 s')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}" if nanoseconds >= 100 * size else (
                f"{nanoseconds / size:.{2 if nanoseconds < 10 * size else 1}f} {unit}"
            )  # fmt: skip
    return f"{nanoseconds:.0f} ns"


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--device", help="where it runs, as TILEWRIGHT_DEVICE")
    parser.add_argument("--output", metavar="FOLDER",
                        help="where the picture and the trace are written; else here")  # fmt: skip
    parser.add_argument("--nvtx", action="store_true",
                        help="show ops as ranges in NVIDIA's profilers, too")  # fmt: skip
    parser.add_argument("program", help="a file, a folder with a main.py, or an example's name")
    parser.add_argument("arguments", nargs=REMAINDER,
                        help="what the program gets; behind a `--`, whatever it is")  # fmt: skip


def _run(given: Namespace) -> int:
    path = find_program(given.program)
    take_options(given, OPTIONS)
    folder = Path(given.output or ".")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as settings:
        if given.device:
            settings.enter_context(device(given.device))
        with trace(nvtx=given.nvtx) as recorded:
            status = run_program(path, given.arguments)
            synchronize()
    rows = rows_of(recorded.entries)
    if not rows:
        say(f"{path} put no work on a device")
        return status or FINE
    name = path.parent.name if path.name == "main.py" else path.stem
    picture, file = folder / f"{name}.svg", folder / f"{name}.trace.json"
    picture.write_text(draw(recorded, name), encoding="utf-8")
    recorded.save(file)
    say("\n".join([*table(rows), *compilations(recorded.entries)]))
    say(f"picture: {picture}\ntrace:   {file} (open it at https://ui.perfetto.dev)")
    return status


SUBCOMMAND = Subcommand(
    "profile",
    "run a program, and show where the time of its devices goes",
    _add_arguments,
    _run,
    MORE,
)
"""The row of `tilewright profile`."""


# -------------------------------------------------------------------------------------------------
# The picture of a trace (SVG): threads and streams over time, and the memory of the pools.

WIDTH, MARGIN, LABELS = 1200, 24, 150
LANE, BAR, TOP, CHART = 34, 22, 76, 90
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
    height = TOP + LANE * len(lanes) + CHART * len(pools) + MARGIN
    y, body = TOP, scale.axis(height)
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
                f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 10}"'
                f' y2="{height - MARGIN}"/><text class="faint" x="{x:.1f}" y="{TOP - 16}"'
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
