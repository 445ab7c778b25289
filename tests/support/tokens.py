"""Whether tokens order what they must: by following them in the IR, and while a function runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from tilewright.analysis.structure import arguments, carried, structure
from tilewright.backend.reference import interpreter as reference
from tilewright.backend.reference.machine import Frame
from tilewright.backend.reference.watch import Watch
from tilewright.ir.core import Func, Op, Value
from tilewright.ir.types import ViewType


class Reach:
    """Which accesses surely are over before another starts: those its token can be traced to."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.nesting = structure(func)

    def accesses(self) -> list[Op]:
        """All accesses that have tokens, in order."""
        return [op for op in self.func.walk() if op.name.endswith("_tko")]

    def before(self, access: Op) -> set[Op]:
        """The accesses that one waits for, itself if a round waits for the one before."""
        pending, seen, found = [access.one("token")], set[Value](), set[Op]()
        while pending:
            token = pending.pop()
            if token in seen:
                continue
            seen.add(token)
            made = self.nesting.definer(token)
            if made is not None and made.name.endswith("_tko"):
                found.add(made)
                pending.append(made.one("token"))
            elif made is not None and not made.regions:
                pending += made.operands  # of join_tokens; make_token has none
            else:
                pending += self.passed(token, made or self.nesting.owner[token])
        return found

    def passed(self, token: Value, op: Op) -> list[Value]:
        """What a token of a branch or a loop is one of: of a result, or inside of a body."""
        inside = token not in op.results
        place = (arguments(op) if inside else op.results).index(token)
        ends = [end for end in self.nesting.exits.get(op, ()) if end.name != "break" or not inside]
        first = carried(op)[place : place + 1]
        return [*first, *(end.operands[place] for end in ends)]

    def dominated(self, access: Op) -> list[Op]:
        """The accesses that are after one on every way through the function that gets there."""
        block = self.nesting.block[access]
        later = block.ops[block.ops.index(access) + 1 :]
        inside = {op for each in later for op in (each, *_held(each))}
        return [op for op in self.accesses() if op in inside]


def _held(op: Op) -> list[Op]:
    return [inner for region in op.regions for inner in region.walk()]


def touched(op: Op) -> str:
    """The memory of an access: the parameter, or anything that pointers reach."""
    views = [v.view for v in op.operands if isinstance(v.type, ViewType)]
    return next((view.tensor.param or "memory" for view in views), "pointers")


@dataclass(frozen=True)
class Token:
    """The accesses that are over when this token is there."""

    events: frozenset[int] = frozenset()


class Recorder(Watch):
    """A watch that also keeps which access touched which cell."""

    made: ClassVar[list[Recorder]] = []

    def __init__(self) -> None:
        super().__init__()
        self.touched: defaultdict[tuple[Any, ...], list[tuple[int, bool]]] = defaultdict(list)
        self.waited: dict[int, frozenset[int]] = {}
        Recorder.made.append(self)

    def note(self, event, region, cells, writes):
        for cell in set(cells.ravel().tolist()):
            self.touched[self._actor.place, id(region), cell].append((event, writes))

    def read(self, event, region, cells):
        super().read(event, region, cells)
        self.note(event, region, cells, False)

    def write(self, event, region, cells):
        super().write(event, region, cells)
        self.note(event, region, cells, True)

    @property
    def last(self) -> int:
        return len(self._events)


def unordered(func: Func, arguments: Sequence[Any], grid: Sequence[int]) -> list[str]:
    """The pairs of accesses of one block to one place that tokens fail to order."""
    Recorder.made.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "RULES", {n: _followed(n, r) for n, r in reference.RULES.items()})
        patch.setattr(reference, "Watch", Recorder)
        reference.run(func, arguments, grid, seed=1)
    (watch,) = Recorder.made
    missing = {
        (earlier, later)
        for events in watch.touched.values()
        for k, (later, writes) in enumerate(events)
        for earlier, wrote in events[:k]
        if (writes or wrote) and earlier != later
        if earlier not in watch.waited.get(later, frozenset())
    }
    return [f"{a} and {b}: {_name(watch, a)}, {_name(watch, b)}" for a, b in sorted(missing)]


def _name(watch: Recorder, event: int) -> str:
    return watch._events[event - 1].op.name


def _followed(name: str, rule: Any) -> Any:
    if name == "make_token":
        return lambda frame, op: (Token(),)
    if name == "join_tokens":
        return lambda frame, op: (_joined(frame, op),)
    if not name.endswith("_tko"):
        return rule

    def access(frame: Frame, op: Op) -> Any:
        token = op.maybe("token")
        waited = frame.values[token].events if token is not None else frozenset()
        watch = frame.launch.memory.watch
        before = watch.last
        *results, _ = rule(frame, op)
        own = range(before + 1, watch.last + 1)
        watch.waited.update((event, waited) for event in own)
        return (*results, Token(waited | frozenset(own)))

    return access


def _joined(frame: Frame, op: Op) -> Token:
    return Token(frozenset().union(*(frame.values[v].events for v in op.operands)))
