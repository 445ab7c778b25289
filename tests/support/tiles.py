"""Random programs over tiles: layouts, reductions, products and memory in loops and branches.

All numbers are 32-bit integers, which wrap, so that every order of computation gives the same bits.
Stores and loads meet in the same few tensors, so that their order matters.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from support.ir import Kernel
from tilewright.base.dtypes import f32, i8, i32, u8
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.types import TileType

SHAPES = [(8, 16), (16, 8), (16, 16), (16,), (8,), (8, 1), (1, 16), (128,), (2, 8, 8), (1, 1)]
TENSOR = (40, 40)
BINARY = ("addi", "subi", "muli", "maxi", "mini", "xori", "andi")


class Tiles:
    """Builds one program from a seed."""

    def __init__(self, seed: int, kernel: type[Kernel]) -> None:
        self.rng = random.Random(seed)
        self.k = kernel()
        self.x = self.k.tensor("x", i32, 2)
        self.outputs = [self.k.output(name, i32, 2) for name in ("y", "z")]
        self.n = self.k.scalar("n", i32)
        self.known: list[Value] = []
        self.depth = 0

    def func(self) -> Func:
        """The whole program."""
        for shape in ((8, 16), (16, 16), (16,)):
            self.known.append(self.load(shape))
        self.statements(self.rng.randint(6, 16))
        for value in self.rng.sample(self.known, min(4, len(self.known))):
            self.store(value)
        return self.k.finish()

    # Values.

    def pick(self, shape: tuple[int, ...]) -> Value:
        """A tile of a shape, one that is known or a new one."""
        found = [v for v in self.known if v.tile.shape == shape]
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found[-6:])
        return self.new(shape)

    def any(self) -> Value:
        return self.rng.choice(self.known[-10:])

    def new(self, shape: tuple[int, ...]) -> Value:
        if self.rng.random() < 0.5:
            return self.k.constant(self.rng.randint(-5, 5), i32, shape)
        size = int(np.prod(shape))
        return self.k.emit("reshape", self.k.emit("iota", size=size, dtype=i32), shape=shape)

    def index(self) -> Value:
        return self.rng.choice([self.n, self.k.i32(self.rng.randint(-1, 2)), self.k.block_id(0)])

    def load(self, shape: tuple[int, ...]) -> Value:
        """A tile of some tensor, through a view of rank 2."""
        tensor = self.rng.choice([self.x, self.x, *self.outputs])
        tile = shape if len(shape) == 2 else (1, int(np.prod(shape)))
        attrs: dict[str, Any] = {"padding": self.rng.choice([0, 7])}
        if self.rng.random() < 0.2:
            attrs["dim_map"] = (1, 0)
        if self.rng.random() < 0.2:
            attrs["step"] = (self.rng.choice([1, 3]), 5)
        loaded = self.k.load(tensor, tile, self.index(), self.index(), **attrs)
        return self.k.emit("reshape", loaded, shape=shape)

    def store(self, value: Value) -> None:
        shape = value.tile.shape
        tile = shape if len(shape) == 2 else (1, int(np.prod(shape)))
        value = self.k.emit("reshape", value, shape=tile)
        attrs: dict[str, Any] = {"step": (4, 5)} if self.rng.random() < 0.3 else {}
        self.k.store(value, self.rng.choice(self.outputs), self.index(), self.index(), **attrs)

    # Statements.

    def statements(self, count: int) -> None:
        for _ in range(count):
            makers = [self.binary] * 4 + [self.layout] * 4 + [self.reduce] * 2 + [self.memory] * 3
            makers += [self.product, self.select, self.cat, self.scan, self.divide, self.print]
            if self.depth < 2:
                makers += [self.loop, self.loop, self.branch]
            self.rng.choice(makers)()

    def keep(self, value: Value) -> None:
        if value.tile.size <= 1024 and value.tile.rank:
            self.known.append(value)

    def binary(self) -> None:
        a = self.any()
        self.keep(self.k.emit(self.rng.choice(BINARY), a, self.pick(a.tile.shape)))

    def divide(self) -> None:
        """Costly enough to be kept."""
        a = self.any()
        b = self.pick(a.tile.shape)
        self.keep(self.k.emit("divi", a, b, rounding=Rounding.NEG_INF))

    def select(self) -> None:
        a = self.any()
        b = self.pick(a.tile.shape)
        cond = self.k.emit("cmpi", a, b, predicate=Predicate.LT)
        self.keep(self.k.emit("select", cond, b, self.pick(a.tile.shape)))

    def layout(self) -> None:
        a = self.any()
        shape = a.tile.shape
        kinds: list[Callable[[], Value]] = []
        order = list(range(len(shape)))
        self.rng.shuffle(order)
        kinds.append(lambda: self.k.emit("permute", a, order=tuple(order)))
        targets = [s for s in SHAPES if np.prod(s) == a.tile.size]
        if targets:
            kinds.append(lambda: self.k.emit("reshape", a, shape=self.rng.choice(targets)))
        if 1 in shape:
            wide = tuple(self.rng.choice([8, 16]) if n == 1 else n for n in shape)
            kinds.append(lambda: self.k.emit("broadcast", a, shape=wide))
        parts = tuple(self.rng.choice([n, max(n // 2, 1)]) for n in shape)
        at = [self.index() for _ in shape]
        kinds.append(lambda: self.k.emit("extract", a, at, shape=parts))
        self.keep(self.rng.choice(kinds)())

    def body(self, name: str) -> Block:
        with self.k.region(TileType(i32), TileType(i32)) as block:
            elem, acc = block.args
            self.k.op("yield", [self.k.emit(name, acc, elem)])
        return block

    def reduce(self) -> None:
        a = self.any()
        axis = self.rng.randrange(a.tile.rank)
        name, start = self.rng.choice([("addi", 0), ("maxi", -(2**31)), ("xori", 0)])
        result = self.k.emit(
            "reduce", [a], regions=[self.body(name)], axis=axis, identities=(start,)
        )
        if result.tile.rank == 0:
            self.keep(self.k.broadcast(result, self.rng.choice(SHAPES)))
        else:
            shape = (*a.tile.shape[:axis], 1, *a.tile.shape[axis + 1 :])
            wide = self.k.emit("reshape", result, shape=shape)
            self.keep(self.rng.choice([result, wide]))
            self.keep(self.k.emit("broadcast", wide, shape=a.tile.shape))

    def scan(self) -> None:
        a = self.any()
        attrs = {"axis": self.rng.randrange(a.tile.rank), "reverse": self.rng.random() < 0.5}
        self.keep(self.k.emit("scan", [a], regions=[self.body("addi")], identities=(0,), **attrs))

    def cat(self) -> None:
        a = self.any()
        b = self.pick(a.tile.shape)
        self.keep(self.k.emit("cat", a, b, axis=self.rng.randrange(a.tile.rank)))

    def product(self) -> None:
        a, b = self.pick((8, 16)), self.pick((16, 8))
        small = [self.k.emit("trunci", v, to=t) for v, t in ((a, i8), (b, u8))]
        acc = self.pick((8, 8))
        if self.rng.random() < 0.5:
            self.keep(self.k.emit("mmai", *small, acc))
            return
        floats = [self.k.emit("itof", v, to=f32) for v in (*small, self.k.constant(3, i8, (8, 8)))]
        self.keep(self.k.emit("ftoi", self.k.emit("mmaf", *floats), to=i32))

    def memory(self) -> None:
        if self.rng.random() < 0.5:
            self.store(self.any())
        else:
            self.keep(self.load(self.rng.choice(SHAPES)))

    def print(self) -> None:
        self.k.op("print", [self.any(), self.n], template=((0, ""), (1, "")))

    def carried(self) -> list[Value]:
        return [self.any() for _ in range(self.rng.randint(0, 3))]

    def loop(self) -> None:
        inits = self.carried()
        with self.k.region(TileType(i32), *(v.type for v in inits)) as block:
            visible, self.known = self.known, [*self.known, *block.args[1:]]
            self.depth += 1
            self.statements(self.rng.randint(1, 5))
            if self.rng.random() < 0.3:
                self.leave_at(block.args[0], [v.tile.shape for v in inits])
            self.k.op("continue", [self.pick(v.tile.shape) for v in inits])
            self.depth -= 1
        self.known = visible
        count = self.rng.choice([self.n, self.k.i32(self.rng.randint(0, 3))])
        self.known += self.k.op(
            "for", self.k.i32(0), count, self.k.i32(1), inits, regions=[block]
        ).results

    def leave_at(self, iv: Value, shapes: list[tuple[int, ...]]) -> None:
        """Leave the loop, or go to its next round, at some count."""
        now = self.k.emit("cmpi", iv, self.k.i32(1), predicate=Predicate.EQ)
        arms = []
        with self.k.region() as arm:
            visible = list(self.known)
            self.statements(1)
            word = self.rng.choice(["break", "continue"])
            self.k.op(word, [self.pick(s) for s in shapes])
            self.known = visible
        arms.append(arm)
        with self.k.region() as arm:
            self.k.op("yield", [])
        self.k.op("if", now, regions=[*arms, arm])

    def branch(self) -> None:
        kinds = [v.type for v in self.carried()]
        cond = self.k.emit("cmpi", self.n, self.k.i32(1), predicate=Predicate.GT)
        arms = []
        self.depth += 1
        for _ in range(2):
            with self.k.region() as arm:
                visible = list(self.known)
                self.statements(self.rng.randint(0, 3))
                self.k.op("yield", [self.pick(t.shape) for t in kinds if isinstance(t, TileType)])
                self.known = visible
            arms.append(arm)
        self.depth -= 1
        self.known += self.k.op("if", cond, regions=arms, types=tuple(kinds)).results


def tile_program(seed: int, kernel: type[Kernel]) -> Func:
    """A verified random program of the parameters x, y, z and n."""
    return Tiles(seed, kernel).func()


def tile_arguments(seed: int) -> list[Any]:
    """Arguments for it; the second and third are written."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(-99, 99, TENSOR).astype("i4") for _ in range(3)]
    return [*arrays, int(rng.integers(-1, 4))]
