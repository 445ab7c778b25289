"""Fills a kernel cache for a GPU that is elsewhere, and writes one folder to take along.

    python tools/gpu_pack.py build/gpu-pack [--arch sm_90] [GROUP | TEST_FILE ...]
    python tools/gpu_pack.py build/gpu-pack --unpack gpu-pack.xz

Groups of tests run here on a simulated GPU of the architecture, a process for each file; whatever
they launch is compiled. There, `GPU_PACK=<the folder>` lets the tests find these kernels, and
tileiras is not needed:

    cache/           the kernels
    tileiras.json    stands for the assembler that made them
    manifest.json    what is in the cache, where it comes from, and what was refused

The kernels in one small file are beside it, `gpu-pack.xz`, of which the second command makes such
a folder. What is there already is compiled no second time; a making of all groups removes what none
of them asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tilewright.backend.tileir.toolchain import description, find_toolchain
from tilewright.base.errors import Code
from tilewright.compile.store import pack, unpack
from tilewright.compile.store.disk import Store

ROOT = Path(__file__).parent.parent
SUITES: dict[str, tuple[str, ...]] = {
    "examples": ("tests/examples",),
    "interop": ("tests/host/interop",),
    "own": ("tests/cpu/kernels", "tests/host/kernels"),
    "host": (
        "tests/cpu/tensors", "tests/cpu/compile", "tests/cpu/frontend", "tests/cpu/graph",
        "tests/cpu/launch", "tests/cpu/op", "tests/cpu/testing", "tests/host/tensors",
        "tests/host/launch", "tests/host/op", "tests/host/testing", "tests/ownership",
    ),
    "language": ("tests/cpu/language",),
    "numbers": ("tests/cpu/test_numbers.py",),
    "seeds": ("tests/seeds",),
}  # fmt: skip
"""Tests that `tests/gpu` runs on a GPU: they use the default device, or one they are given."""
GROUPS: dict[str, tuple[str, ...]] = {
    **SUITES,
    "gpu": ("tests/gpu/test_device.py", "tests/gpu/test_tuned.py", "tests/gpu/test_bounds.py"),
    "benchmarks": ("tests/benchmarks/gpu/test_rows.py",),
}
"""The tests whose kernels go into a pack."""
OPTIONS = {"examples": ["--on=cpu"], "interop": ["--on=cpu"], "benchmarks": ["--on=cpu"]}
"""How groups are run that need no GPU, or of which the reference would make too much; their kernels
are compiled after."""
PYTEST = ("-q", "--tb=no", "-rN", "-p", "no:cacheprovider", "-p", "packing")
DESCRIPTION = "tileiras.json"
SIZE = 1 << 28
"""More bytes than a pack has."""
OURS = (Code.TOOLCHAIN.value, Code.INTERNAL.value)
"""Errors that are no program's own; tests have programs that are wrong on purpose."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a pack; 1 where a kernel could not be compiled."""
    parser = ArgumentParser("gpu_pack", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("groups", nargs="*", default=list(GROUPS), metavar="GROUP",
                        help=f"of {', '.join(GROUPS)}, or a file of tests")  # fmt: skip
    parser.add_argument("--unpack", type=Path, metavar="FILE", help="take the kernels from there")
    given = parser.parse_args(arguments)
    folder: Path = given.folder.absolute()
    (folder / "cache").mkdir(mode=0o700, parents=True, exist_ok=True)
    if given.unpack is not None:
        return taken_from(given.unpack, folder)
    tool = find_toolchain()
    (folder / DESCRIPTION).write_text(description(tool), encoding="utf-8")
    begin = time.time()
    groups = {name: collect(folder, given.arch, name, tool.path) for name in given.groups}
    manifest = {"arch": given.arch, "tileiras": tool.fingerprint, "groups": groups}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    tidy(folder, begin if set(GROUPS) <= set(given.groups) else 0.0)
    pack(Store(folder / "cache", SIZE), packed(folder), description(tool))
    return summary(folder, groups)


def packed(folder: Path) -> Path:
    """The file with a folder's kernels."""
    return folder.with_name(folder.name + ".xz")


def taken_from(file: Path, folder: Path) -> int:
    """Make a folder of what was packed."""
    about, count = unpack(Store(folder / "cache", SIZE), file)
    (folder / DESCRIPTION).write_text(about, encoding="utf-8")
    print(f"{folder}: {count} kernels from {file}")
    return 0


def collect(folder: Path, arch: str, group: str, tool: str) -> list[dict[str, Any]]:
    """Run a group's tests, as many files at a time as there are cores; what was compiled."""
    files = [f for path in GROUPS.get(group, (group,)) for f in files_of(ROOT / path)]
    print(f"{group}: {len(files)} files", flush=True)
    simulated = [f"--simulate={arch}", "--assemble", "--on=cuda"] if group in GROUPS else []
    options = [f"--pack-arch={arch}", *OPTIONS.get(group, simulated)]
    run = partial(_run, folder, options, tool)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [kernel for found in pool.map(run, files) for kernel in found]


def files_of(path: Path) -> list[Path]:
    """The files of tests in a folder, or the file itself."""
    return [path] if path.suffix == ".py" else sorted(path.rglob("test_*.py"))


def _run(folder: Path, options: Sequence[str], tool: str, file: Path) -> list[dict[str, Any]]:
    """Run a file of tests in a process of its own. Tests may fail: what they launched counts."""
    own = [str(ROOT / "src"), str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, own)), "GPU_PACK": str(folder),
        "TILEWRIGHT_TILEIRAS_PATH": tool, "TEST_TIER": "full",
    }  # fmt: skip
    with TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        wanted = [f"--pack-into={folder}", f"--pack-report={report}"]
        command = [sys.executable, "-m", "pytest", *PYTEST, *wanted, *options, str(file)]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL
        )
        if not report.exists():
            why = f"{Code.INTERNAL.value}: the tests ended with status {done.returncode}"
            return [{"kernel": "all", "place": file.name, "refused": why}]
        found: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))
    return found


def tidy(folder: Path, begin: float) -> None:
    """Leave kernels for the GPU alone, of those the ones that were asked for since a time."""
    store = Store(folder / "cache", SIZE)
    for file in store.entries():
        facts = store.facts(file.name) or {}
        if facts.get("made") != "cubin" or file.used < begin:
            store.remove(file.name)


def summary(folder: Path, groups: dict[str, list[dict[str, Any]]]) -> int:
    """Say what the pack holds; 1 where anything failed that is no error of a program."""
    failed = 0
    for name, kernels in groups.items():
        refused = [k for k in kernels if k["refused"]]
        wrong = [k for k in refused if k["refused"].startswith(OURS)]
        failed += len(wrong)
        print(f"{name:<10}{len(kernels) - len(refused):>6} kernels, {len(refused)} refused")
        for kernel in wrong:
            print(f"  {kernel['kernel']} ({kernel['place']}): {kernel['refused']}")
    nbytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    print(
        f"{folder}: {nbytes / 1e6:.1f} MB in {len(list(folder.rglob('*.tw')))} entries,"
        f" packed {packed(folder).stat().st_size / 1e6:.1f} MB"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
