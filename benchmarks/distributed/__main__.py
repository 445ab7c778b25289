"""Programs of several processes beside the same programs in plain torch.distributed, in one run.

    python -m benchmarks.distributed --processes 2 4

Each process is pinned to one core, and all run on the CPU. In turns they run the same step three
ways (`programs.py`): with kernels and collectives of ours; with the same kernels, and all_reduce of
torch.distributed called directly on their memory; and in torch alone. Between these turns each runs
its steps without any all-reduce, as one process would alone. The efficiency is the time alone over
the time together. It falls where the rest of a step is fast, since all-reduces then take more of
it, so two figures stand beside it: what a step costs more together than alone, and the time
together of ours over torch's, which is what a user waits for. All are given by the least times and
by the median over all rounds: the least times are those of lucky moments, of which two programs
seldom have the same. The last blocks measure all-reduces alone, whose figures calibrate the model
of `benchmarks.scale`, and those of many small tensors.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import Tensor
from tilewright.distributed import all_reduce

from .programs import PROGRAMS

ROOT = Path(__file__).parent.parent.parent
STEPS = 2
SIZES = [1 << n for n in range(10, 25, 2)]
"""Bytes of the all-reduces that are measured alone."""
CALLS = 40
GRADIENTS = [(1 << 12) + n for n in range(32)]
"""Elements of the small tensors that are reduced after each other, or together."""
KINDS = ("alone", "together")

Times = dict[str, dict[str, list[float]]]
"""Seconds of a step in each round, by way and kind."""


def worker(rank: int, size: int, port: int, width: int, rows: int, rounds: int) -> None:
    """Measure as one of the processes, and print what was found."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    address = f"tcp://127.0.0.1:{port}"
    group = tw.distributed.init("gloo", address=address, rank=rank, size=size)
    with tw.device("cpu"), group:
        steps = {
            name: _measured(torch, program(width, rows, size, rank), rounds)
            for name, program in PROGRAMS.items()
        }
        alone, many = _all_reduces(torch), _many(torch)
    if rank == 0:
        print(json.dumps({"size": size, "steps": steps, "all_reduce": alone, "many": many}))


def _measured(torch: Any, program: Any, rounds: int) -> Times:
    """Return the times of a program; that its ways agree is checked first."""
    _check(program)
    found: Times = {name: {kind: [] for kind in KINDS} for name in program.ways}
    for number in range(rounds):
        order = [*program.ways.items()]
        for name, way in order[number % 3 :] + order[: number % 3]:
            for kind in KINDS:
                program.together = kind == "together"
                torch.distributed.barrier()
                found[name][kind].append(_timed(partial(_repeated, way)) / STEPS)
    return found


def _check(program: Any) -> None:
    """Compare what the ways give, with and without all-reduces; the first runs also compile."""
    for program.together in (False, True):
        first, *others = [way() for way in program.ways.values()]
        for other in others:
            for mine, its in zip(first, other, strict=True):
                np.testing.assert_allclose(np.asarray(mine), np.asarray(its), rtol=1e-2, atol=1e-3)


def _repeated(way: Callable[[], object]) -> None:
    for _ in range(STEPS):
        way()


