"""Mutation testing: puts one small mistake at a time into the sources, and sees which tests notice.

    python tools/mutants.py --sample 60 --jobs 2        so many of each package, always the same
    python tools/mutants.py --only src/tilewright/analysis/bounds/proofs.py --sample 0   one file
    python tools/mutants.py --again                     those that no test noticed the last time

Nothing is written to the sources: a process is forked for each mutant, before the package is
imported, and reads the damaged text in place of the file. It runs the tests that call the function
with the mistake, those of the mirrored test files first, until one fails; then, for what lowers to
Tile IR, tests of the language whose kernels are interpreted. Mutants of the native core are built
in a copy of the tree, and run against its unit tests. Results go to `build/mutants`, beside those
of other packages: results.json, and tables in report.md.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import mutants_native
from mutating import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
interpreted: Any = importlib.import_module("support.interpreted")

SOURCES = ROOT / "src" / "tilewright"
OUT = ROOT / "build" / "mutants"
MAP = OUT / "calls.json"
RESULTS = OUT / "results.json"
PUBLISHED = ROOT / "benchmarks" / "results" / "mutants.json"

PACKAGES: dict[str, tuple[str, ...]] = {
    "ir": ("src/tilewright/ir/**/*.py",),
    "analysis": ("src/tilewright/analysis/**/*.py",),
    "passes": ("src/tilewright/passes/**/*.py",),
    "frontend/semantics": ("src/tilewright/frontend/semantics/**/*.py",),
    "tileir/lower": ("src/tilewright/backend/tileir/lower/**/*.py",),
    "tileir/selection": tuple(
        f"src/tilewright/backend/tileir/{name}.py"
        for name in (
            "accesses",
            "choices",
            "code_size",
            "heuristics",
            "resource_model",
            "selection",
        )
    ),
    "native/core": tuple(
        f"native/core/{name}.?pp" for name in ("borrow", "memory_state", "timeline", "records")
    ),
}
TESTS: dict[str, tuple[str, ...]] = {
    "ir": ("tests/host/ir", "tests/host/passes", "tests/host/compile"),
    "analysis": ("tests/host/analysis", "tests/host/passes"),
    "passes": ("tests/host/passes", "tests/host/analysis"),
    "frontend/semantics": ("tests/host/frontend", "tests/host/lang", "tests/errors"),
    "tileir/lower": ("tests/host/backend/tileir",),
    "tileir/selection": ("tests/host/backend/tileir", "tests/toolchain/test_selection.py"),
    "native/core": (),
}
"""Folders and files of tests; others run the same code, but say less of it."""
INTERPRETED = ("tileir/lower", "ir")
"""Packages that kernels of the language test too, run as interpreted Tile IR."""

NOTICED = ("killed", "timeout")

MOST_SECONDS = 12.0
"""Of tests for one mutant, by what they took without one; the quickest others come after the
mirrored ones."""
SLACK = 20.0
"""Seconds beyond five times that; a mutant that runs on is noticed too."""

Calls: TypeAlias = dict[str, dict[str, float]]
"""For each function (`path:name`) the tests that call it, with the seconds of each."""


@dataclass(frozen=True)
class Suite:
    """Tests that one run of pytest can run together."""

    name: str
    options: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    """What is recorded at a time: a file, or ids of tests of one file."""
    by_case: bool
    """Whether the cases of a test are chosen one by one."""


def suites(packages: Iterable[str]) -> list[Suite]:
    """The suites of some packages, in the order in which they judge a mutant."""
    folders = dict.fromkeys(folder for package in packages for folder in TESTS[package])
    files = [
        f
        for folder in folders
        for f in (
            [ROOT / folder]
            if folder.endswith(".py")
            else sorted((ROOT / folder).rglob("test_*.py"))
        )
    ]
    host = Suite("host", (), tuple((str(f.relative_to(ROOT)),) for f in files), by_case=False)
    found = [host]
    for arch in sorted(interpreted.PARTS, reverse=True):
        ids = interpreted.chosen(arch)
        grouped = {
            i.partition("::")[0]: [j for j in ids if j.startswith(i[: i.index("::")])] for i in ids
        }
        parts = tuple(tuple(group) for group in grouped.values())
        found.append(Suite(arch, tuple(interpreted.options(arch)), parts, by_case=True))
    return found


@dataclass(frozen=True)
class Result:
    """What became of a mutant: `killed`, `timeout`, `survived` or `untested`."""

    package: str
    path: str
    line: int
    how: str
    shown: str
    by: str = ""


# --- which tests call what ------------------------------------------------------------------------


class Recorder:
    """A plugin of pytest: which functions of the package each test calls, and how long it takes."""

    def __init__(self, calls: Calls, *, by_case: bool) -> None:
        self.calls = calls
        self.by_case = by_case

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        """Before a test, with its fixtures."""
        self.seen: set[CodeType] = set()
        self.start = time.process_time()
        sys.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """After a test."""
        sys.settrace(None)
        test = nodeid if self.by_case else nodeid.partition("[")[0]
        spent = time.process_time() - self.start
        for name in {_named(code) for code in self.seen}:
            found = self.calls.setdefault(name, {})
            found[test] = found.get(test, 0.0) + spent

    def trace(self, frame: FrameType, event: str, arg: object) -> None:
        """Note a call; lines are of no interest."""
        if "/src/tilewright/" in frame.f_code.co_filename:
            self.seen.add(frame.f_code)


def _named(code: CodeType) -> str:
    path = "src/tilewright/" + code.co_filename.rpartition("/src/tilewright/")[2]
    return f"{path}:{code.co_name}"


def recorded(packages: Iterable[str]) -> dict[str, Calls]:
    """Run their tests once, each file in a process of its own; again only what has changed."""
    known: dict[str, Any] = json.loads(MAP.read_text()) if MAP.exists() else {}
    found = suites(packages)
    if not any(package in INTERPRETED for package in packages):
        found = found[:1]
    todo = [(suite, part, _key(suite, part)) for suite in found for part in suite.parts]
    old = [each for each in todo if known.get(each[2], {}).get("at") != _changed(each[1])]
    for k, (suite, part, key) in enumerate(old):
        _progress(k, len(old), f"which functions does {key} call?")
        known[key] = {"at": _changed(part), "calls": _recorded(suite, part)}
        MAP.write_text(json.dumps(known))
    calls: dict[str, Calls] = {}
    for suite, _, key in todo:
        own = calls.setdefault(suite.name, {})
        for function, tests in known[key]["calls"].items():
            own.setdefault(function, {}).update(tests)
    return calls


def _key(suite: Suite, part: Sequence[str]) -> str:
    return f"{suite.name}: {' '.join(part)}"


def _changed(part: Sequence[str]) -> float:
    return (ROOT / part[0].partition("::")[0]).stat().st_mtime


def _recorded(suite: Suite, part: Sequence[str]) -> Calls:
    kept = OUT / f"part-{os.getpid()}.json"
    kept.write_text("{}")
    child = os.fork()
    if not child:
        own: Calls = {}
        with redirect_stdout(io.StringIO()):
            _pytest([*suite.options, *part], Recorder(own, by_case=suite.by_case))
        kept.write_text(json.dumps(own))
        os._exit(0)
    os.waitpid(child, 0)
    found: Calls = json.loads(kept.read_text())
    kept.unlink()
    return found


def _pytest(arguments: Sequence[str], *plugins: object) -> int:
    pytest = importlib.import_module("pytest")
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    few = ["--kernels", "40", "--proofs", "40"]  # of those that are drawn at random
    return int(pytest.main([*options, *few, *arguments], plugins=list(plugins)))


# --- the tests of one mutant ----------------------------------------------------------------------


def selected(mutant: Mutant, calls: Calls) -> dict[str, float]:
    """The tests that may notice a mutant: of the mirrored files first, then the quickest."""
    path = str(mutant.path.relative_to(ROOT))
    prefix = f"{path}:{mutant.function}" if mutant.function else f"{path}:"
    found: dict[str, float] = {}
    for name, tests in calls.items():
        if name == prefix or (not mutant.function and name.startswith(prefix)):
            found.update(tests)
    mirrors = _mirrors(mutant.path)
    if not found and not mutant.function and mirrors:
        return dict.fromkeys(mirrors, MOST_SECONDS / len(mirrors))
    ordered = sorted(found, key=lambda t: (t.partition("::")[0] not in mirrors, found[t]))
    kept: dict[str, float] = {}
    for test in ordered:
        if sum(kept.values()) + found[test] <= MOST_SECONDS or not kept:
            kept[test] = found[test]
    return kept


def _mirrors(path: Path) -> list[str]:
    """Return the test files of a module: `test_x.py`, and `test_x_part.py` of its parts."""
    folder = ROOT / "tests" / "host" / path.relative_to(SOURCES).parent
    found = [*folder.glob(f"test_{path.name}"), *sorted(folder.glob(f"test_{path.stem}_*.py"))]
    return [str(each.relative_to(ROOT)) for each in found]


def judge(package: str, mutant: Mutant, calls: Mapping[str, Calls]) -> Result:
    """Run the tests of a mutant, suite after suite, until one fails."""
    source = mutant.path.read_text(encoding="utf-8")
    path, shown = str(mutant.path.relative_to(ROOT)), mutant.shown(source)
    if mutant.is_native:
        how, by = mutants_native.judged(mutant, OUT)
        return Result(package, path, mutant.line, how, shown, by)
    how, by = "untested", ""
    for suite in suites([package]):
        if suite.options and package not in INTERPRETED:
            continue
        if tests := selected(mutant, calls[suite.name]):
            how, by = _judged(mutant, source, suite, tests)
        if how in NOTICED:
            break
    return Result(package, path, mutant.line, how, shown, by)


def _judged(
    mutant: Mutant, source: str, suite: Suite, tests: Mapping[str, float]
) -> tuple[str, str]:
    """Run tests of one suite, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.setsid()
        _damaged(mutant, source)
        os.write(write, _first_failure([*suite.options, *tests]).encode())
        os._exit(0)
    os.close(write)
    return _awaited(child, read, 5 * sum(tests.values()) + SLACK)


