"""Times contestants in turns, all of them in every round: what disturbs one disturbs all."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

Run = Callable[[], object]

SHORTEST_SAMPLE = 200e-6
"""Seconds; faster calls are timed in batches."""
TURN = 30e-3
"""Seconds that a contestant keeps the machine; a longer call is a turn of its own."""
LONG_CALL = 20e-3
"""Calls longer than this need no warm-up at the start of each turn."""
MOST_ROUNDS = 300
PAUSE, MOST_IDLE = 0.5e-3, 0.3
"""Seconds between two looks at the threads, and the part of a core that idle ones may take."""
TASKS = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to time one workload: seconds for each contestant, and rounds at least."""

    seconds: float = 2.0
    rounds: int = 5


QUICK = Effort(seconds=0.2, rounds=2)


@dataclass(slots=True)
class Entrant:
    """A contestant while it is timed: how it takes its turns, and what was measured."""

    run: Run
    batch: int = 1
    samples: int = 1
    warm_up: bool = True
    times: list[float] = field(default_factory=list[float])
    """Seconds per call, one number per sample."""
    wall: float = 0.0
    cpu: float = 0.0

    @property
    def cores(self) -> float:
        """How many cores were busy while it ran, on average."""
        return self.cpu / self.wall if self.wall else 0.0


def entrant(run: Run, estimate: float) -> Entrant:
    """A contestant whose call takes about `estimate` seconds."""
    batch = max(1, round(SHORTEST_SAMPLE / estimate)) if estimate < SHORTEST_SAMPLE else 1
    samples = max(1, min(20, int(TURN / (batch * estimate))))
    return Entrant(run, batch, samples, estimate < LONG_CALL)


def estimate(run: Run) -> float:
    """Seconds of a call, roughly: the better of two, after one that does not count."""
    run()
    times: list[float] = []
    for _ in range(2):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return max(min(times), 1e-7)


def interleave(
    runs: Mapping[str, Run], effort: Effort, notice: Callable[[int], None] = lambda _: None
) -> dict[str, Entrant]:
    """Time all contestants in rounds; each round begins with another one.

    `notice` is told the number of each round.
    """
    entrants = {name: entrant(run, estimate(run)) for name, run in runs.items()}
    names = list(entrants)
    begin = time.perf_counter()
    with no_collection():
        for number in range(MOST_ROUNDS):
            if number >= effort.rounds and _over(begin, effort.seconds * len(names)):
                break
            notice(number + 1)
            first = number % len(names)
            for name in names[first:] + names[:first]:
                settle()
                take_turn(entrants[name])
    return entrants


def _over(begin: float, seconds: float) -> bool:
    return time.perf_counter() - begin > seconds


def take_turn(entrant: Entrant) -> None:
    """Run one contestant for its share of a round."""
    run, calls = entrant.run, range(entrant.batch)
    if entrant.warm_up:  # caches and sleeping threads, lost while the others ran
        for _ in range(max(1, entrant.batch // 4)):
            run()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(entrant.samples):
        begin = time.perf_counter()
        for _ in calls:
            run()
        entrant.times.append((time.perf_counter() - begin) / entrant.batch)
    entrant.cpu += time.process_time() - cpu
    entrant.wall += time.perf_counter() - wall


def settle(patience: float = 1.0) -> None:
    """Wait until the threads of the last contestant sleep.

    Those of OpenMP and of BLAS libraries go on spinning after their work is done, on cores that the
    next contestant needs.
    """
    end = time.perf_counter() + patience
    while time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        time.sleep(PAUSE)
        share = (time.process_time() - cpu) / (time.perf_counter() - wall)
        if not (others_run() if TASKS.is_dir() else share >= MOST_IDLE):
            return


def others_run() -> bool:
    """Return whether another thread of this process runs, or waits for a core, on Linux.

    Time alone does not tell: on a busy machine a thread that spins may get none of it for a while.
    """
    own = str(threading.get_native_id())
    for task in TASKS.iterdir():
        if task.name != own:
            with suppress(OSError):  # it has ended meanwhile
                if (task / "stat").read_text().rpartition(")")[2].split()[0] == "R":
                    return True
    return False


@contextmanager
def no_collection() -> Generator[None, None, None]:
    """Keep Python's garbage collector out of the measurements."""
    on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
