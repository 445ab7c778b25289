"""LLVM text of the few calls that are made all the time: one call from Python is one step.

    tw_launch(record, stream)
    tw_fire(shot, uses, user, known, row, numbers, lane, stream, budget)
                                             begin a plain launch, note who does, fill in its
                                             parameters, launch, and wait if there is a budget
    tw_replay(context, record, graph, memory, uses, user, known, built, lane, stream, budget)
                                             the same for a graph, or the one kernel it consists of
    tw_shoot(record, lane, stream, unput)    launch, as work of a lane that was begun
    tw_idle(context, stream)                 whether all on a stream is done
    tw_drain(context, stream, budget)        look for that until it is so or time is up
    tw_record(context, event, stream)
    tw_query(context, event)                 whether an event has passed
    tw_await(context, event, budget)         look for an event until it has passed or time is up
    tw_await_any(context, events, count, word, seen, budget)

Each makes the context current where it is not, and leaves the thread as it found it. The results
are the driver's own. Waiting threads look at once and often in the first millisecond; later they
sleep a sixteenth of the time they have waited. What other native code calls gives numbers instead
of objects: `tw_fire_now`, `tw_replay_now`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ...base.spot import Spot
from ..cpu.calling import Kind, Signature
from ..cpu.runtime import common
from ..cpu.runtime.calls import compiled_calls
from ..stub import claims, shots
from ..stub.text import BEGIN
from . import launching, replaying, waiting
from .entering import ENTER

DRIVER = (
    "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuLaunchKernel", "cuGraphLaunch",
    "cuEventRecord", "cuEventQuery", "cuStreamQuery",
)  # fmt: skip
"""What the text calls; their addresses are written into it."""


def text(addresses: Mapping[str, int]) -> str:
    """The whole module, for driver functions at these addresses."""
    known: dict[str, Any] = {n: f"inttoptr (i64 {a} to ptr)" for n, a in addresses.items()}
    parts = (ENTER, waiting.TEXT, launching.TEXT, replaying.TEXT)
    numbers = {**launching.NUMBERS, **waiting.NUMBERS}
    ours = "".join(part.format(**known, **numbers) for part in parts)
    return "".join((common.text(), BEGIN, shots.TEXT, claims.TEXT, launching.COPY, ours))


_A, _N, _B, _O = Kind.ADDRESS, Kind.NUMBER, Kind.BYTES, Kind.OBJECT

SIGNATURES: dict[str, Signature] = {
    "launch": Signature((_A, _A), releases=True),  # a full queue lets it wait
    "fire": Signature((_A, _O, _O, _O, _B, _B, _A, _A, _N), gives=Kind.OBJECT),
    "shoot": Signature((_A, _A, _A, _A)),
    "replay": Signature((_A, _A, _A, _A, _O, _O, _O, _O, _A, _A, _N), gives=Kind.OBJECT),
    "record": Signature((_A, _A, _A)),
    "query": Signature((_A, _A)),
    "idle": Signature((_A, _A)),
    "drain": Signature((_A, _A, _N), releases=True),
    "await": Signature((_A, _A, _N), releases=True),
    "await_any": Signature((_A, _A, _N, _A, _N, _N), releases=True),
}

DIRECT = ("fire_now", "replay_now")
"""What other native code calls; the addresses of these are given."""


Uses: TypeAlias = "list[tuple[str, Spot]] | None"
"""Who used an op, and where."""


class Quick(NamedTuple):
    """The compiled calls."""

    launch: Callable[[int, int], int]
    fire: Callable[[int, Uses, str, int, bytes, bytes, int, int, int], int]
    shoot: Callable[[int, int, int, int], int]
    replay: Callable[[int, int, int, int, Uses, str, int, Spot, int, int, int], int]
    record: Callable[[int, int, int], int]
    query: Callable[[int, int], int]
    idle: Callable[[int, int], int]
    drain: Callable[[int, int, int], int]
    await_event: Callable[[int, int, int], int]
    await_any: Callable[[int, int, int, int, int, int], int]
    fire_now: int
    """Where native code finds `fire` and `replay` that give numbers, not objects."""
    replay_now: int


def quick_calls(addresses: Mapping[str, int]) -> Quick:
    """Compile the calls, for good."""
    found, direct = compiled_calls(text(addresses), SIGNATURES, DIRECT, optimize=True)
    made: Any = (*found.values(), *direct.values())
    return Quick(*made)
