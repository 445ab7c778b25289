"""Random kernels: what the ladder takes out of a kernel never lets a failure pass.

Each kernel runs as it is, with all its checks, and again as the ladder leaves it. Where the first
fails the second fails too, at launch or in the kernel. Where it does not, the launch is refused
only if index arithmetic would wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.ir import Kernel
from tilewright.backend.reference import run
from tilewright.base.dtypes import f32, i32
from tilewright.ir import Func, LaunchCheck, Placement, Value
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.launch_expr import Expr, LaunchFacts
from tilewright.ir.printer import print_func
from tilewright.ir.types import I32
from tilewright.launch.report import refusal
from tilewright.passes.prove_checks import prove_checks

Draw = Callable[[st.SearchStrategy[Any]], Any]

EXTREME = st.sampled_from((0, 1, 2, 3, -1, -2, 7, 65536, 2**31 - 1, -(2**31), 2**30))
SMALL = st.integers(-2, 5)

ROUNDINGS = st.sampled_from((Rounding.NEG_INF, Rounding.POS_INF, Rounding.ZERO))
PREDICATES = st.sampled_from(tuple(Predicate))


class Maker:
    """Draws one kernel: loops and branches around checks of drawn indices."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.k = Kernel()
        self.z = self.k.output("z", f32, 2, (4, 4))
        self.x = self.k.tensor("x", f32, 2)
        self.data = self.k.tensor("data", i32, 1)
        self.small = [self.k.scalar("n", i32), self.k.scalar("m", i32)]
        self.wild = self.k.scalar("w", i32)
        self.view = self.k.view(self.x, (4, 2))
        counts = [self.k.emit("num_tiles", self.view, axis=axis) for axis in (0, 1)]
        blocks = [self.k.emit(name, axis=a) for name in ("block_id", "num_blocks") for a in (0, 1)]
        self.counts = counts
        self.known = [*self.small, *counts, *blocks]
        self.line = 0

    def data_value(self) -> Value:
        loaded = self.k.load(self.data, (1,), 0)
        return self.k.emit("reshape", loaded, shape=())

    def leaf(self, *, wild: bool) -> Value:
        kind = self.draw(st.integers(0, 9 if wild else 7))
        if kind == 9:
            return self.wild
        if kind == 8:
            return self.data_value()
        if kind < 2:
            return self.k.i32(self.draw(SMALL))
        return self.draw(st.sampled_from(self.known))

    def expression(self, depth: int, *, wild: bool) -> Value:
        """An index; without wild values and products it stays small."""
        if not depth or self.draw(st.booleans()):
            return self.leaf(wild=wild)
        names = ["addi", "subi", "mini", "maxi", "divi", "remi", *(["muli"] if wild else [])]
        name = self.draw(st.sampled_from(names))
        a, b = (self.expression(depth - 1, wild=wild) for _ in range(2))
        attrs: dict[str, Any] = {}
        if name in ("divi", "remi"):
            attrs["rounding"] = self.draw(ROUNDINGS if name == "divi" else ROUNDINGS.filter(
                lambda r: r is not Rounding.POS_INF))  # fmt: skip
        return self.k.emit(name, a, b, **attrs)

    def index(self, axis: int) -> Value:
        """Anything, or one of the ways in which kernels stay inside."""
        kind = self.draw(st.integers(0, 4))
        if kind == 0:
            return self.known[-1]
        if kind > 2:
            return self.expression(3, wild=True)
        inner = self.k.emit("maxi", self.expression(2, wild=True), self.k.i32(0))
        last = self.k.emit("subi", self.counts[axis], self.k.i32(1))
        return self.k.emit("mini", inner, last if kind == 1 else self.expression(1, wild=False))

    def check(self) -> None:
        axis = self.draw(st.integers(0, 1))
        index = self.index(axis)
        self.line += 1
        self.k.line(self.line)
        self.k.emit("check", index, self.counts[axis], tensor="x", axis=axis)

    def body(self, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, 2))):
            kind = self.draw(st.integers(0, 3 if depth else 1))
            if kind == 3:
                self.loop(depth)
            elif kind == 2:
                self.branch(depth)
            else:
                self.check()

    def loop(self, depth: int) -> None:
        lower, upper = (self.expression(2, wild=False) for _ in range(2))
        if self.draw(st.booleans()):
            lower = self.k.i32(0)
        if self.draw(st.booleans()):
            other = self.data_value() if self.draw(st.booleans()) else upper
            count = self.draw(st.sampled_from(self.counts))
            upper = self.k.emit("mini", count, other) if self.draw(st.booleans()) else count
        step = self.draw(
            st.sampled_from((self.k.i32(1), self.k.i32(1), self.k.i32(2), *self.small))
        )
        known = self.known
        with self.k.region(I32) as region:
            self.known = [*known, region.args[0], region.args[0]]
            self.body(depth - 1)
            self.leave("continue")
        self.known = known
        self.k.op("for", lower, upper, step, [], regions=(region,))

    def leave(self, word: str) -> None:
        """End a loop's body, perhaps early."""
        if self.draw(st.integers(0, 4)):
            self.k.op(word)
            return
        cond = self.condition()
        with self.k.region() as early:
            self.k.op(self.draw(st.sampled_from(("break", "continue", "return"))))
        with self.k.region() as late:
            self.k.op("yield")
        self.k.op("if", cond, regions=(early, late), types=())
        self.check()
        self.k.op(word)

    def condition(self) -> Value:
        a, b = (self.expression(1, wild=True) for _ in range(2))
        made = self.k.emit("cmpi", a, b, predicate=self.draw(PREDICATES))
        kind = self.draw(st.integers(0, 4))
        if kind == 0:
            return self.k.emit("noti", made)
        if kind > 2:
            return made
        other = self.k.emit("cmpi", a, self.leaf(wild=True), predicate=self.draw(PREDICATES))
        return self.k.emit("andi" if kind == 1 else "ori", made, other)

    def branch(self, depth: int) -> None:
        cond = self.condition()
        regions: list[Any] = []
        for _ in range(2):
            with self.k.region() as region:
                if self.draw(st.booleans()):
                    self.body(depth - 1)
                self.k.op("yield")
            regions.append(region)
        self.k.op("if", cond, regions=tuple(regions), types=())

    def func(self) -> Func:
        self.body(3)
        believed = self.draw(st.lists(st.sampled_from(BELIEVED), max_size=2, unique=True))
        checks = tuple(LaunchCheck(expr, "believed", None) for expr in believed)
        return replace(self.k.finish(), launch_checks=checks)


