"""The command behind `make figures`: measures everything that README and docs quote, at one commit.

    python -m benchmarks.figures            what a CPU measures: minutes on two cores
    python -m benchmarks.figures --gpu      what is measured on this machine's GPU
    python -m benchmarks.figures --quick    a trial of either, which replaces nothing

The tree must be clean, and stay so: each file of results records the commit. Only a whole run
replaces files of `benchmarks/results`, all of its files at once, and writes the pages that quote
them again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .quotes import ROOT, pages, quoted

RESULTS, MEASURED = ROOT / "benchmarks" / "results", ROOT / "build" / "figures"
NEEDED = ("torch", "numba", "jax", "matplotlib")


@dataclass(frozen=True, slots=True)
class Part:
    """One command, and the file of results that it writes."""

    stem: str
    module: str
    options: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    """Options of a trial."""


CORPUS = (
    "--device", "cpu", "--quick", "--warm", "2", "--seconds", "330", "--without", "ours, tuned",
)  # fmt: skip
CPU = (
    Part("results", "benchmarks", ("--seconds", "0.6"), ("--only", "launch", "add_1m")),
    Part("host", "benchmarks.host", ("--device", "cpu"), ("--quick", "--only", "forms", "graph")),
    Part("interop", "benchmarks.interop", ("--device", "cpu"), ("--seconds", "0.02")),
    Part("compiled", "benchmarks.gpu.compiled", (), ("--only", "softmax")),
    Part("corpus_cpu", "benchmarks.corpus", CORPUS, ("--small", "--only", "nesterov")),
)
GPU = (
    Part("gpu", "benchmarks.gpu", ("--all",), ("--only", "softmax f16, rows of 1024")),
    Part("launch", "benchmarks.gpu.launch", (), ("--seconds", "0.02")),
    Part("queue", "benchmarks.gpu.queue", (), ("--seconds", "0.02")),
    Part("simt", "benchmarks.gpu.simt", (), ("--rounds", "1")),
    Part("host_cuda", "benchmarks.host", ("--device", "cuda"), ("--quick",)),
    Part("interop_cuda", "benchmarks.interop", ("--device", "cuda"), ("--seconds", "0.02")),
)


class RefusedError(Exception):
    """A run whose figures could not be quoted."""


def state() -> tuple[str, str]:
    """Return the commit of the tree, and what differs from it."""
    commit, changes = (
        subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain"))
    )
    return commit.stdout.strip(), changes.stdout


def clean_commit() -> str:
    """Return the commit of a tree that does not differ from it."""
    commit, changes = state()
    if changes:
        raise RefusedError(
            f"the tree differs from its commit; commit these first:\n{changes.rstrip()}"
        )
    return commit


def lacking(needed: Sequence[str] = NEEDED) -> list[str]:
    """Return what is not installed, of what is compared with."""
    return [name for name in needed if importlib.util.find_spec(name) is None]


def command(part: Part, place: Path, *, quick: bool) -> list[str]:
    """Return the command of a part."""
    extra = part.quick if quick else ()
    return [sys.executable, "-m", part.module, *part.options, *extra, "--out", str(place)]


def measure(parts: Sequence[Part], place: Path, *, quick: bool) -> None:
    """Run the parts, one after the other."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    begin = time.monotonic()
    for number, part in enumerate(parts):
        bar = "#" * (20 * number // len(parts))
        spent = time.monotonic() - begin
        print(f"[{bar:<20}] {number}/{len(parts)} {spent:.0f} s: {part.stem}", flush=True)
        done = subprocess.run(command(part, place, quick=quick), cwd=ROOT, check=False)
        if done.returncode:
            raise RefusedError(f"{part.module} failed; its results, so far: {place}")
    print(f"[{'#' * 20}] {time.monotonic() - begin:.0f} s", flush=True)


def accepted(parts: Sequence[Part], place: Path, commit: str) -> list[Path]:
    """Return the files of a run, if all of them are of one commit and the tree is still as it."""
    if clean_commit() != commit:
        raise RefusedError("the tree has changed meanwhile")
    for part in parts:
        machine = json.loads((place / f"{part.stem}.json").read_text(encoding="utf-8"))["machine"]
        if not commit.startswith(machine["commit"]):
            raise RefusedError(f"{part.stem} says that it was measured at {machine['commit']}")
    return sorted(path for path in place.iterdir() if path.is_file())


def publish(files: Sequence[Path], results: Path = RESULTS) -> None:
    """Replace the results of before, and write what quotes them."""
    for path in files:
        shutil.copy(path, results / path.name)
    for page in pages():
        page.write_text(quoted(page.read_text(encoding="utf-8"), results), encoding="utf-8")


def run(given: argparse.Namespace) -> None:
    """Measure, and publish what a whole run has measured."""
    parts = GPU if given.gpu else CPU
    if given.quick:
        measure(parts, MEASURED, quick=True)
        print(f"a trial: its results are in {MEASURED}, and replace nothing")
        return
    if missing := lacking():
        raise RefusedError(f"not installed: {', '.join(missing)}; `make figures` installs them")
    commit = clean_commit()
    measure(parts, MEASURED, quick=False)
    publish(accepted(parts, MEASURED, commit))
    print(f"results of {commit[:8]} are in {RESULTS}, and pages quote them: read `git diff`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 1 if the figures cannot be quoted."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--gpu", action="store_true", help="what is measured on a GPU")
    parser.add_argument("--quick", action="store_true", help="a trial of a few rows")
    try:
        run(parser.parse_args(arguments))
    except RefusedError as reason:
        print(f"no figures: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
