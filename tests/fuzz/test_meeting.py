"""Random kernels whose threads meet: the CPU against the reference interpreter."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from support import tiers
from support.numbers import fresh_seed
from tilewright import i32, simt
from tilewright.frontend.capture.sources import execute

PROGRAMS = tiers.count(quick=5, full=48)
HEAD = """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[i32], x: simt.Slice[i32], n: i32) -> None:
    i, t, size = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    memory = simt.shared(i32, (128,))
    memory[t] = t
    a = x[i] if i < len(x) else 5
    b, c = t, n
"""
TAIL = """
    if i < len(out):
        out[i] = a + 3 * b + 7 * c
"""


class Writer:
    """Writes statements; those of `together` may hold barriers and warp operations."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.loops = 0
        self.returned = False
        """Whether threads may have returned: then others cannot take what they would pass."""

    def number(self) -> str:
        """Something that differs between threads, small enough to compute with."""
        r, v = self.rng, self.rng.choice
        forms = ("a", "b", "c", "t", "n", f"({v('abc')} + {v('abc')}) % 101",
                 f"({v('abc')} * {r.randint(2, 9)} - t) % 97", f"max({v('abc')}, {v('abc')}) % 53",
                 f"x[abs({v('abc')}) % len(x)]")  # fmt: skip
        return v(forms)

    def uniform(self) -> str:
        """A condition that is the same in all threads."""
        return self.rng.choice(("n > 3", "n % 2 == 0", "size > 33", "x[0] > 10", "n + size < 40"))

    def block(self, depth: int, indent: str, *, together: bool, inside: bool) -> list[str]:
        """Some statements."""
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            lines += self.statement(depth, indent, together=together, inside=inside)
        return lines

    def statement(self, depth: int, indent: str, *, together: bool, inside: bool) -> list[str]:
        """One of them, and all that it holds."""
        r, name = self.rng, self.rng.choice("abc")
        kinds = ["assign", "assign"]
        kinds += ["exchange", "vote", "atomic"] if together else []
        kinds += ["shuffle"] * (together and not self.returned)
        kinds += ["branch", "loop", *(["uniform branch", "uniform loop"] * together)] * (depth > 0)
        kinds += ["return"] * (together and not inside and r.random() < 0.3)
        kind = r.choice(kinds)
        if kind == "assign":
            return [f"{indent}{name} = {self.number()}"]
        if kind == "exchange":
            by = r.choice(("t + 1", "t + size // 2", "size - 1 - t", "t * 3", "0"))
            return [f"{indent}simt.sync_threads()", f"{indent}memory[t] = {self.number()}",
                    f"{indent}simt.sync_threads()",
                    f"{indent}{name} = memory[({by}) % size]"]  # fmt: skip
        if kind == "atomic":
            return [f"{indent}simt.sync_threads()", f"{indent}memory[t] = 0",
                    f"{indent}simt.sync_threads()",
                    f"{indent}tl.atomic_add(memory.at(abs({self.number()}) % size), 1)",
                    f"{indent}simt.sync_threads()", f"{indent}{name} = memory[t]"]  # fmt: skip
        if kind == "shuffle":
            by = r.choice(("1", "2", "n % 5", "t % 3"))
            return [f"{indent}{name} = simt.shuffle_up({self.number()}, {by}, mask=None)"]
        if kind == "vote":
            word = r.choice(("vote_any", "vote_all"))
            return [f"{indent}{name} = 1 if simt.{word}({self.number()} > 20) else 0"]
        if kind == "return":
            self.returned = True
            return [f"{indent}if {self.number()} == {r.randint(0, 9)}:", f"{indent}    return"]
        return self.held(kind, depth, indent, together=together)

    def held(self, kind: str, depth: int, indent: str, *, together: bool) -> list[str]:
        """A branch or a loop."""
        r, deeper, alike = self.rng, indent + "    ", kind.startswith("uniform")
        if kind.endswith("branch"):
            condition = self.uniform() if alike else f"{self.number()} > {r.randint(0, 40)}"
            lines = [f"{indent}if {condition}:"]
            lines += self.block(depth - 1, deeper, together=alike, inside=True)
            if r.random() < 0.5:
                lines += [f"{indent}else:"]
                lines += self.block(depth - 1, deeper, together=alike, inside=True)
            return lines
        self.loops += 1
        rounds = "n % 4" if alike else f"abs({self.number()}) % 4"
        lines = [f"{indent}for k{self.loops} in range({rounds}):"]
        leaves = f"{self.uniform()}" if alike else f"{self.number()} > {r.randint(10, 90)}"
        body = self.block(depth - 1, deeper, together=alike, inside=True)
        if r.random() < 0.4:
            word = "break" if alike or r.random() < 0.5 else "continue"
            leaving = [f"{deeper}if {leaves}:", f"{deeper}    {word}"]
            body = leaving + body if r.random() < 0.5 else body + leaving
        return lines + body


def program(seed: int) -> str:
    """The source of one kernel."""
    writer = Writer(Random(seed))
    lines = [x for _ in range(3) for x in writer.block(2, "    ", together=True, inside=False)]
    return HEAD + "\n".join(lines) + TAIL


def run(device: Any, kernel: Any, x: np.ndarray[Any, Any], n: int, block: int) -> Any:
    with tw.device(device), tw.unsafe():
        out = tw.full((x.size,), -1, i32).sync()
        kernel(out.borrow_mut(), x, n).launch_config(block=block).sync()
        return out.to_numpy()


def seed_of(number: int) -> int:
    """The seed of a program that is the same in each run."""
    return 90000 + number


def check(seed: int, device: Any) -> None:
    """Compare what a program gives on a device with the reference."""
    source = program(seed)
    print(source)
    names: dict[str, Any] = {"tw": tw, "tl": tw.lang, "simt": simt, "i32": i32}
    execute(source, names)
    rng = np.random.default_rng(seed)
    block = int(rng.choice((1, 8, 32, 33, 70)))
    x = rng.integers(-5, 60, block + 9, np.int32)
    for n in (2, 7):
        got, expected = (run(d, names["kernel"], x, n, block) for d in (device, "reference"))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("device", ["cpu"])
@pytest.mark.parametrize("number", range(PROGRAMS))
def test_same_as_the_reference(number: int, device: str) -> None:
    check(fresh_seed(), device)
