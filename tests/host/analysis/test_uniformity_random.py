"""What is called uniform is the same in all threads: random kernels, thread by thread."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from fuzz.test_meeting import HEAD, TAIL, Writer
from support import tiers
from support.numbers import fresh_seed
from tilewright import i32, simt
from tilewright.analysis.uniformity import Over, Uniformity, uniformity
from tilewright.backend.reference.machine import Frame
from tilewright.frontend.capture.sources import execute
from tilewright.ir.attrs import WARP_SIZE
from tilewright.ir.core import Func, Value

PROGRAMS = tiers.count(quick=12, full=200)
PLACES = ("t // 32", "t >> 5", "t // 16", "t >> 4", "t % 32", "simt.warp_id()", "simt.lane_id()",
          "simt.block_idx()", "t // 64", "i // 32", "n // 32", "i32(simt.ballot(t > 9)) & 127",
          "simt.shuffle(a, 0)", "out[i] if i < len(out) else 3")  # fmt: skip


class PlaceWriter(Writer):
    """Writes numbers that depend on the place of a thread in many ways."""

    def block(self, depth: int, indent: str, *, together: bool, inside: bool) -> list[str]:
        lines = super().block(depth, indent, together=together, inside=inside)
        name, place = self.rng.choice("abc"), self.rng.choice(PLACES[: None if together else 11])
        if self.returned and "shuffle" in place:
            return lines
        return [*lines, f"{indent}{name} = ({name} + {place}) % 89"]


def program(seed: int) -> str:
    writer = PlaceWriter(Random(seed))
    lines = [x for _ in range(3) for x in writer.block(2, "    ", together=True, inside=False)]
    return HEAD + "\n".join(lines) + TAIL


class Observed:
    """All values of one launch, by the threads that had them, in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.func: Func | None = None
        self.data: dict[Value, dict[tuple[Any, ...], list[Any]]] = {}
        bind = Frame.bind

        def noting(frame: Frame, values: Any, data: Any) -> None:
            bind(frame, values, data)
            if frame.thread is None:
                return
            self.func = frame.launch.func
            for value in values:
                found = self.data.setdefault(value, defaultdict(list))
                datum = frame.values[value]
                if isinstance(datum, np.ndarray):
                    found[frame.block, frame.thread].append(datum.tolist())

        patch.setattr(Frame, "bind", noting)

    def groups(self, value: Value, over: Over) -> list[dict[tuple[Any, ...], list[Any]]]:
        """What the threads of each block, or of each warp, had."""
        found: dict[Any, dict[tuple[Any, ...], list[Any]]] = defaultdict(dict)
        for (block, thread), history in self.data[value].items():
            part = thread[0] // WARP_SIZE if over is Over.WARP else 0
            found[block, part][block, thread] = history
        return list(found.values())


def check(observed: Observed, facts: Uniformity, over: Over, threads: int) -> int:
    """Compare threads; return how many values are the same in several of them."""
    func, same = observed.func, 0
    assert func is not None
    made = {v: op for op in func.walk() for v in op.results}
    for value in observed.data:
        if facts.varies(value):
            continue
        all_come = value in made and made[value] not in facts.divergent
        for group in observed.groups(value, over):
            histories = list(group.values())
            # Threads that execute an op at different times are compared where each does it once.
            if all_come:
                assert all(h == histories[0] for h in histories), value
                if over is Over.BLOCK:
                    assert len(histories) == threads, value
            elif all(len(h) == 1 for h in histories):
                assert all(h == histories[0] for h in histories), value
            same += len(histories) > 1
    return same


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_values_that_are_called_uniform_are(number, monkeypatch):
    seed = fresh_seed()
    source = program(seed)
    print(source)
    names: dict[str, Any] = {"tw": tw, "tl": tw.lang, "simt": simt, "i32": i32}
    execute(source, names)
    rng = np.random.default_rng(seed)
    threads = int(rng.choice((8, 33, 70)))
    x = rng.integers(-5, 60, threads + 9, np.int32)
    observed = Observed(monkeypatch)
    with tw.device("reference"), tw.unsafe():
        out = tw.full((2 * threads,), -1, i32).sync()
        names["kernel"](out.borrow_mut(), x, int(rng.integers(0, 9))).launch_config(
            block=threads
        ).sync()
    assert observed.func is not None
    for over in (Over.BLOCK, Over.WARP):
        assert check(observed, uniformity(observed.func, over), over, threads)
