"""Which launches the core submits natively, and which by a call of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright._core import set_graph_classes, set_launch_classes
from tilewright.graph import GraphLaunch
from tilewright.graph.launching import CORE_CLASSES as OF_GRAPHS
from tilewright.launch import Launch, starting
from tilewright.launch.operation import CORE_CLASSES as OF_LAUNCHES

OURS = str(Path(tw.__file__).parent)


def python_calls(call: Callable[[], object]) -> list[str]:
    """The functions of the package that are entered."""
    entered: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            entered.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


def called_launches(monkeypatch: pytest.MonkeyPatch) -> list[Launch[Any]]:
    """The launches of kernels that Python enqueues from now on, by a call of the core."""
    seen: list[Launch[Any]] = []
    submit = starting._submit_or_abandon

    def look(op: Launch[Any], *rest: Any) -> Any:
        seen.append(op)
        return submit(op, *rest)

    monkeypatch.setattr(starting, "_submit_or_abandon", look)
    return seen


def slow_graph_launches(monkeypatch: pytest.MonkeyPatch) -> list[GraphLaunch]:
    """The same of graphs."""
    seen: list[GraphLaunch] = []
    execute = GraphLaunch.execute

    def look(self: GraphLaunch, ctx: Any) -> None:
        seen.append(self)
        execute(self, ctx)

    monkeypatch.setattr(GraphLaunch, "execute", look)
    return seen


def _stranger(cls: Any) -> type:
    """A class that no object is of."""
    return type(cls.__name__, (cls,), {"__slots__": ()})


@contextmanager
def only_called() -> Iterator[None]:
    """A block in which Python enqueues all launches, and replays on the CPU."""
    launches, graphs = dict(OF_LAUNCHES), dict(OF_GRAPHS)
    strangers = {name: _stranger(launches[name]) for name in ("CpuPlan", "CudaPlan")}
    set_launch_classes({**launches, **strangers})
    set_graph_classes({**graphs, "CpuReplay": _stranger(graphs["CpuReplay"])})
    try:
        yield
    finally:
        set_launch_classes(launches)
        set_graph_classes(graphs)
