"""Random kernels that index: loops and branches around checked accesses, and launches of them.

Indices are drawn from all that integers can do: launch-known values, blocks, loops, tiles of mapped
outputs, data, values that loops carry or branches choose, narrow and unsigned types, divisors of 0.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from support.ir import Kernel
from tilewright.backend.reference.interpreter import RULES, run
from tilewright.backend.reference.machine import Frame, Rule
from tilewright.base.dtypes import bool_, f32, i8, i32, i64, u32
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.core import Func, Op, Value
from tilewright.ir.launch_expr import Expr, LaunchCheck, LaunchFacts
from tilewright.ir.signature import OutputSpec
from tilewright.ir.types import I1, I32
from tilewright.launch.report import refusal

EXTREME = (0, 1, 2, 3, -1, -2, 7, 65536, 2**31 - 1, -(2**31), 2**30)
ROUNDINGS = (Rounding.NEG_INF, Rounding.POS_INF, Rounding.ZERO)
PREDICATES = tuple(Predicate)
TILE = (4, 4)
"""Of the output: the blocks stand next to each other, or visit its tiles in groups of `GROUPS`."""
GROUPS = (2, 1)
STEPS = (4, 2)
"""The tiles of the input."""

X0, X1, Z0 = ("extent", "x", 0), ("extent", "x", 1), ("extent", "z", 0)
N, M = ("scalar", "n"), ("scalar", "m")
BELIEVED: tuple[Expr, ...] = (
    ("eq", X0, Z0),
    ("eq", N, ("ceildiv", X0, ("const", 4))),
    ("le", Z0, X0),
    ("ge", N, ("const", 0)),
    ("gt", M, ("const", 0)),
    ("eq", ("mod", X0, ("const", 4)), ("const", 0)),
    ("le", ("add", N, M), ("ceildiv", X1, ("const", 2))),
    ("and", ("gt", X1, ("const", 0)), ("lt", M, X0)),
    ("le", ("floordiv", N, ("const", -2)), M),
    ("eq", ("mod", N, ("const", -3)), ("const", 0)),
    ("lt", ("floordiv", N, M), ("ceildiv", X1, ("const", 2))),
    ("le", ("mul", N, M), ("const", 3)),
)
"""Conditions that a launch may check before anything else."""


@dataclass(frozen=True)
class Shape:
    """What kind of grid a kernel has."""

    mapped: bool = False
    partial: bool = False


class Maker:
    """Draws one kernel."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.k = Kernel()
        self.shape = rng.choice((Shape(), Shape(), Shape(mapped=True), Shape(partial=True)))
        self.z = self.k.output("z", f32, 2, TILE)
        self.x = self.k.tensor("x", f32, 2)
        self.data = self.k.tensor("data", i32, 1)
        self.small = [self.k.scalar("n", i32), self.k.scalar("m", i32)]
        self.wild = self.k.scalar("w", i32)
        self.view = self.k.view(self.x, STEPS)
        self.own = self.k.view(self.z, TILE)
        self.counts = [self.k.emit("num_tiles", self.view, axis=axis) for axis in (0, 1)]
        self.tiles = [self.k.emit("num_tiles", self.own, axis=axis) for axis in (0, 1)]
        blocks = [self.k.emit(name, axis=a) for name in ("block_id", "num_blocks") for a in (0, 1)]
        self.blocks = blocks[:2]
        self.known = [*self.small, *self.counts, *blocks]
        self.line = 0

    def maybe(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance

    # --- integers --------------------------------------------------------------------------------

    def data_value(self) -> Value:
        return self.k.emit("reshape", self.k.load(self.data, (1,), 0), shape=())

    def leaf(self, *, wild: bool) -> Value:
        kind = self.rng.randrange(10 if wild else 8)
        if kind == 9:
            return self.wild
        if kind == 8:
            return self.data_value()
        if kind < 2:
            return self.k.i32(self.rng.randint(-2, 5))
        return self.rng.choice(self.known)

    def expression(self, depth: int, *, wild: bool) -> Value:
        """An index; without wild values and products it stays small."""
        if not depth or self.maybe(0.35):
            return self.leaf(wild=wild)
        names = ["addi", "subi", "mini", "maxi", "divi", "remi"]
        if wild:
            names += ["muli", "muli", "unary", "choice", "cast"]
        name = self.rng.choice(names)
        if name in _SPECIAL:
            return _SPECIAL[name](self, self.expression(depth - 1, wild=wild))
        a, b = (self.expression(depth - 1, wild=wild) for _ in range(2))
        return self.k.emit(name, a, b, **self.rounding(name))

    def rounding(self, name: str) -> dict[str, Any]:
        if name == "divi":
            return {"rounding": self.rng.choice(ROUNDINGS)}
        return {"rounding": self.rng.choice(ROUNDINGS[::2])} if name == "remi" else {}

    def unary(self, a: Value) -> Value:
        name = self.rng.choice(("negi", "absi", "shli", "shri", "andi"))
        if name in ("negi", "absi"):
            return self.k.emit(name, a)
        return self.k.emit(name, a, self.k.i32(self.rng.randrange(4)))

    def choice(self, a: Value) -> Value:
        """One of two, by an op or by a branch."""
        cond, b = self.condition(), self.leaf(wild=True)
        if self.maybe():
            return self.k.emit("select", cond, a, b)
        regions: list[Any] = []
        for _ in range(2):
            with self.k.region() as region:
                self.k.op("yield", [self.k.emit("addi", a, self.leaf(wild=True))])
            regions.append(region)
        return self.k.op("if", cond, regions=tuple(regions), types=(I32,)).result

    def cast(self, a: Value) -> Value:
        """There and back through another type, with some arithmetic on the way."""
        to = self.rng.choice((i64, u32, i8))
        word = {i64: "exti", u32: "bitcast", i8: "trunci"}[to]
        back = {i64: "trunci", u32: "bitcast", i8: "exti"}[to]
        inner = self.k.emit(word, a, to=to)
        other = self.k.emit(word, self.leaf(wild=True), to=to)
        name = self.rng.choice(("addi", "subi", "muli", "mini", "maxi", "divi", "remi"))
        made = self.k.emit(name, inner, other, **self.rounding(name))
        return self.k.emit(back, made, to=i32)

    def condition(self) -> Value:
        a, b = (self.expression(1, wild=True) for _ in range(2))
        made = self.k.emit("cmpi", a, b, predicate=self.rng.choice(PREDICATES))
        kind = self.rng.randrange(5)
        if kind == 0:
            return self.k.emit("noti", made)
        if kind > 2:
            return made
        sides = self.rng.choice((a, self.leaf(wild=True))), self.leaf(wild=True)
        other = self.k.emit("cmpi", *sides, predicate=self.rng.choice(PREDICATES))
        if self.maybe():
            return self.k.emit("andi" if kind == 1 else "ori", made, other)
        return self.short(made, conjunction=kind == 1)

    def short(self, first: Value, *, conjunction: bool) -> Value:
        """`first and second`, or `first or second`: the second is only asked where it matters."""
        arms: list[Any] = []
        for asked in (conjunction, not conjunction):
            with self.k.region() as arm:
                values = self.leaf(wild=True), self.expression(1, wild=False)
                second = self.k.emit("cmpi", *values, predicate=self.rng.choice(PREDICATES))
                known = self.k.constant(not conjunction, bool_)
                self.k.op("yield", [second if asked else known])
            arms.append(arm)
        return self.k.op("if", first, regions=tuple(arms), types=(I1,)).result

    # --- accesses --------------------------------------------------------------------------------

    def index(self, axis: int) -> Value:
        """Anything, or one of the ways in which kernels stay inside."""
        kind = self.rng.randrange(5)
        if kind == 0:
            return self.known[-1]
        if kind > 2:
            return self.expression(3, wild=True)
        inner = self.k.emit("maxi", self.expression(2, wild=True), self.k.i32(0))
        last = self.k.emit("subi", self.counts[axis], self.k.i32(1))
        return self.k.emit("mini", inner, last if kind == 1 else self.expression(1, wild=False))

    def access(self) -> None:
        """Copy a tile of x to this block's own; one that failed a check is not copied."""
        axis = self.rng.randrange(2)
        index = self.index(axis)
        self.line += 1
        self.k.line(self.line)
        ok = self.k.emit("check", index, self.counts[axis], tensor="x", axis=axis)
        place = [index, self.k.i32(0)] if axis == 0 else [self.k.i32(0), index]
        tile = self.k.emit("load_view", self.view, place, ok)
        if not self.shape.mapped:
            wide = self.k.emit("cat", tile, tile, axis=1)
            self.k.op("store_view", wide, self.own, self.blocks, ok)
        else:
            self.k.op("print", [tile], template=())
        self.known = [*self.known, index]

    # --- control ---------------------------------------------------------------------------------

    def body(self, depth: int) -> None:
        for _ in range(self.rng.randint(1, 2)):
            kinds: list[Callable[[], None]] = [self.access, self.access]
            if depth:
                kinds += [lambda: self.branch(depth), lambda: self.loop(depth)]
                kinds += [lambda: self.visit(depth)] if self.shape.mapped else []
            self.rng.choice(kinds)()

    def bounds(self) -> tuple[Value, Value]:
        lower, upper = (self.expression(2, wild=False) for _ in range(2))
        if self.maybe():
            lower = self.k.i32(0)
        elif self.maybe(0.2):
            lower = self.k.emit("maxi", self.k.emit("mini", self.data_value(), self.k.i32(5)),
                                self.k.i32(-3))  # fmt: skip
        if self.maybe():
            other = self.data_value() if self.maybe() else upper
            count = self.rng.choice(self.counts)
            upper = self.k.emit("mini", count, other) if self.maybe() else count
        return lower, upper

    def loop(self, depth: int) -> None:
        lower, upper = self.bounds()
        step = self.rng.choice((self.k.i32(1), self.k.i32(1), self.k.i32(2), *self.small))
        carried = self.maybe(0.3)
        known = self.known
        with self.k.region(I32, *((I32,) if carried else ())) as region:
            self.known = [*known, region.args[0], region.args[0], *region.args[1:]]
            self.body(depth - 1)
            self.leave(region.args[1:])
        self.known = known
        start = [self.leaf(wild=False)] if carried else []
        made = self.k.op("for", lower, upper, step, start, regions=(region,))
        self.known = [*known, *made.results]

    def visit(self, depth: int) -> None:
        """All tiles of a mapped output, shared by the blocks."""
        total = self.k.emit("muli", *self.tiles)
        known = self.known
        with self.k.region(I32) as region:
            made = self.k.op("tile_index", region.args[0], self.tiles, [], groups=GROUPS)
            self.known = [*known, *made.results, *made.results]
            self.body(depth - 1)
            self.k.op("continue")
        self.known = known
        blocks = self.k.emit("num_blocks", axis=0)
        self.k.op("for", self.blocks[0], total, blocks, [], regions=(region,))

    def leave(self, carried: Sequence[Value]) -> None:
        """End a loop's body, perhaps early."""
        if self.maybe(0.2):
            cond = self.condition()
            with self.k.region() as early:
                word = self.rng.choice(("break", "continue", "return"))
                self.k.op(word, *([] if word == "return" else [carried]))
            with self.k.region() as late:
                self.k.op("yield")
            self.k.op("if", cond, regions=(early, late), types=())
            self.access()
        changed = [self.k.emit("addi", v, self.leaf(wild=False)) for v in carried]
        self.k.op("continue", changed)

    def branch(self, depth: int) -> None:
        cond = self.condition()
        regions: list[Any] = []
        known = self.known
        for _ in range(2):
            with self.k.region() as region:
                if self.maybe(0.6):
                    self.body(depth - 1)
                self.k.op("yield")
            self.known = known
            regions.append(region)
        self.k.op("if", cond, regions=tuple(regions), types=())

    def func(self) -> Func:
        self.body(3)
        believed = self.rng.sample(BELIEVED, self.rng.randrange(3))
        checks = tuple(LaunchCheck(expr, "believed", None) for expr in believed)
        return replace(self.with_grid(self.k.finish()), launch_checks=checks)

    def with_grid(self, func: Func) -> Func:
        groups = GROUPS if self.shape.mapped else None
        params = tuple(
            replace(spec, groups=groups, partial=self.shape.partial)
            if isinstance(spec, OutputSpec) else spec
            for spec in func.signature.params
        )  # fmt: skip
        return replace(func, signature=replace(func.signature, params=params))


_SPECIAL = {"unary": Maker.unary, "choice": Maker.choice, "cast": Maker.cast}


class Arguments(NamedTuple):
    """Extents, data and numbers of one launch; `blocks` are for grids that the launch chooses."""

    z: tuple[int, int]
    x: tuple[int, int]
    data: int
    n: int
    m: int
    w: int
    blocks: tuple[int, int]


def arguments(rng: random.Random) -> Arguments:
    """Draw a launch."""
    z, x = (rng.randint(1, 12), rng.randint(1, 9)), (rng.randint(0, 12), rng.randint(0, 6))
    n, m = rng.randint(-2, 5), rng.randint(-2, 5)
    blocks = rng.randint(1, 3), rng.randint(1, 3)
    return Arguments(z, x, rng.choice(EXTREME), n, m, rng.choice(EXTREME), blocks)


MOST_ITERATIONS = 1_000
TOO_LONG = "too long"
"""How a launch ends whose loops run on and on; most of them fail soon."""


class TooLongError(Exception):
    """More iterations than anybody waits for."""


def counting(jump: Rule) -> Rule:
    """The rule of the jump that ends an iteration, for so many of them."""
    left = MOST_ITERATIONS

    def count(frame: Frame, op: Op) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooLongError
        return jump(frame, op)

    return count


class Ended(NamedTuple):
    """How a launch ends: `ok`, `failed` in a block, `too long`, or why it was refused; and what it
    wrote."""

    how: str
    wrote: bytes = b""


def grid_of(func: Func, args: Arguments) -> tuple[int, int]:
    """The grid of a launch."""
    tiles = -(-args.z[0] // TILE[0]), -(-args.z[1] // TILE[1])
    spec = next(s for s in func.signature.params if isinstance(s, OutputSpec))
    if spec.groups is not None:
        return min(args.blocks[0], prod(tiles)), 1
    if spec.partial:
        return min(args.blocks[0], tiles[0]), min(args.blocks[1], tiles[1])
    return tiles


def launched(func: Func, args: Arguments) -> Ended:
    """Launch a kernel on the reference."""
    grid = grid_of(func, args)
    facts = LaunchFacts(
        {"z": args.z, "x": args.x, "data": (1,)}, {"n": args.n, "m": args.m, "w": args.w},
        (*grid, 1),
    )  # fmt: skip
    refused = refusal(func.launch_checks, facts)
    if refused is not None:
        return Ended(refused.message)
    z = np.full(args.z, -77.5, np.float32)
    x = np.arange(prod(args.x), dtype=np.float32).reshape(args.x)
    try:
        with patch.dict(RULES, {"continue": counting(RULES["continue"])}):
            ended = run(func, [z, x, np.array([args.data], "i4"), args.n, args.m, args.w], grid)
    except TooLongError:
        return Ended(TOO_LONG)
    if ended.failure is not None:
        return Ended("failed")
    printed = b"".join(np.asarray(v).tobytes() for p in ended.printed for v in p.values)
    return Ended("ok", z.tobytes() + printed)
