"""Many random programs on a device, against the reference, in processes that may die.

    PYTHONPATH=src:tests python -m fuzz.wild.campaign --on cuda --count 5000 --workers 16

`--on cpu` runs them on the CPU, `--on simulated` by the interpreter of Tile IR; `--on assembler`
only compiles them for a GPU. What fails is cut down and printed; a program that kills its process,
or the device, is known by its seed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from fuzz.wild.kept import keep
from fuzz.wild.program import Wild
from fuzz.wild.running import FAILS, Verdict
from fuzz.wild.shrinking import shrink
from fuzz.wild.writing import write

CRASHES, HANGS = "crashes", "hangs"
PATIENCE = 300.0
"""Seconds for one program."""
RENEWED = 250
"""After so many programs a process is replaced: code that was loaded stays until its end."""


class Worker:
    """A process that judges, and the next one when it has died."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.process: subprocess.Popen[str] | None = None
        self.judged = 0

    def ask(self, program: Wild) -> Verdict:
        """What becomes of a program."""
        if self.judged >= RENEWED:
            self.end()
        process = self.process or self._start()
        self.judged += 1
        assert process.stdin is not None
        try:
            process.stdin.write(program.text() + "\n")
            process.stdin.flush()
        except OSError:
            return self._died(process)
        line = self._line(process)
        if line is None:
            self.end()
            return Verdict(HANGS, f"no answer in {PATIENCE:.0f} s")
        return Verdict(**json.loads(line)) if line else self._died(process)

    def end(self) -> None:
        """Stop the process."""
        if self.process is not None:
            self.process.kill()
            self._close(self.process)

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fuzz.wild.worker", self.device]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env)
        return self.process

    def _line(self, process: subprocess.Popen[str]) -> str | None:
        """The answer; nothing from a process that has died, None if it takes too long."""
        stream = process.stdout
        assert stream is not None
        answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=lambda: answers.put(stream.readline()), daemon=True).start()
        try:
            return answers.get(timeout=PATIENCE)
        except queue.Empty:
            return None

    def _died(self, process: subprocess.Popen[str]) -> Verdict:
        return Verdict(CRASHES, f"the process ended with {self._close(process)}")

    def _close(self, process: subprocess.Popen[str]) -> int:
        """Wait for the end of a process; gives its status."""
        self.process, self.judged = None, 0
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what it was sent last may not have reached it
                assert stream is not None
                stream.close()
        return process.wait()


@dataclass
class Campaign:
    """Programs that are handed out, and what became of them."""

    device: str
    seeds: Iterator[int]
    end: float
    shrinks: float = 60.0
    """Seconds to cut one program down."""
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[Wild, Verdict]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_seed(self) -> int | None:
        """The next one; none when time is up."""
        with self.lock:
            return None if time.monotonic() > self.end else next(self.seeds, None)

    def work(self) -> None:
        """What one thread does, with a process of its own."""
        worker = Worker(self.device)
        try:
            while (seed := self.next_seed()) is not None:
                program = write(seed)
                verdict = worker.ask(program)
                if verdict.is_bad:
                    program = self.cut(worker, program, verdict)
                with self.lock:
                    self.counts[verdict.kind] += 1
                    if verdict.is_bad:
                        self.bad.append((program, verdict))
                        print(f"{verdict.kind}: {verdict.words}\n{program.shown()}", flush=True)
        finally:
            worker.end()

    def cut(self, worker: Worker, program: Wild, verdict: Verdict) -> Wild:
        """A shorter program with the same fate."""

        def fails(source: str) -> bool:
            found = worker.ask(program.with_source(source))
            if found.kind != verdict.kind:
                return False
            return verdict.kind != FAILS or _head(found) == _head(verdict)

        return program.with_source(shrink(program.source, fails, self.shrinks))

    def summary(self, seconds: float) -> str:
        """One line."""
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return f"{sum(self.counts.values())} programs in {seconds:.0f} s: {told}"


def _head(verdict: Verdict) -> str:
    """What kind of error it is: its first line, and how an assembler ended."""
    lines = verdict.words.splitlines()
    return "\n".join(line for line in lines if line.startswith("  got:") or line is lines[0])


def conduct(
    device: str, count: int, first: int, workers: int, seconds: float, shrinks: float = 60.0
) -> Campaign:
    """Run programs of so many seeds."""
    start = time.monotonic()
    campaign = Campaign(device, iter(range(first, first + count)), start + seconds, shrinks)
    threads = [threading.Thread(target=campaign.work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(campaign.summary(time.monotonic() - start), flush=True)
    return campaign


def main() -> None:
    """Read the options; fail if a program did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="cpu", help="cpu, cuda, simulated, or assembler")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="no new program after these")
    parser.add_argument("--keep", action="store_true", help="write what fails to tests/fuzz/kept")
    given = parser.parse_args()
    campaign = conduct(given.on, given.count, given.seed, given.workers, given.seconds)
    for program, _ in campaign.bad if given.keep else ():
        print(f"kept as {keep(program, f'seed_{program.seed}')}")
    sys.exit(bool(campaign.bad))


if __name__ == "__main__":
    main()
