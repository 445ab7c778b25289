"""Measure the corpus: `python -m benchmarks.corpus`.

Writes corpus.json after each row, and corpus.md at the end, to build/bench or where --out says; of
a CPU, corpus_cpu.json and corpus_cpu.md.
`--compile` runs nothing: it compiles our kernels for a GPU and tells which of them spill.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import tilewright as tw

from .. import peers
from ..__main__ import TRIALS
from ..gpu.ours import as_torchs
from ..gpu.timing import ROUNDS
from ..machine import describe, version
from ..runner import KEEPS_MEMORY
from . import compiling
from .case import Row, Shape
from .contest import QUICK_ROUNDS, contest, warm_up
from .record import Record
from .report import (
    RIVALS,
    STEMS,
    Report,
    best_rival,
    from_json,
    markdown,
    of_copy,
    ratio,
    title,
    to_json,
)
from .rows import ROWS


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="NAME", help="part of a name, or a family")
    add("--device", choices=sorted(RIVALS), help="default: the GPU, if there is one")
    add("--quick", action="store_true", help="one shape, one type, few rounds")
    add("--small", action="store_true", help="the small shapes of the tests, to try everything out")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--held-out", action="store_true", help="only rows that were set aside")
    which.add_argument("--open", action="store_true", help="only the other rows")
    add("--without", nargs="+", default=[], metavar="WHO", help="contestants to leave out")
    add("--rounds", type=int, help="turns of each contestant")
    add(
        "--seconds",
        type=float,
        default=0.0,
        help="start no row after so long; half of it is for compiling first",
    )
    add("--warm", type=int, default=0, metavar="N", help="compile first, N at a time")
    add("--warm-only", action="store_true", help="compile, and measure nothing")
    add("--part", type=int, help=argparse.SUPPRESS)
    add("--out", type=Path, default=TRIALS, help="folder for the results")
    add("--draw", type=Path, metavar="JSON", help="only write the page of what was measured")
    add("--list", action="store_true", help="name the rows and stop")
    add("--compile", action="store_true", help="only compile ours: seconds, registers, spills")
    add("--arch", default="sm_90", help="what --compile compiles for")
    return parser.parse_args(arguments)


def chosen(given: argparse.Namespace) -> list[Row]:
    """The rows that were asked for."""
    return [
        row
        for row in ROWS.values()
        if (not given.only or any(part in row.name or part == row.family for part in given.only))
        and not (given.held_out and not row.held_out)
        and not (given.open and row.held_out)
    ]


def work(given: argparse.Namespace, device: str) -> list[tuple[Row, Shape, str]]:
    """Rows, shapes and types, the usual shape of every row first: there may be no time for all."""
    rows = chosen(given)
    if given.small:
        return [(row, row.small, dtype) for row in rows for dtype in row.dtypes]
    if given.quick:
        return [(row, *row.usual(device)) for row in rows]
    found = [(row, *case) for row in rows for case in row.cases(device)]
    return sorted(found, key=lambda each: (each[0].usual(device) != each[1:],))


def machine(device: str) -> dict[str, str]:
    """What a reader must know to judge the figures."""
    lib, described = peers.torch(), describe()
    if device == "cpu":
        return described
    return {
        "date": described["date"],
        "gpu": lib.cuda.get_device_name(),
        "cuda": str(lib.version.cuda),
        "torch": str(lib.__version__),
        "triton": version("triton"),
        "nvidia-cuda-tileiras": version("nvidia-cuda-tileiras"),
        "commit": described["commit"],
    }


def measure(given: argparse.Namespace, device: str, begin: float) -> Report:
    """Run the rows, writing after each what there is; the time since `begin` counts."""
    report, todo = Report(machine(device), device, []), work(given, device)
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    for number, (row, shape, dtype) in enumerate(todo, 1):
        passed = time.monotonic() - begin
        if given.seconds and passed > given.seconds:
            print(f"no time left for {len(todo) - number + 1} of {len(todo)}", file=sys.stderr)
            break
        try:
            record = contest(row, shape, dtype, device, given.without, rounds)
        except Exception as error:  # of the data or of torch: the other rows go on
            why = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            record = Record(row.name, row.family, row.held_out, shape, dtype, 0.0, 0.0)
            record.absent["the row"] = why
        report.records.append(record)
        bar = "#" * (20 * number // len(todo))
        done = f"[{bar:<20}] {number}/{len(todo)} {passed:.0f} s"
        print(f"{done}: {line(record, device)}", flush=True)
        (given.out / f"{STEMS[device]}.json").write_text(to_json(report), encoding="utf-8")
    return report


def write_page(report: Report, place: Path) -> None:
    """Write the page of a report."""
    (place / f"{STEMS[report.device]}.md").write_text(markdown(report), encoding="utf-8")


def line(record: Record, device: str) -> str:
    """A row for whoever waits."""
    times = "  ".join(f"{n} {f.median * 1e6:.4g} us" for n, f in record.figures.items())
    found, rival, copy = ratio(record, device), best_rival(record, device), of_copy(record)
    shown = f"  = {found:.2f} of {rival[0]}" if found and rival else ""
    lost = "".join(f"  ({name}: {why[:120]})" for name, why in record.absent.items())
    return f"{title(record)}: {times}{shown}{f', {copy:.2f} of copy' if copy else ''}{lost}"


def compile_first(arguments: Sequence[str], processes: int) -> None:
    """Fill the caches of all contestants: compilers take far longer than what is measured."""
    command = [sys.executable, "-m", "benchmarks.corpus", *arguments, "--part"]
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    children = [
        subprocess.Popen([*command, str(part)], env=environment) for part in range(processes)
    ]
    for child in children:
        child.wait()


def warm_part(given: argparse.Namespace, device: str) -> None:
    """Compile what one of the processes has to."""
    start = time.monotonic()
    for row, shape, dtype in work(given, device)[given.part :: given.warm]:
        begin = time.monotonic()
        if given.seconds and begin - start > given.seconds / 2:
            return
        try:
            warm_up(row, shape, dtype, device, given.without)
        except Exception as error:
            print(f"warm {row.name}: {error}".splitlines()[0][:200], flush=True)
        print(f"warm {row.name} {shape} {dtype}: {time.monotonic() - begin:.1f} s", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if all our kernels were right."""
    given = parse(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    if given.list:
        for row in chosen(given):
            print(f"{row.name} ({row.family}{', held out' if row.held_out else ''})")
        return 0
    if given.draw is not None:
        write_page(from_json(given.draw.read_text(encoding="utf-8")), given.out)
        return 0
    if given.compile:
        return compiling.run(work(given, "cuda"), given.arch, given.out, given.warm or 1)
    device = given.device or ("cuda" if peers.torch().cuda.is_available() else "cpu")
    if arguments is None and device == "cpu" and KEEPS_MEMORY.items() - os.environ.items():
        again = [sys.executable, "-m", "benchmarks.corpus", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, **KEEPS_MEMORY})
    with tw.device(device), as_torchs() if device == "cuda" else nullcontext():
        return _run(given, device, sys.argv[1:] if arguments is None else arguments)


def _run(given: Any, device: str, arguments: Sequence[str]) -> int:
    if given.part is not None:
        warm_part(given, device)
        return 0
    begin = time.monotonic()
    if given.warm:
        compile_first(arguments, given.warm)
        print(f"compiled in {time.monotonic() - begin:.0f} s", flush=True)
    if given.warm_only:
        return 0
    report = measure(given, device, begin)
    write_page(report, given.out)
    wrong = [
        title(r) for r in report.records if any("ours" in n or n == "the row" for n in r.absent)
    ]
    print(f"results are in {given.out}" + (f"; ours failed: {', '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
