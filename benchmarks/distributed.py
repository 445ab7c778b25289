"""Data-parallel training beside the same program in plain torch.distributed, in one run.

    python -m benchmarks.distributed --processes 2

Each process is pinned to one core. In turns they run the same training step three ways: with
kernels and collectives of ours; with the same kernels, and all_reduce of torch.distributed called
directly on their memory; and with torch alone. Between these turns each runs its steps without any
all-reduce, as one process would alone. The efficiency is the time without over the time with them;
of each the least counts, which other work on the machine changes least. The second block measures
all-reduces alone, whose figures calibrate the model of `benchmarks.scale`.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import Tensor, f32
from tilewright.distributed import all_reduce

ROOT = Path(__file__).parent.parent
TILE = (64, 64)
ROUNDS, STEPS = 20, 2
SIZES = [1 << n for n in range(10, 25, 2)]
"""Bytes of the all-reduces that are measured alone."""


@tw.entry
def gemm(
    z: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 64,
) -> None:
    """z = x @ y."""
    assert x.shape[1] == y.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


def product(x: Tensor[Any], y: Tensor[Any]) -> Tensor[f32]:
    """Start x @ y."""
    return gemm(tw.empty((x.shape[0], y.shape[1])).partition(TILE), x, y).out().start()


class Work:
    """Two layers of one width, forwards and backwards, and the two ways to add up gradients."""

    def __init__(self, width: int, rows: int, group: Any) -> None:
        self.torch: Any = import_module("torch")
        self.group = group
        self.adds_up = True
        """Whether gradients are those of all processes."""
        rng = np.random.default_rng(1)
        shapes = {"x": (rows, width), "w1": (width, width), "w2": (width, width)}
        self.arrays = {n: rng.standard_normal(s, dtype=np.float32) for n, s in shapes.items()}
        self.ours = {n: tw.from_numpy(a).sync() for n, a in self.arrays.items()}
        self.theirs = {n: self.torch.from_numpy(a.copy()) for n, a in self.arrays.items()}

    def kernels(self, gradient: Callable[[Tensor[Any], Tensor[Any]], Tensor[Any]]) -> None:
        """Run one step with kernels of ours; `gradient` multiplies, and adds up."""
        x, w1, w2 = self.ours["x"], self.ours["w1"], self.ours["w2"]
        hidden = product(x, w1)
        error = product(hidden, w2)
        second = gradient(hidden.T, error)
        first = gradient(x.T, product(error, w2.T))
        for found in (first, second):
            found[:1, :1].to_numpy()

    def with_ops(self) -> None:
        """Run one step whose all-reduces are ops."""

        def gradient(x: Tensor[Any], y: Tensor[Any]) -> Tensor[Any]:
            found = product(x, y)
            if self.adds_up:
                all_reduce(found).start()
            return found

        self.kernels(gradient)

    def with_calls(self) -> None:
        """Run one step whose all-reduces are calls of torch, each when its kernel has run."""

        def gradient(x: Tensor[Any], y: Tensor[Any]) -> Tensor[Any]:
            array = np.empty((x.shape[0], y.shape[1]), np.float32)
            found: Tensor[Any] = tw.asarray(array)
            gemm(found.partition_mut(TILE), x, y).sync()
            if self.adds_up:
                self.torch.distributed.all_reduce(self.torch.from_numpy(array))
            return found

        self.kernels(gradient)

    def with_torch(self) -> None:
        """Run one step with torch alone; its all-reduces are asynchronous."""
        x, w1, w2 = self.theirs["x"], self.theirs["w1"], self.theirs["w2"]
        hidden = x @ w1
        error = hidden @ w2
        pending = [self._started(second := hidden.T @ error)]
        pending.append(self._started(first := x.T @ (error @ w2.T)))
        for work in pending:
            if work is not None:
                work.wait()
        del first, second

    def _started(self, gradient: Any) -> Any:
        if not self.adds_up:
            return None
        return self.torch.distributed.all_reduce(gradient, async_op=True)


def worker(rank: int, size: int, port: int, width: int, rows: int) -> None:
    """Measure as one of the processes, and print what was found."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    with tw.distributed.init("gloo", address=f"tcp://127.0.0.1:{port}", rank=rank, size=size) as g:
        work = Work(width, rows, g)
        ways = {"ops": work.with_ops, "calls": work.with_calls, "torch": work.with_torch}
        found: dict[str, dict[str, list[float]]] = {}
        for number in range(ROUNDS + 1):
            for name, way in ways.items():
                for kind in ("alone", "together"):
                    work.adds_up = kind == "together"
                    torch.distributed.barrier()
                    seconds = _timed(partial(_repeated, way)) / STEPS
                    if number:  # the first compiles
                        found.setdefault(name, {}).setdefault(kind, []).append(seconds)
        alone = _alone(torch)
    if rank == 0:
        print(json.dumps({"size": size, "steps": found, "all_reduce": alone}))


def _repeated(way: Callable[[], None]) -> None:
    for _ in range(STEPS):
        way()


def _alone(torch: Any) -> dict[str, dict[int, float]]:
    """Return the seconds of all-reduces of each size, as ops and as calls."""
    found: dict[str, dict[int, float]] = {"ops": {}, "calls": {}}
    for nbytes in SIZES:
        x, y = tw.zeros((nbytes // 4,)).sync(), torch.zeros(nbytes // 4)
        ways = {"ops": partial(_reduced, x), "calls": partial(torch.distributed.all_reduce, y)}
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(2 * ROUNDS):
            for name, way in ways.items():
                times[name].append(_timed(way))
        for name, taken in times.items():
            found[name][nbytes] = min(taken)
    return found


def _reduced(x: Tensor[Any]) -> None:
    all_reduce(x).sync()


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measured(size: int, width: int, rows: int) -> Any:
    """Run so many processes; what they found."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    settings = os.environ | {"OMP_NUM_THREADS": "1", "TILEWRIGHT_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.distributed", "--width", str(width), "--rows",
               str(rows), "--worker", str(size), str(port)]  # fmt: skip
    started = [
        subprocess.Popen([*command, str(rank)], cwd=ROOT, env=settings, stdout=subprocess.PIPE)
        for rank in range(size)
    ]
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit("a process has failed; see above")
    return json.loads(outputs[0])


def main() -> None:
    """Measure, print a table and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=max(2, len(os.sched_getaffinity(0))))
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rows", type=int, default=512, help="of each process")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "distributed.json")
    parser.add_argument("--worker", type=int, nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        size, port, rank = asked.worker
        worker(rank, size, port, asked.width, asked.rows)
        return
    found = measured(asked.processes, asked.width, asked.rows)
    print(f"{asked.processes} processes, ms per step; load {os.getloadavg()[0]:.1f}")
    print(f"{'':8} {'alone':>8} {'together':>9} {'efficiency':>11}")
    for name, times in found["steps"].items():
        alone, together = min(times["alone"]), min(times["together"])
        print(f"{name:8} {alone * 1e3:8.2f} {together * 1e3:9.2f} {alone / together:11.1%}")
    print(f"\n{'all_reduce':>12} {'op us':>10} {'call us':>10}")
    for nbytes, seconds in found["all_reduce"]["ops"].items():
        calls = found["all_reduce"]["calls"][nbytes]
        print(f"{int(nbytes):12} {seconds * 1e6:10.0f} {calls * 1e6:10.0f}")
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