def _damaged(mutant: Mutant, source: str) -> None:
    """Have imports of a file read the text with the mistake."""
    whole = SourceFileLoader.get_code
    target, text = str(mutant.path), mutant.applied(source)

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if loader.path == target:
            return loader.source_to_code(text, target)
        return whole(loader, fullname)

    setattr(SourceFileLoader, "get_code", get_code)  # noqa: B010  # checkers see no method there


class _Failures:
    """A plugin of pytest: the first test that failed."""

    first = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """After each phase of a test."""
        if report.failed and not self.first:
            self.first = report.nodeid


def _first_failure(tests: Sequence[str]) -> str:
    failures = _Failures()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = _pytest(tests, failures)
    return "survived" if not status else f"killed {failures.first or 'an import'}"


def _awaited(child: int, read: int, limit: float) -> tuple[str, str]:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            with os.fdopen(read) as pipe:
                how, _, by = pipe.read().partition(" ")
            return how or "killed", by or "the process died"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read)
    return "timeout", f"more than {limit:.0f} s"


# --- all of them ----------------------------------------------------------------------------------


def chosen(sample: int, only: str, seed: int) -> dict[str, list[Mutant]]:
    """So many mutants of each package, or all of them; the same for one seed."""
    found: dict[str, list[Mutant]] = {}
    for package, patterns in PACKAGES.items():
        files = [f for pattern in patterns for f in sorted(ROOT.glob(pattern))]
        whole = [m for f in files if only in str(f.relative_to(ROOT)) for m in mutants(f)]
        if sample and len(whole) > sample:
            whole = random.Random(f"{seed} {package}").sample(whole, sample)
        found[package] = whole
    return {package: each for package, each in found.items() if each}