def _all_reduces(torch: Any) -> dict[str, dict[int, float]]:
    """Return the seconds of all-reduces of each size, as ops and as calls."""
    found: dict[str, dict[int, float]] = {"ops": {}, "calls": {}}
    for nbytes in SIZES:
        x, y = tw.zeros((nbytes // 4,)).sync(), torch.zeros(nbytes // 4)
        ways = {"ops": partial(_reduced, x), "calls": partial(torch.distributed.all_reduce, y)}
        for name, taken in _in_turns(ways).items():
            found[name][nbytes] = min(taken)
    return found


def _many(torch: Any) -> dict[str, list[float]]:
    """Return the times of all-reduces of many small tensors: as ops, as one op, and as calls."""
    ours = [tw.zeros((n,)).sync() for n in GRADIENTS]
    theirs = [torch.zeros(n) for n in GRADIENTS]

    def ops() -> None:
        for x in ours:
            all_reduce(x).start()
        tw.synchronize()

    def calls() -> None:
        for pending in [torch.distributed.all_reduce(x, async_op=True) for x in theirs]:
            pending.wait()

    return _in_turns({"ops": ops, "one op": lambda: all_reduce(ours).sync(), "calls": calls})


def _in_turns(ways: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(CALLS):
        for name, way in ways.items():
            times[name].append(_timed(way))
    return times


def _reduced(x: Tensor[Any]) -> None:
    all_reduce(x).sync()


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measured(size: int, width: int, rows: int, rounds: int) -> Any:
    """Run so many processes; what they found."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    settings = os.environ | {"OMP_NUM_THREADS": "1", "TILEWRIGHT_NUM_THREADS": "1"}
    command = [
        sys.executable, "-m", "benchmarks.distributed", "--width", str(width), "--rows", str(rows),
        "--rounds", str(rounds), "--worker", str(size), str(port),
    ]  # fmt: skip
    started = [
        subprocess.Popen([*command, str(rank)], cwd=ROOT, env=settings, stdout=subprocess.PIPE)
        for rank in range(size)
    ]
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit("a process has failed; see above")
    return json.loads(outputs[0])


def figures(of: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    """Return what is known of a way: of the least times, and the median over all rounds."""
    pairs = [*zip(of["alone"], of["together"], strict=True)]
    pairs = [(min(of["alone"]), min(of["together"])), *pairs]
    found = {
        "alone": [alone for alone, _ in pairs],
        "together": [together for _, together in pairs],
        "cost": [together - alone for alone, together in pairs],
        "efficiency": [alone / together for alone, together in pairs],
    }
    return {name: (least, statistics.median(all_)) for name, (least, *all_) in found.items()}


def show(found: Any) -> None:
    """Print the figures of a run."""
    print(
        f"{found['size']} processes; load {os.getloadavg()[0]:.1f}; ms of a step, least and median"
    )
    print(f"{'':14} {'alone':>15} {'together':>15} {'cost':>15} {'efficiency':>15}")
    for program, times in found["steps"].items():
        ways = {name: figures(of) for name, of in times.items()}
        for name, of in ways.items():
            shown = [_pair(of[what], 1e3, "7.2f") for what in ("alone", "together", "cost")]
            print(
                f"{program:7}{name:7} {' '.join(shown)} {_pair(of['efficiency'], 100, '6.1f', '%')}"
            )
        for other in ("calls", "torch"):
            ratio = {
                what: tuple(
                    a / b for a, b in zip(ways["ops"][what], ways[other][what], strict=True)
                )
                for what in ("alone", "together", "efficiency")
            }
            shown = [_pair(ratio[what], 1, "7.3f") for what in ("alone", "together")]
            print(
                f"ops / {other:8} {' '.join(shown)} {'':15} {_pair(ratio['efficiency'], 1, '7.3f')}"
            )
    print(f"\n{'all_reduce':>12} {'op us':>10} {'call us':>10}")
    for nbytes, seconds in found["all_reduce"]["ops"].items():
        calls = found["all_reduce"]["calls"][nbytes]
        print(f"{int(nbytes):12} {seconds * 1e6:10.0f} {calls * 1e6:10.0f}")
    print(f"\n{len(GRADIENTS)} all-reduces of 16 KiB, us, least and median")
    for name, taken in found["many"].items():
        print(f"{name:>12} {min(taken) * 1e6:10.0f} {statistics.median(taken) * 1e6:10.0f}")


def _pair(given: tuple[float, ...], scale: float, form: str, unit: str = "") -> str:
    return " ".join(f"{value * scale:{form}}{unit}" for value in given)


def main() -> None:
    """Measure, print tables and write the figures of the last run."""
    parser = argparse.ArgumentParser(description=__doc__)
    cores = max(2, len(os.sched_getaffinity(0)))
    parser.add_argument("--processes", type=int, nargs="+", default=[cores])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rows", type=int, default=512, help="of each process")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "distributed.json")
    parser.add_argument("--worker", type=int, nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        size, port, rank = asked.worker
        worker(rank, size, port, asked.width, asked.rows, asked.rounds)
        return
    for size in asked.processes:
        found = measured(size, asked.width, asked.rows, asked.rounds)
        show(found)
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
