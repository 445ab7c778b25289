"""Random SIMT kernels whose indices are brought inside, or nearly so, and launches of them."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from support.ir import Kernel
from support.recipes import Recipes, number
from support.replay import Launch
from tilewright.base.dtypes import f32, i32
from tilewright.ir.attrs import ThreadCoordinate
from tilewright.ir.core import Func, Value
from tilewright.ir.launch_expr import Expr, LaunchCheck, LaunchFacts
from tilewright.ir.signature import TensorSpec
from tilewright.ir.types import TensorType

BLOCKS = ((4,), (3,), (2, 3), (2, 1, 2))
"""Of threads, along x first."""
XS, YS, N, M = ("length", "x"), ("length", "y"), ("scalar", "n"), ("scalar", "m")
SIZES = (0, 1, 2, 4, 6, 8, 12, 24)


class ThreadRecipes(Recipes):
    """Draws one kernel of threads; its slices stand for the axes of a tensor."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.k = Kernel()
        self.block = rng.choice(BLOCKS)
        slices = [self.slice(name) for name in ("x", "y")]
        self.data = self.k.tensor("data", i32, 1)
        self.small = [self.k.scalar("n", i32), self.k.scalar("m", i32)]
        self.wild = self.k.scalar("w", i32)
        self.counts = [self.k.emit("length", s) for s in slices]
        places = [self.k.emit("place", what=what, axis=axis) for what in PLACES for axis in (0, 1)]
        width = rng.choice((*self.counts, *self.small))
        self.known = [*self.small, *self.counts, *places, self.k.emit("index_1d"),
                      self.k.emit("index_2d", width), self.along()]  # fmt: skip
        self.known += self.known[-3:]
        self.line = 0

    def slice(self, name: str) -> Value:
        self.k.specs.append(TensorSpec(name, f32, (None,), (1,)))
        return self.k._param(name, TensorType(f32, (None,), (1,), False, name))

    def along(self) -> Value:
        """A thread's number along x, as CUDA programs write it."""
        block, size, thread = (
            self.k.emit("place", what=what, axis=0)
            for what in (
                ThreadCoordinate.BLOCK,
                ThreadCoordinate.BLOCK_SIZE,
                ThreadCoordinate.THREAD,
            )
        )
        return self.k.emit("addi", self.k.emit("muli", block, size), thread)

    def of_extent(self, axis: int) -> Value:
        """From the end of a slice."""
        last = self.k.emit("subi", self.counts[axis], self.k.i32(self.rng.randint(0, 2)))
        return self.k.emit("subi", last, self.plain(axis))

    def checked(self, axis: int, index: Value) -> None:
        self.line += 1
        self.k.line(self.line)
        self.k.emit("check_index", index, self.counts[axis], slice="xy"[axis])
        self.known = [*self.known, index]

    def visit(self, depth: int) -> None:
        raise NotImplementedError("threads have no tiles to visit")

    @property
    def shape(self) -> Any:
        return _PLAIN

    def data_value(self) -> Value:
        return self.wild

    def func(self) -> Func:
        self.body(3)
        checks = [LaunchCheck(self.condition_of_launch(), "believed", None)
                  for _ in range(self.rng.randrange(3))]  # fmt: skip
        func = self.k.finish()
        signature = replace(func.signature, block=self.block)
        return replace(func, signature=signature, launch_checks=tuple(checks))

    def condition_of_launch(self) -> Expr:
        leaf, other = self.rng.choice((XS, YS, N, M)), self.rng.choice((XS, YS, N, M))
        kind = self.rng.randrange(4)
        if kind == 0:
            return ("eq", ("mod", leaf, number(self.rng.randint(1, 4))), number(0))
        if kind == 1:
            threads = ("mul", ("grid_dim", 0), number(self.block[0]))
            return (self.rng.choice(("le", "lt", "eq")), threads, self.rng.choice((XS, YS)))
        word = self.rng.choice(("lt", "le", "gt", "ge", "eq"))
        return (word, leaf, ("add", other, number(self.rng.randint(-2, 2))))


class _Plain:
    mapped = False
    partial = False


_PLAIN = _Plain()
PLACES = (
    ThreadCoordinate.THREAD,
    ThreadCoordinate.BLOCK,
    ThreadCoordinate.BLOCK_SIZE,
    ThreadCoordinate.GRID_SIZE,
)
EXTREME = (0, 1, 2, 3, -1, 7, 65536, 2**31 - 1, -(2**31), 2**30)


def draw_threads(rng: random.Random) -> tuple[Func, Any]:
    """A kernel, and what draws its launches."""
    maker = ThreadRecipes(rng)
    func = maker.func()
    axes = len(maker.block)

    def launch(rng: random.Random) -> Launch:
        x, y = rng.choice(SIZES), rng.choice(SIZES)
        n, m, w = rng.randint(-2, 8), rng.randint(-2, 8), rng.choice(EXTREME)
        grid = tuple(rng.randint(1, 3) for _ in range(axes))[::-1]
        full = (*(1,) * (3 - axes), *grid)
        facts = LaunchFacts({"x": (x,), "y": (y,), "data": (1,)}, {"n": n, "m": m, "w": w}, full)
        arrays = [np.zeros(x, np.float32), np.zeros(y, np.float32), np.zeros(1, np.int32)]
        assert prod(full) >= 1
        return Launch([*arrays, n, m, w], facts, full)

    return func, launch
