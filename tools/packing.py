"""A pytest plugin: what the tests launch is compiled for a GPU when they are through.

Tests run as always. `--pack-into` names the folder whose cache is filled, `--pack-report` the file
that lists what was compiled.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tilewright.base.config import override
from tilewright.base.errors import CompileError
from tilewright.launch.inspection import Inspection
from tilewright.launch.watching import Needed, watching

BAR = 30


@dataclass(frozen=True)
class Packed:
    """One kernel of the pack, or why it is not there."""

    kernel: str
    place: str
    arch: str
    nbytes: int
    seconds: float
    refused: str = ""


class Packer:
    """Notes what is launched, each kind once, and compiles it."""

    def __init__(self, folder: str, arch: str) -> None:
        self.folder, self.arch = folder, arch
        self._seen: dict[tuple[Any, ...], tuple[Needed, Inspection]] = {}

    def note(self, needed: Needed) -> None:
        """A watcher of launches."""
        seen = Inspection.of_launch(needed, self.arch)
        key = (id(needed.kernel), seen.signature, needed.request.options)
        self._seen.setdefault(key, (needed, seen))  # the kernel is kept, so its id stays its own

    def compile_all(self) -> list[Packed]:
        """Compile everything into the pack's cache, as many at a time as there are cores."""
        done: list[Packed] = []
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            waiting = [pool.submit(self._compile, *seen) for seen in self._seen.values()]
            for future in as_completed(waiting):
                done.append(future.result())
                show(len(done), len(waiting), done[-1].kernel)
        return sorted(done, key=lambda packed: (packed.place, packed.kernel))

    def _compile(self, needed: Needed, seen: Inspection) -> Packed:
        source = needed.kernel.source.source
        place = f"{Path(source.file.name).name}:{source.node.lineno}"
        start, code, refused = time.perf_counter(), b"", ""
        # In each thread: settings are those of the context.
        with override(cache_dir=f"{self.folder}/cache", line_info=False):
            try:
                made = seen.artifact().code
                code = made if isinstance(made, bytes) else b""
            except CompileError as error:
                refused = f"{error.code}: {error.message}"
        seconds = time.perf_counter() - start
        return Packed(needed.kernel.name, place, self.arch, len(code), seconds, refused)


def show(done: int, total: int, name: str) -> None:
    """A bar on a terminal; elsewhere a line now and then."""
    if sys.stderr.isatty():
        filled = BAR * done // total
        bar = "#" * filled + "." * (BAR - filled)
        sys.stderr.write(f"\r\x1b[K[{bar}] {done}/{total} {name}" + ("\n" if done == total else ""))
    elif done == total or done % 100 == 0:
        sys.stderr.write(f"{done}/{total} kernels\n")
    sys.stderr.flush()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's own options."""
    parser.addoption("--pack-into")
    parser.addoption("--pack-report")
    parser.addoption("--pack-arch", default="sm_90")


def pytest_configure(config: pytest.Config) -> None:
    """Start watching."""
    packer = Packer(str(config.getoption("--pack-into")), str(config.getoption("--pack-arch")))
    watch = ExitStack()
    watch.enter_context(watching(packer.note))
    config.stash[PACKER], config.stash[WATCH] = packer, watch


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Compile what was seen, and list it."""
    session.config.stash[WATCH].close()
    warnings.simplefilter("ignore")  # what a kernel's author is warned of is not our matter
    packed = session.config.stash[PACKER].compile_all()
    report = Path(str(session.config.getoption("--pack-report")))
    report.write_text(json.dumps([asdict(p) for p in packed]), encoding="utf-8")


PACKER = pytest.StashKey[Packer]()
WATCH = pytest.StashKey[ExitStack]()
