"""`tilewright profile`: where a program's time goes on its devices, as a table and a picture."""

from __future__ import annotations

from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ..op.ambient import device, synchronize
from ..op.trace import Entry, trace
from .run import find_program, run_program, take_options
from .subcommand import FINE, Subcommand, aligned, in_bytes, say
from .timeline_picture import draw

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
