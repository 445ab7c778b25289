"""A sweep on Ray: a thousand tasks, of which some lose their worker, and nothing is lost.

python sweep.py --tasks 1000 --killed 20
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

POINTS, STEPS = 256, 40


@tw.entry
def logistic(out: tl.TensorMut[f32], x: tl.Tensor[f32], rate: f32) -> None:
    """Iterate x -> rate * x * (1 - x)."""
    tile = tl.load_tile_like(x, out)
    for _ in range(STEPS):
        tile = rate * tile * (1.0 - tile)
    out.store(tile)


def starts() -> npt.NDArray[np.float32]:
    """Where the iterations begin."""
    return np.linspace(0.1, 0.9, POINTS, dtype=np.float32)


def rate_of(number: int, tasks: int) -> float:
    """The parameter of a task: from 1 to 3, where iterations settle."""
    return 1.0 + 2.0 * number / tasks


def one(number: int, tasks: int, marks: str) -> tuple[int, float]:
    """Run one task. If there is a mark for it, its worker dies, once."""
    mark = Path(marks) / str(number)
    if mark.exists():
        mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    out = logistic(tw.empty((POINTS,)).partition((64,)), starts(), rate_of(number, tasks)).out()
    return number, float(out.sync().to_numpy().mean())


def sweep(tasks: int, killed: int, workers: int) -> dict[int, float]:
    """Run all tasks; workers die in some of them."""
    engine: Any = import_module("tilewright.distributed.ray")
    ray = engine.ray
    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        task = engine.remote(one, num_cpus=1, max_retries=-1)
        with tempfile.TemporaryDirectory() as marks:
            for number in range(0, tasks, max(1, tasks // max(killed, 1))):
                (Path(marks) / str(number)).touch()
            found = dict(ray.get([task.remote(n, tasks, marks) for n in range(tasks)]))
            assert not list(Path(marks).iterdir()), "some workers were not killed"
    finally:
        ray.shutdown()
    return found


def expected(number: int, tasks: int) -> float:
    """The same in NumPy."""
    x = starts()
    for _ in range(STEPS):
        x = np.float32(rate_of(number, tasks)) * x * (1 - x)
    return float(x.mean())


def main() -> None:
    """Run the sweep, and check every result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--killed", type=int, default=20, help="how many tasks lose their worker")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    found = sweep(asked.tasks, asked.killed, asked.workers)
    assert sorted(found) == list(range(asked.tasks)), "some results are missing"
    for number, mean in found.items():
        np.testing.assert_allclose(mean, expected(number, asked.tasks), rtol=1e-4, atol=1e-5)
    print(f"sweep: {asked.tasks} tasks, {asked.killed} workers killed, nothing lost")


if __name__ == "__main__":
    main()
