"""Runs files of tests on another device: a process for each, the longest first, a log for each.

Long files are cut into shards, which take every n-th test. What passed, and why what was skipped
was, is taken from pytest's own record.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from xml.etree import ElementTree as ET

import pytest

from source_tree import ROOT
from support.packs import Pack

OPTIONS = ("-q", "--tb=short", "-rfE", "--tier=full", "-p", "no:cacheprovider")
TABLE = pytest.StashKey[str]()
"""Where the table of a run is kept until pytest prints its summary."""
KINDS = ("passed", "failed", "skipped")
NOTHING_COLLECTED = 5


@dataclass(frozen=True, order=True)
class Part:
    """A file of tests, or one of the shards it is cut into."""

    file: str
    shard: int = 1
    shards: int = 1

    @property
    def name(self) -> str:
        """What its log is called."""
        stem = self.file.removeprefix("tests/").removesuffix(".py").replace("/", ".")
        return stem if self.shards == 1 else f"{stem}.{self.shard}"

    @property
    def size(self) -> float:
        """How much there is to run, by the length of the text."""
        return (ROOT / self.file).stat().st_size / self.shards


@dataclass(frozen=True)
class Result:
    """How a part went."""

    part: Part
    status: int
    counts: dict[str, int]
    skipped: list[str]
    """Why tests were skipped, a reason for each."""
    seconds: float
    log: str

    @property
    def passed(self) -> bool:
        """Whether nothing failed; a file may have no test for a device."""
        return self.status in (0, NOTHING_COLLECTED) and not self.counts["failed"]


def parts(files: Iterable[str], shards: dict[str, int]) -> list[Part]:
    """What is to run, those that take longest first."""
    cut = [Part(f, k + 1, shards.get(f, 1)) for f in files for k in range(shards.get(f, 1))]
    return sorted(cut, key=lambda part: (-part.shards, -part.size, part))


class Suites:
    """Parts on their way on a device, as many at a time as there are processors."""

    def __init__(
        self,
        options: Sequence[str],
        logs: Path,
        todo: Sequence[Part],
        seconds: float,
        pack: Pack | None = None,
    ) -> None:
        self._options, self._logs, self._seconds, self._pack = options, logs, seconds, pack
        logs.mkdir(parents=True, exist_ok=True)
        self._pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
        self._runs: dict[Part, Future[Result]] = {p: self._pool.submit(self._run, p) for p in todo}

    def result(self, part: Part) -> Result:
        """How a part went, once it is over."""
        return self._runs[part].result()

    def close(self) -> str:
        """Wait for all; gives the table, which lies beside the logs as well."""
        self._pool.shutdown(cancel_futures=True)
        done = [run.result() for run in self._runs.values() if not run.cancelled()]
        text = table(done) + (self._pack.share() if self._pack is not None else "")
        (self._logs / "summary.txt").write_text(text, encoding="utf-8")
        return text

    def _run(self, part: Part) -> Result:
        log, record = (self._logs / f"{part.name}.{end}" for end in ("log", "xml"))
        record.unlink(missing_ok=True)
        options = [*self._options, f"--shard={part.shard}/{part.shards}"]
        start = time.monotonic()
        with log.open("w", encoding="utf-8") as file:
            status = self._watched([*options, f"--junitxml={record}", part.file], file)
        seconds = time.monotonic() - start
        counts, skipped = _counted(record)
        return Result(part, status, counts, skipped, seconds, log.read_text(encoding="utf-8"))

    def _watched(self, options: Sequence[str], log: IO[str]) -> int:
        """Run pytest in a process of its own, whose status it gives; -1 if it had to be ended."""
        command = [sys.executable, "-m", "pytest", *OPTIONS, *options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            return subprocess.run(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT,
                timeout=self._seconds, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            log.write(f"\nended after {self._seconds} s\n")
            return -1


def _counted(record: Path) -> tuple[dict[str, int], list[str]]:
    """Tests by what became of them, and why some were skipped; none where the process died."""
    if not record.exists():
        return dict.fromkeys(KINDS, 0), []
    suite = next(ET.parse(record).getroot().iter("testsuite"))
    record.unlink()
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    skipped = [found.attrib["message"] for found in suite.iter("skipped")]
    passed = int(suite.attrib["tests"]) - failed - len(skipped)
    return {"passed": passed, "failed": failed, "skipped": len(skipped)}, skipped


def table(results: Iterable[Result]) -> str:
    """One line for each part, one for all, and one for each reason to skip."""
    rows = sorted(results, key=lambda r: r.part)
    lines = [
        _line(r.part.name, r.counts, r.seconds)
        + ("" if r.passed else f"  status {r.status}" if r.status != 1 else "  FAILED")
        for r in rows
    ]
    total = {kind: sum(r.counts[kind] for r in rows) for kind in KINDS}
    lines.append(_line("all", total, sum(r.seconds for r in rows)))
    reasons = Counter(reason for r in rows for reason in r.skipped)
    lines += [f"{count:>5} skipped: {reason}" for reason, count in reasons.most_common()]
    return "\n".join(lines) + "\n"


def _line(name: str, counts: dict[str, int], seconds: float) -> str:
    numbers = " ".join(f"{counts[kind]:>5} {kind}" for kind in KINDS)
    return f"{name:<48}{numbers} {seconds:>7.1f} s"
