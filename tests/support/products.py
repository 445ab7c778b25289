"""Random chains of matrix products and transposes, in loops with several accumulators.

Every number is an integer so small that its type holds it exactly, so that every order of
computation gives the same bits. A tile is often an operand of several products, on either side.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from support.ir import poisoned
from support.native import Dense
from tilewright.base.dtypes import AnyDType, bf16, f16, f32, f64, i8, i32, int_range, u8
from tilewright.ir.core import Func, Value
from tilewright.ir.types import TileType

Array = np.ndarray[Any, np.dtype[Any]]

PRODUCTS = [(f16, f16), (f16, f32), (bf16, f32), (f32, f32), (f64, f64), (i8, i32), (u8, i32)]
"""Types of elements and of sums."""
EXTENTS = (8, 16, 32, 64, 64)
"""Long rows are in panels: they are more likely."""
TENSOR = 70
"""The extent of the input along each axis: larger tiles, and later ones, are padded."""
GRID = (2, 2)
ROUNDS = (0, 1, 2, 3, 3)
"""Iterations of a loop; three products that each add an eighth stay exact."""
LIMITS: dict[AnyDType, int] = {f16: 2**11, f32: 2**24, f64: 2**53}
"""Integers up to this are exact."""
SMALL = 2


class Products:
    """Builds one program from a seed."""

    def __init__(self, seed: int, element: AnyDType, sums: AnyDType) -> None:
        self.rng = random.Random(seed)
        self.element, self.sums = element, sums
        self.batch = self.rng.choice([(), (), (2,)])
        self.extents = [self.rng.choice(EXTENTS) for _ in range(self.rng.randint(1, 2))]
        self.k = Dense()
        self.x = self.k.tensor("x", element, 2 + len(self.batch))
        self.ids = [self.k.block_id(axis) for axis in range(2)]
        self.bounds: dict[Value, int] = {}
        """The largest magnitude of each tile's elements."""
        self.known: list[Value] = []
        self.totals: list[Value] = []
        self.stored: list[tuple[int, ...]] = []

    def func(self) -> Func:
        """The whole program."""
        self.known.append(self.load(self.shape()))
        self.statements(self.rng.randint(0, 3))
        for _ in range(self.rng.randint(1, 2)):
            self.loop()
            self.statements(self.rng.randint(0, 2))
        for value in self.totals[-3:]:
            self.store(value)
        return self.k.finish()

    # Tiles, all of them of the elements' type.

    def shape(self) -> tuple[int, int]:
        return self.rng.choice(self.extents), self.rng.choice(self.extents)

    def load(self, shape: Sequence[int], at: Value | None = None) -> Value:
        """A tile of the input, whose place often depends on the block and on the loop."""
        index = [self.rng.choice([self.k.i32(0), *self.ids, at or self.ids[0]]) for _ in shape]
        batch = [self.k.i32(0) for _ in self.batch]
        return self.bounded(self.k.load(self.x, (*self.batch, *shape), *batch, *index), SMALL)

    def bounded(self, value: Value, bound: int) -> Value:
        self.bounds[value] = bound
        return value

    def pick(self, rows: int | None = None, columns: int | None = None) -> Value:
        """A tile with these extents, a known one if there is one."""
        found = [v for v in self.known[-8:] if rows in (None, v.tile.shape[-2])
                 and columns in (None, v.tile.shape[-1])]  # fmt: skip
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found)
        m, n = self.shape()
        return self.load((rows or m, columns or n))

    def transposed(self, value: Value) -> Value:
        rank = value.tile.rank
        order = (*range(rank - 2), rank - 1, rank - 2)
        return self.bounded(self.k.emit("permute", value, order=order), self.bounds[value])

    def reduced(self, value: Value) -> Value:
        """A tile of small numbers: clamped, which is cheap, or a remainder, which is not."""
        if self.sums is i32:
            if value.tile.dtype is not self.element:
                value = self.k.emit("trunci", value, to=self.element)
            return self.bounded(value, SMALL)
        low, high, three = (self.k.constant(float(n), value.tile.dtype, value.tile.shape)
                            for n in (-SMALL, SMALL, SMALL + 1))  # fmt: skip
        if self.rng.random() < 0.5:
            value = self.k.emit("minf", self.k.emit("maxf", value, low), high)
        else:
            value = self.k.emit("remf", value, three)
        if value.tile.dtype is not self.element:
            value = self.k.emit("ftof", value, to=self.element)
        return self.bounded(value, SMALL)

    # Statements.

    def statements(self, count: int, at: Value | None = None) -> None:
        for _ in range(count):
            kind = self.rng.choice(["product", "product", "product", "transpose", "add", "load"])
            if kind == "product":
                self.chained()
            elif kind == "transpose":
                self.known.append(self.transposed(self.pick()))
            elif kind == "add":
                self.add()
            else:
                self.known.append(self.load(self.shape(), at))

    def add(self) -> None:
        a = self.pick()
        b = self.pick(*a.tile.shape[-2:])
        total = self.k.emit("addi" if self.sums is i32 else "addf", a, b)
        self.known.append(self.reduced(self.bounded(total, self.bounds[a] + self.bounds[b])))

    def product(self, acc: Value | None = None) -> Value:
        """A product of two tiles; it adds an eighth of the exact numbers at most."""
        m, n = acc.tile.shape[-2:] if acc is not None else (None, None)
        lhs = self.pick(rows=m)
        k = lhs.tile.shape[-1]
        turned = self.rng.random() < 0.5
        rhs = self.transposed(self.pick(n, k)) if turned else self.pick(k, n)
        limit = LIMITS.get(self.sums, 0) // 8
        while limit and k * self.bounds[lhs] * self.bounds[rhs] > limit:
            lhs, rhs = self.reduced(lhs), self.reduced(rhs)
        if acc is None:
            shape = (*self.batch, lhs.tile.shape[-2], rhs.tile.shape[-1])
            acc = self.k.constant(0 if self.sums is i32 else 0.0, self.sums, shape)
        name = "mmai" if self.sums is i32 else "mmaf"
        bound = self.bounds.get(acc, 0) + k * self.bounds[lhs] * self.bounds[rhs]
        return self.bounded(self.k.emit(name, lhs, rhs, acc), bound)

    def chained(self) -> None:
        """A product that other products take, as it is where its type allows."""
        result = self.product()
        self.totals.append(result)
        plain = self.element is self.sums and self.rng.random() < 0.5
        self.known.append(result if plain else self.reduced(result))

    def loop(self) -> None:
        """A loop with one to three accumulators, each of which a product is added to."""
        shapes = [(*self.batch, *self.shape()) for _ in range(self.rng.randint(1, 3))]
        zero = 0 if self.sums is i32 else 0.0
        inits = [self.k.constant(zero, self.sums, shape) for shape in shapes]
        known, totals = list(self.known), list(self.totals)
        with self.k.region(TileType(i32), *(v.type for v in inits)) as block:
            at, *accs = block.args
            self.known.append(self.load(self.shape(), at))
            new: list[Value] = []
            for acc in accs:
                self.statements(self.rng.randint(0, 3), at)
                new.append(self.product(acc))
                if self.rng.random() < 0.6:
                    self.known.append(self.reduced(self.rng.choice([acc, new[-1]])))
            self.k.op("continue", new)
        self.known, self.totals = known, totals
        count = self.k.i32(self.rng.choice(ROUNDS))
        results = self.k.op("for", self.k.i32(0), count, self.k.i32(1), inits, regions=[block])
        self.totals += results.results
        self.known += [self.reduced(value) for value in results.results]

    def store(self, value: Value) -> None:
        self.stored.append(value.tile.shape)
        rank = value.tile.rank
        output = self.k.output(f"z{len(self.stored)}", self.sums, rank, value.tile.shape)
        self.k.store(value, output, *(self.k.i32(0) for _ in self.batch), *self.ids)


def product_program(seed: int, element: AnyDType, sums: AnyDType) -> tuple[Func, list[Any]]:
    """A verified random program, and its arguments; the outputs are poisoned."""
    program = Products(seed, element, sums)
    func = program.func()
    rng = np.random.default_rng(seed)
    low, high = int_range(element) if sums is i32 else (-SMALL, SMALL)
    x = rng.integers(low, high + 1, (*program.batch, TENSOR, TENSOR)).astype(element.np)
    # The last tile of an output is cut off somewhere.
    shapes = [(*batch, *(g * n - int(rng.integers(0, n)) for g, n in zip(GRID, tile, strict=True)))
              for *batch, m, n in program.stored for tile in [(m, n)]]  # fmt: skip
    return func, [x, *(poisoned(sums, shape) for shape in shapes)]