def again(last: Sequence[Result], only: str) -> dict[str, list[Mutant]]:
    """The mutants that no test noticed; lines may have moved since."""
    found: dict[str, list[Mutant]] = {}
    for path in dict.fromkeys(r.path for r in last if r.how not in NOTICED and only in r.path):
        left = {r.shown: r.package for r in last if r.path == path and r.how not in NOTICED}
        source = (ROOT / path).read_text(encoding="utf-8")
        for mutant in mutants(ROOT / path):
            package = left.pop(mutant.shown(source), None)
            if package is not None:
                found.setdefault(package, []).append(mutant)
    return found


def _last() -> list[Result]:
    return [Result(**r) for r in json.loads(RESULTS.read_text())] if RESULTS.exists() else []


def merged(last: Sequence[Result], new: Sequence[Result], *, whole: bool) -> list[Result]:
    """Results of before, but for what was judged anew: packages as a `whole`, or some mutants."""
    packages = {r.package for r in new}
    judged = {(r.path, r.shown) for r in new}

    def is_old(r: Result) -> bool:
        if whole:
            return r.package in packages
        return r.how not in NOTICED and (r.path, r.shown) in judged

    kept = [r for r in last if not is_old(r)]
    return sorted([*kept, *new], key=lambda r: (list(PACKAGES).index(r.package), r.path, r.line))


