"""Random kernels whose indices are brought inside in the ways that kernels have, or nearly so.

Half of the ways are off by one somewhere, so that what is proved stands next to what is not: by
remainders and quotients of either rounding, products of scalars, least and greatest values,
choices, guards, nested loops and values that loops carry; with conditions of the launch about all.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from support.indexing import BELIEVED, STEPS, X0, X1, M, Maker, N, arguments, grid_of
from support.replay import Launch
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.core import Func, Value
from tilewright.ir.launch_expr import Expr, LaunchCheck, LaunchFacts

TRUNCATED, FLOORED, CEILED = Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF
COMPARED = ("lt", "le", "gt", "ge", "eq")


def number(n: int) -> Expr:
    return ("const", n)


class Recipes(Maker):
    """Draws one kernel of tiles."""

    def jitter(self, value: Value, *, by: int | None = None) -> Value:
        """A value, or one next to it."""
        off = self.rng.choice((0, 0, 0, 1, -1)) if by is None else by
        return self.k.emit("addi", value, self.k.i32(off)) if off else value

    def tame(self, depth: int = 2) -> Value:
        return self.expression(depth, wild=False)

    def limit(self, axis: int) -> Value:
        """What an index must stay below, or nearly."""
        return self.jitter(self.counts[axis])

    # --- ways to stay inside ----------------------------------------------------------------------

    def remainder(self, axis: int) -> Value:
        by = self.limit(axis) if self.maybe() else self.k.i32(self.rng.randint(0, 4))
        top = self.tame() if self.maybe(0.7) else self.expression(2, wild=True)
        return self.k.emit("remi", top, by, rounding=self.rng.choice((FLOORED, TRUNCATED)))

    def quotient(self, axis: int) -> Value:
        """(i * k + r) // k, with r below k or not."""
        by = self.k.i32(self.rng.choice((-2, 0, 1, 2, 3, 4)))
        scaled = self.k.emit("muli", self.plain(axis), by)
        top = self.k.emit("addi", scaled, self.k.i32(self.rng.randint(-2, 4)))
        return self.k.emit("divi", top, by, rounding=self.rng.choice((FLOORED, TRUNCATED, CEILED)))

    def of_extent(self, axis: int) -> Value:
        """An extent in other units than tiles."""
        extent = self.k.emit("extent", self.x, axis=axis)
        by = self.k.i32(self.rng.choice((STEPS[axis], STEPS[axis], 1, 3)))
        top = self.k.emit("subi", extent, self.k.i32(self.rng.randint(-1, 4)))
        return self.k.emit("divi", top, by, rounding=self.rng.choice((FLOORED, TRUNCATED, CEILED)))

    def clamp(self, axis: int) -> Value:
        low = self.k.emit("maxi", self.expression(2, wild=True), self.jitter(self.k.i32(0)))
        return self.k.emit("mini", low, self.jitter(self.counts[axis], by=self.rng.choice((-1, 0))))

    def chosen(self, axis: int) -> Value:
        """select(i < count, i, 0)."""
        index = self.tame()
        predicate = self.rng.choice((Predicate.LT, Predicate.LE, Predicate.GE))
        cond = self.k.emit("cmpi", index, self.limit(axis), predicate=predicate)
        return self.k.emit("select", cond, index, self.k.i32(0))

    def product(self, axis: int) -> Value:
        """n * m, or a block or an iteration times a number, and some more."""
        factor = self.rng.choice((*self.small, self.k.i32(self.rng.randint(-1, 3))))
        made = self.k.emit("muli", self.plain(axis), factor)
        return self.k.emit("addi", made, self.tame(1)) if self.maybe() else made

    def shared(self, axis: int) -> Value:
        """A quotient times what it was divided by, or less."""
        by = self.rng.choice(self.small)
        made = self.k.emit("divi", self.limit(axis), by, rounding=FLOORED)
        other = by if self.maybe() else self.rng.choice(self.small)
        return self.jitter(self.k.emit("muli", made, other), by=self.rng.choice((0, -1)))

    def plain(self, axis: int) -> Value:
        return self.rng.choice(self.known)

    def index(self, axis: int) -> Value:
        made: Value = getattr(self, self.rng.choice(RECIPES))(axis)
        return self.jitter(made) if self.maybe(0.2) else made

    def anything(self, axis: int) -> Value:
        return super().index(axis)

    # --- ways to guard ----------------------------------------------------------------------------

    def body(self, depth: int) -> None:
        if depth and self.maybe(0.3):
            self.guarded(depth)
        else:
            super().body(depth)

    def guarded(self, depth: int) -> None:
        """`if 0 <= i and i < count`, with one side off or missing, then an access at i."""
        axis = self.rng.randrange(2)
        index = self.index(axis)
        above = self.k.emit("cmpi", index, self.jitter(self.k.i32(0)), predicate=Predicate.GE)
        below = self.k.emit("cmpi", index, self.limit(axis), predicate=Predicate.LT)
        cond = self.rng.choice((above, below, self.k.emit("andi", above, below)))
        if self.maybe(0.2):
            cond = self.k.emit("noti", cond)
        known = self.known
        regions: list[Any] = []
        for _ in range(2):
            with self.k.region() as region:
                self.checked(axis, index)
                if self.maybe(0.3):
                    self.body(depth - 1)
                self.k.op("yield")
            self.known = known
            regions.append(region)
        self.k.op("if", cond, regions=tuple(regions), types=())

    def access(self) -> None:
        axis = self.rng.randrange(2)
        self.checked(axis, self.index(axis))

    def checked(self, axis: int, index: Value) -> None:
        self.line += 1
        self.k.line(self.line)
        self.k.emit("check", index, self.counts[axis], tensor="x", axis=axis)
        self.known = [*self.known, index]

    # --- conditions of the launch -----------------------------------------------------------------

    def func(self) -> Func:
        self.body(3)
        checks = [LaunchCheck(self.condition_of_launch(), "believed", None)
                  for _ in range(self.rng.randrange(4))]  # fmt: skip
        return replace(self.with_grid(self.k.finish()), launch_checks=tuple(checks))

    def condition_of_launch(self) -> Expr:
        kind = self.rng.randrange(4)
        if kind == 0:
            return self.rng.choice(BELIEVED)
        leaf, other = self.rng.choice((X0, X1, N, M)), self.rng.choice((X0, X1, N, M))
        if kind == 1:
            return ("eq", ("mod", leaf, number(self.rng.randint(1, 4))), number(0))
        if kind == 2:
            return (
                self.rng.choice(COMPARED),
                leaf,
                ("add", other, number(self.rng.randint(-2, 2))),
            )
        word = self.rng.choice(("mul", "floordiv", "mod", "min", "max"))
        return (self.rng.choice(COMPARED), (word, leaf, other), self.rng.choice((X0, N, number(2))))


RECIPES = (
    "remainder", "quotient", "of_extent", "clamp", "chosen", "product", "shared", "plain",
    "anything",
)  # fmt: skip


def draw_tiles(rng: random.Random) -> tuple[Func, Callable[[random.Random], Launch]]:
    """A kernel, and what draws its launches."""
    func = Recipes(rng).func()

    def launch(rng: random.Random) -> Launch:
        args = arguments(rng)
        grid = grid_of(func, args)
        facts = LaunchFacts(
            {"z": args.z, "x": args.x, "data": (1,)}, {"n": args.n, "m": args.m, "w": args.w},
            (*grid, 1),
        )  # fmt: skip
        arrays = [np.zeros(args.z, "f4"), np.zeros(args.x, "f4"), np.array([args.data], "i4")]
        return Launch([*arrays, args.n, args.m, args.w], facts, (*grid, 1))

    return func, launch
