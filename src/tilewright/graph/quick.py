"""Launches of graphs in native code: as those of Python, where nothing needs a closer look.

A graph that is launched often becomes a `quick` one, of a class that comes from `CudaGraph`; so do
its launches. Whatever is unusual is left to the methods of Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..array.quick import Slots, native_endings, quick_class, quick_op
from ..array.recording import PlainMemory
from ..base.forking import llvm_lock, made_once
from ..driver.cpu.calling import OFTEN
from ..driver.cpu.layouts import Native, are_known
from ..driver.cpu.replay import CpuReplay, ReplayRun
from ..driver.cpu.stream import CpuStream
from ..driver.cuda.replay import GRAPH, CudaReplay
from ..driver.cuda.stream import CudaStream
from ..driver.stub.text import NOTING
from ..op.running import named
from .launching import GraphLaunch
from .quick_text import TEXT

if TYPE_CHECKING:
    from .graph import CudaGraph

_SLOTS: Slots = {
    "op": (GraphLaunch, ("_built", "_graph", "_home", "_of", "_uses")),
    "replay": (
        CudaReplay, ("_attended", "_driver", "_executable", "_last", "_only", "_ran_on", "context")
    ),
    "replay_here": (CpuReplay, ("_fire", "_last", "_leave", "_run", "_take", "_threads")),
    "memory": (PlainMemory, ("address",)),
}  # fmt: skip


_HASTENED = (CudaStream, CpuStream)
"""Streams on which launches take so little that building them counts."""


def hasten(graph: CudaGraph[Any]) -> None:
    """A graph is launched: if that happens often, let native code do it."""
    graph.launches += 1
    if graph.launches >= OFTEN:
        graph.hasten()
        if type(graph.stream) in _HASTENED and are_known():
            make_quick(graph)


def make_quick(graph: CudaGraph[Any]) -> None:
    """Let native code build launches of a graph from now on, and end most of them."""
    with llvm_lock():  # threads that launch the same graph come here together
        if not hasattr(graph, "quick"):
            quick = _quick(type(graph))
            graph.quick = quick.op
            graph.__class__ = quick.graph


class _Quick(NamedTuple):
    graph: type[CudaGraph[Any]]
    op: type[GraphLaunch]


@made_once
def _quick(base: Any) -> _Quick:
    """The classes whose objects are as those of Python, in native code; made at first use."""
    objects = {
        "CudaReplay": CudaReplay, "left": _left, "GRAPH": GRAPH, "launch": base.launch,
        "spent": "spent", "CpuReplay": CpuReplay, "heard": _heard,
    }  # fmt: skip
    slots = {
        **_SLOTS,
        "graph": (base, ("_memory", "_replay", "device", "name", "prepared", "quick")),
    }
    *endings, launch = native_endings(
        GraphLaunch, TEXT, NOTING, slots, objects, {}, ("launch",), ("graph",)
    )
    graph = quick_class(base, Native(methods={"launch": launch}))
    return _Quick(graph, quick_op(GraphLaunch, endings))


def _heard(op: GraphLaunch, graph: CudaGraph[Any], run: ReplayRun) -> None:
    """As `GraphLaunch.fire` goes on where a run that is over may have something to report."""
    error = graph.read(run)
    if error is not None:
        raise named(error, op)


def _left(
    label: str,
    keep: tuple[CudaReplay, Any],
    stream: CudaStream,
    others: int,
    kept: Any,
    upto: int,
    answer: int,
) -> None:
    """As `CudaReplay.fire` goes on where a run was refused, or is not over yet."""
    if answer < 0:
        keep[0].refuse(answer)
    stream.waited((others, kept, upto), answer, label, keep)