X0, X1, Z0 = ("extent", "x", 0), ("extent", "x", 1), ("extent", "z", 0)
BELIEVED: tuple[Expr, ...] = (
    ("eq", X0, Z0),
    ("eq", ("scalar", "n"), ("ceildiv", X0, ("const", 4))),
    ("le", Z0, X0),
    ("ge", ("scalar", "n"), ("const", 0)),
    ("eq", ("mod", X0, ("const", 4)), ("const", 0)),
    ("le", ("add", ("scalar", "n"), ("scalar", "m")), ("ceildiv", X1, ("const", 2))),
    ("and", ("gt", X1, ("const", 0)), ("lt", ("scalar", "m"), X0)),
)
"""Conditions that a launch may check before anything else."""


class Drawn:
    """A kernel that shows itself as text."""

    def __init__(self, func: Func) -> None:
        self.func = func

    def __repr__(self) -> str:
        return print_func(self.func)


@st.composite
def kernels(draw: Draw) -> Drawn:
    """A kernel."""
    return Drawn(Maker(draw).func())


ARGUMENTS = st.tuples(
    st.tuples(st.integers(1, 12), st.integers(1, 9)),
    st.tuples(st.integers(0, 12), st.integers(0, 6)),
    EXTREME, SMALL, SMALL, EXTREME,
)  # fmt: skip


def outcome(func: Func, args: Any) -> str:
    """How a launch ends: `ok`, `failed` in a block, or why it was refused."""
    z_shape, x_shape, data, n, m, w = args
    grid = tuple(-(-extent // 4) for extent in z_shape)
    facts = LaunchFacts({"z": z_shape, "x": x_shape, "data": (1,)}, {"n": n, "m": m, "w": w},
                        (*grid, 1))  # fmt: skip
    refused = refusal(func.launch_checks, facts)
    if refused is not None:
        return refused.message
    arrays = [np.zeros(z_shape, "f4"), np.zeros(x_shape, "f4"), np.array([data], "i4")]
    ended = run(func, [*arrays, n, m, w], grid)
    return "ok" if ended.failure is None else "failed"


@settings(
    max_examples=300, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(kernels(), st.lists(ARGUMENTS, min_size=4, max_size=4))
def test_no_failure_passes_and_no_launch_is_refused_for_nothing(drawn, several):
    placed = prove_checks(drawn.func)
    for args in several:
        before, after = outcome(drawn.func, args), outcome(placed, args)
        if before == "failed":
            assert after != "ok", args
        elif before == "believed":
            assert after == before
        else:
            assert after == "ok" or "wraps around" in after, args


def test_the_kernels_drawn_use_every_rung():
    seen: set[Placement] = set()

    @settings(
        max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(kernels())
    def draw(drawn: Drawn) -> None:
        seen.update(o.placement for o in prove_checks(drawn.func).obligations)

    draw()
    assert seen == {Placement.PROVED, Placement.AT_LAUNCH, Placement.IN_PLACE}
