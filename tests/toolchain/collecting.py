"""A pytest plugin: launches compile for CUDA instead of running, all of them together at the end.

Tests that look at results fail, of course; what counts is the report that is written to the file
named by `--collected`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.probes import packed
from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.bytecode.program import Kernel as Entry
from tilewright.backend.tileir.bytecode.program import Program
from tilewright.backend.tileir.bytecode.writer import write
from tilewright.backend.tileir.lowered import Job, assemble
from tilewright.backend.tileir.target import TileTarget
from tilewright.backend.tileir.toolchain import Toolchain, find_toolchain
from tilewright.base.errors import Code, CompileError
from tilewright.compile.pipeline import CUDA_PASSES, FIRST_CUDA_PASSES, PASSES
from tilewright.frontend.interp.build import build
from tilewright.launch.code import Nothing
from tilewright.launch.grid import launch_grid
from tilewright.launch.kernel import Kernel
from tilewright.launch.launch_plan import called_plan

PACK = 40
MOST = 3
"""Signatures of one kernel that are compiled: others differ in numbers only."""
ARCHES = ("sm_90", "sm_100")
"""Kernels with types that the first does not have are compiled for the second."""


class Collector:
    """What the launches of a test run compile to."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry]] = {arch: [] for arch in ARCHES}
        self.seen: set[tuple[int, Any]] = set()
        self.counts: Counter[int] = Counter()
        self.sources: list[Any] = []
        self.failures: list[str] = []

    def take(self, source: Any, signature: Any) -> None:
        """Lower a kernel, if it is a new one."""
        if (id(source), signature) in self.seen or self.counts[id(source)] >= MOST:
            return
        self.seen.add((id(source), signature))
        self.counts[id(source)] += 1
        self.sources.append(source)  # so that its id stays its own
        func = build(source, signature)
        for pass_ in (*FIRST_CUDA_PASSES, *PASSES, *CUDA_PASSES):
            func = pass_(func)
        for arch in ARCHES:
            try:
                made = tileir.lowered(func, TileTarget(arch)).program.kernels[0]
            except CompileError as error:
                if error.code is Code.TARGET:
                    continue
                raise
            made.name = f"{made.name}_{len(self.seen)}"
            self.entries[arch].append(made)
            return
        self.failures.append(f"{source.name}: no architecture has its types")

    def assemble(self) -> None:
        """Compile everything, many kernels to a file."""
        tool = find_toolchain()
        for arch, entries in self.entries.items():
            for pack in packed(entries, PACK):
                self.failures += _failures(pack, arch, tool)


def _failures(pack: list[Entry], arch: str, tool: Toolchain) -> Iterator[str]:
    data = write(Program(tuple(pack)), tool.version)
    try:
        assemble(Job(pack[0].name, arch, data, pack[0].span), tool)
    except CompileError as error:
        if len(pack) == 1:
            yield f"{pack[0].name} for {arch}: {error}"
            return
        half = len(pack) // 2
        yield from _failures(pack[:half], arch, tool)
        yield from _failures(pack[half:], arch, tool)


class NothingRuns:
    """Code that does nothing."""

    class compiled:
        @staticmethod
        def stale() -> None:
            return None

    def __init__(self, args: Any, grid: Any) -> None:
        self.run, self.grid = Nothing(called_plan(args)), grid

    def check(self, bound: Any) -> None:
        pass


COLLECTOR = Collector()


def _make_code(self: Kernel, form: Any, device: Any, request: Any, *addresses: int) -> Any:
    grid = launch_grid(self.name, form.args, request.const_grid or request.grid)
    aligned = [0] * len(form.memory)
    try:
        COLLECTOR.take(self.source, self.cuda_signature(form, request, grid, aligned))
    except CompileError:
        raise  # a program that no device compiles
    except Exception as error:
        COLLECTOR.failures.append(f"{self.name}: {type(error).__name__}: {error}")
    return NothingRuns(form.args, grid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--collected", default="")


def pytest_configure(config: pytest.Config) -> None:
    Kernel._make_code = _make_code  # type: ignore[method-assign]


def pytest_collection_modifyitems(items: list[Any]) -> None:
    items[:] = [
        item
        for item in items
        if getattr(item, "callspec", None) is None or item.callspec.params.get("device") != "cpu"
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    COLLECTOR.assemble()
    found = {arch: len(entries) for arch, entries in COLLECTOR.entries.items()}
    report = {"kernels": found, "failures": COLLECTOR.failures}
    Path(session.config.getoption("--collected")).write_text(json.dumps(report))
