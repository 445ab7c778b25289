"""The command behind `make gpubench`: measures on this machine's GPU.

Writes gpu.json, gpu.md and, where matplotlib is installed, gpu.png; `--draw` makes the last two of
a JSON file that was measured elsewhere. Results go to build/bench, or where --out says.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .. import peers
from ..__main__ import TRIALS
from ..machine import describe, version
from .case import OURS
from .contest import Record, contest, warm_up
from .ours import as_torchs
from .plot import draw
from .report import Report, from_json, markdown, reached, to_json
from .rows import ROWS
from .timing import ROUNDS

LIBRARIES = ("triton", "cuda-tile", "nvidia-cuda-tileiras")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--all", action="store_true", help="every row, not only the usual ones")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="part of a name")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=0.0, help="start no row after so long")
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--draw", type=Path, metavar="JSON", help="only draw what was measured")
    parser.add_argument(
        "--warm", type=int, default=0, metavar="N", help="compile first, N at a time"
    )
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    return parser.parse_args(arguments)


def chosen(given: argparse.Namespace) -> list[str]:
    """The rows that were asked for, the usual ones first: there may be no time for all."""
    if given.only:
        return [name for name in ROWS if any(part in name for part in given.only)]
    wanted = [name for name, row in ROWS.items() if row.usual or given.all]
    return sorted(wanted, key=lambda name: not ROWS[name].usual)


def machine() -> dict[str, str]:
    """What a reader must know to judge the figures."""
    lib = peers.torch()
    described = describe()
    return {
        "date": described["date"],
        "gpu": lib.cuda.get_device_name(),
        "cuda": str(lib.version.cuda),
        "torch": str(lib.__version__),
        **{name: version(name) for name in LIBRARIES},
        "commit": described["commit"],
    }


def measure(names: Sequence[str], given: argparse.Namespace, place: Path) -> Report:
    """Run the rows, writing after each what there is."""
    report = Report(machine(), [])
    begin = time.monotonic()
    for number, name in enumerate(names, 1):
        if given.seconds and time.monotonic() - begin > given.seconds:
            print(f"no time left for {len(names) - number + 1} rows", file=sys.stderr)
            break
        with as_torchs():
            record = contest(ROWS[name], given.rounds)
        report.records.append(record)
        print(f"{number}/{len(names)} {line(record)}", flush=True)
        (place / "gpu.json").write_text(to_json(report), encoding="utf-8")
    report.records.sort(key=lambda record: list(ROWS).index(record.name))
    return report


def compile_first(arguments: Sequence[str], processes: int) -> None:
    """Fill the caches of all contestants: compilers take far longer than what is measured."""
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments, "--part"]
    children = [subprocess.Popen([*command, str(part)]) for part in range(processes)]
    for child in children:
        child.wait()


def line(record: Record) -> str:
    """A row for whoever waits."""
    rates = "  ".join(f"{name} {rate:.3g}" for name, rate in record.rates.items())
    best = reached(record)
    lost = "".join(f"  ({name}: {why[:90]})" for name, why in record.absent.items())
    return f"{record.name}: {rates}{f'  = {best:.2f}' if best else ''}{lost}"


def write(report: Report, place: Path) -> None:
    """Write all forms of a report."""
    (place / "gpu.json").write_text(to_json(report), encoding="utf-8")
    (place / "gpu.md").write_text(markdown(report), encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        draw(report, place / "gpu.png")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 if all our kernels were right."""
    given = parse(arguments)
    names = chosen(given)
    if given.list or not names:
        print("\n".join(names))
        return 0 if given.list else 2
    place = given.out or TRIALS
    place.mkdir(parents=True, exist_ok=True)
    if given.draw is not None:
        write(from_json(given.draw.read_text(encoding="utf-8")), place)
        return 0
    if given.part is not None:
        with as_torchs():
            for name in names[given.part :: given.warm]:
                warm_up(ROWS[name])
        return 0
    if given.warm:
        compile_first(sys.argv[1:] if arguments is None else arguments, given.warm)
    report = measure(names, given, place)
    write(report, place)
    wrong = [r.name for r in report.records if OURS in r.absent]
    print(f"results are in {place}" + (f"; ours failed: {', '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