def run(todo: dict[str, list[Mutant]], calls: Mapping[str, Calls], jobs: int) -> Iterator[Result]:
    """Judge mutants, several at a time."""
    every = [(package, mutant) for package, each in todo.items() for mutant in each]
    if any(mutant.is_native for _, mutant in every):
        mutants_native.prepare(OUT)
    parts = [OUT / f"part-{os.getpid()}-{k}.jsonl" for k in range(jobs)]
    for k, part in enumerate(parts):
        part.write_text("")
        if not os.fork():
            with part.open("a", buffering=1) as file:
                for package, mutant in every[k::jobs]:
                    file.write(json.dumps(judge(package, mutant, calls).__dict__) + "\n")
            os._exit(0)
    yield from _followed(parts, len(every))


def _followed(parts: Sequence[Path], total: int) -> Iterator[Result]:
    """What the workers write, until they have ended."""
    files = [part.open() for part in parts]
    left, done = len(parts), 0
    while left or done < total:
        lines = [line for file in files for line in file.readlines()]
        for line in lines:
            done += 1
            yield Result(**json.loads(line))
        if not lines and left and os.waitpid(-1, os.WNOHANG)[0]:
            left -= 1
        elif not lines and not left:
            break
        time.sleep(0.05)
    for part in parts:
        part.unlink()


def _progress(done: int, total: int, text: str) -> None:
    width = 30 * done // max(total, 1)
    print(f"\r[{'#' * width}{' ' * (30 - width)}] {done}/{total} {text:60.60}", end="", flush=True)


def report(results: Sequence[Result]) -> str:
    """The score of each package, and every mutant that no test noticed."""
    rows = [
        "| package | mutants | noticed | survived | untested | score |",
        "|---|---|---|---|---|---|",
    ]
    for package in dict.fromkeys(r.package for r in results):
        counts = [*score(package, results).values()][1:]
        percent = 100 * int(counts[1]) // int(counts[0])
        rows.append(f"| {package} | {' | '.join(map(str, counts))} | {percent} % |")
    left = sorted(_lines(r for r in results if r.how not in NOTICED))
    return "\n".join([*rows, "", *left, ""])


def _lines(results: Iterable[Result]) -> Iterator[str]:
    return (f"- {r.path}:{r.line}: {r.how}: {r.shown}" for r in results)


def publish(results: Sequence[Result], seed: int, path: Path = PUBLISHED) -> None:
    """Add the scores to those that docs quote; those of one seed and commit are one draw."""
    commit = _git("describe", "--always", "--dirty")
    draws: list[dict[str, Any]] = json.loads(path.read_text())["draws"] if path.exists() else []
    scores = [score(package, results) for package in dict.fromkeys(r.package for r in results)]
    new = {"seed": seed, "commit": commit, "date": _git("log", "-1", "--format=%as")}
    judged = {each["package"] for each in scores}
    for draw in draws:
        if (draw["seed"], draw["commit"]) == (seed, commit):
            scores = [s for s in draw["scores"] if s["package"] not in judged] + scores
    others = [d for d in draws if (d["seed"], d["commit"]) != (seed, commit)]
    path.write_text(json.dumps({"draws": [*others, {**new, "scores": scores}]}, indent=1) + "\n")


def score(package: str, results: Sequence[Result]) -> dict[str, str | int]:
    """Return how many mutants of a package there were, and what became of them."""
    own = [r.how for r in results if r.package == package]
    return {
        "package": package,
        "mutants": len(own),
        "noticed": sum(how in NOTICED for how in own),
        "survived": own.count("survived"),
        "untested": own.count("untested"),
    }


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Read the command line, judge mutants, write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=60, help="of each package; 0: all")
    parser.add_argument("--only", default="", help="files whose path has this in it")
    parser.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    parser.add_argument("--again", action="store_true", help="those not noticed the last time")
    parser.add_argument("--publish", action="store_true", help="add the scores to those of docs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    for name in ("numpy", "ml_dtypes", "pytest", "llvmlite.binding"):
        importlib.import_module(name)  # once, before all forks; the package itself in each
    todo = (
        again(_last(), asked.only) if asked.again else chosen(asked.sample, asked.only, asked.seed)
    )
    native = all(m.is_native for each in todo.values() for m in each)
    calls = {} if native else recorded([*todo])
    results: list[Result] = []
    total = sum(map(len, todo.values()))
    for result in run(todo, calls, asked.jobs):
        results.append(result)
        missed = sum(r.how not in NOTICED for r in results)
        _progress(len(results), total, f"{missed} not noticed; {result.path}")
    print()
    results = merged(_last(), results, whole=not asked.again)
    RESULTS.write_text(json.dumps([r.__dict__ for r in results], indent=1))
    (OUT / "report.md").write_text(report(results))
    if asked.publish:
        publish([r for r in results if r.package in todo], asked.seed)
    print(report(results))


if __name__ == "__main__":
    main()
