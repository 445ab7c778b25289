"""Random IR programs that end, for comparing a pass's input and output on the reference.

Programs have all of control flow (branches, both loops, scopes, early exits), loads, stores and
atomic sums on two outputs and one input, checks, asserts and prints. Constants are drawn from few
values, so that identities apply and equal ops occur.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from support.ir import Kernel
from tilewright.backend.reference.interpreter import Outcome, run
from tilewright.base.dtypes import AnyDType, bool_, f32, i8, i32, u32
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.printer import print_func
from tilewright.ir.types import TileType
from tilewright.ir.verify import verify

SCALARS = [TileType(d) for d in (i32, i32, u32, i8, bool_, f32)]
TILES = [TileType(f32, (4,)), TileType(i32, (4,)), TileType(f32, (2, 2)), TileType(bool_, (4,))]
TYPES = [*SCALARS, *TILES]

NUMBERS: dict[str, tuple[float, ...]] = {
    "i": (0, 1, 2, 3, -1, 7, 100), "u": (0, 1, 2, 3, 255), "b": (False, True),
    "f": (0.0, -0.0, 1.0, -1.0, 0.5, float("inf"), 3.0),
}  # fmt: skip
BINARY: dict[str, tuple[str, ...]] = {
    "i": ("addi", "subi", "muli", "divi", "remi", "maxi", "mini", "andi", "ori", "xori", "shli",
          "shri", "mulhi"),
    "f": ("addf", "subf", "mulf", "divf", "maxf", "minf"),
    "b": ("andi", "ori", "xori"),
}  # fmt: skip
CONVERSIONS: tuple[tuple[AnyDType, AnyDType, str], ...] = (
    (i32, f32, "itof"), (f32, i32, "ftoi"), (i8, i32, "exti"), (i32, i8, "trunci"),
    (i32, u32, "bitcast"), (bool_, i32, "exti"),
)  # fmt: skip
UNARY: dict[str, tuple[str, ...]] = {
    "i": ("negi", "absi", "noti"), "f": ("negf", "absf", "floor"), "b": ("noti",),
}  # fmt: skip


@dataclass(frozen=True)
class Around:
    """What may be left from here: the types each exit passes, and the counter to pass on."""

    depth: int = 0
    loop: tuple[TileType, ...] | None = None
    next_count: Value | None = None
    scope: tuple[TileType, ...] | None = None
    inner: bool = False


class Maker:
    """Grows one program; values that may be used are kept per type and per region."""

    def __init__(self, seed: int, *, pointers: bool = False) -> None:
        self.rng = random.Random(seed)
        self.k = Kernel("random")
        self.x = self.k.tensor("x", f32, 1)
        self.y = self.k.output("y", f32, 1)
        self.z = self.k.output("z", f32, 2)
        self.visible: list[Value] = [self.k.scalar("n", i32), self.k.scalar("f", f32)]
        self.pointer = self.k.pointer("p", f32) if pointers else None

    def func(self) -> Func:
        """The whole program."""
        self.visible.append(self.k.block_id())
        self.statements(Around(), self.rng.randint(4, 10))
        # Everything still known at the end is seen by the test.
        self.k.op("print", self.rng.sample(self.visible, min(4, len(self.visible))))
        return self.k.finish()

    # Values.

    def pick(self, kind: TileType) -> Value:
        """Some value of a type, known already or a constant."""
        known = [v for v in self.visible if v.type == kind]
        if known and self.rng.random() < 0.75:
            return self.rng.choice(known)
        return self.constant(kind)

    def constant(self, kind: TileType, numbers: Sequence[float] | None = None) -> Value:
        number = self.rng.choice(numbers or NUMBERS[family(kind.dtype, unsigned=True)])
        return self.k.constant(number, kind.dtype, kind.shape)

    def add(self, value: Value) -> Value:
        self.visible.append(value)
        return value

    def elementwise(self) -> None:
        kind = self.rng.choice(TYPES)
        group = family(kind.dtype)
        roll = self.rng.random()
        if roll < 0.5:
            name = self.rng.choice(BINARY[group])
            attrs = {}
            if name in ("divi", "remi"):
                attrs = {"rounding": self.rng.choice((Rounding.ZERO, Rounding.NEG_INF))}
            self.add(self.k.emit(name, self.pick(kind), self.pick(kind), **attrs))
        elif roll < 0.65:
            self.add(self.k.emit(self.rng.choice(UNARY[group]), self.pick(kind)))
        elif roll < 0.85:
            compare = "cmpf" if group == "f" else "cmpi"
            predicate = self.rng.choice(list(Predicate))
            self.add(self.k.emit(compare, self.pick(kind), self.pick(kind), predicate=predicate))
        else:
            cond = self.pick(TileType(bool_, kind.shape))
            if cond.tile.shape == kind.shape:
                self.add(self.k.emit("select", cond, self.pick(kind), self.pick(kind)))

    def rearranged(self) -> None:
        tile = self.pick(TileType(f32, (4,)))
        square = self.add(self.k.emit("reshape", tile, shape=(2, 2)))
        turned = self.add(self.k.emit("permute", square, order=self.rng.choice(((0, 1), (1, 0)))))
        if self.rng.random() < 0.5:
            self.add(self.k.emit("reshape", turned, shape=(4,)))
        scalar = self.pick(TileType(f32))
        row = self.k.emit("reshape", scalar, shape=(1,))
        self.add(self.k.emit("broadcast", row, shape=(4,)))

    def summed(self) -> None:
        tile = self.pick(TileType(i32, (4,)))
        body = Block((Value(TileType(i32)), Value(TileType(i32))))
        with self.k.at(body):
            self.k.op("yield", [self.k.emit("addi", *body.args)])
        self.add(self.k.op("reduce", [tile], regions=(body,), identities=(0,)).result)

    def converted(self) -> None:
        to = self.rng.choice(CONVERSIONS)
        self.add(self.k.emit(to[2], self.pick(TileType(to[0])), to=to[1]))

    # Memory and reports.

    def index(self) -> Value:
        """An index that is often inside: a small number, or what is known of any size."""
        if self.rng.random() < 0.4:
            return self.constant(TileType(i32), (0, 1, 2))
        return self.k.emit("andi", self.pick(TileType(i32)), self.k.i32(3))

    def guard(self) -> Value | None:
        roll = self.rng.random()
        if roll < 0.6:
            return None
        return self.pick(TileType(bool_))

    def place(self, *, mutable: bool) -> tuple[Value, list[Value]]:
        """A view and its indices."""
        tensor = self.rng.choice((self.y, self.z) if mutable else (self.x, self.y, self.z))
        if tensor is self.z:
            frame = self.rng.choice((None, (4, 2)))
            view = self.k.view(self.z, (2, 2), frame=frame)
            return view, [self.index(), self.index()]
        return self.k.view(tensor, (4,)), [self.index()]

    def load(self) -> None:
        view, index = self.place(mutable=False)
        self.add(self.k.emit("load_view", view, index, self.guard()))

    def store(self) -> None:
        view, index = self.place(mutable=True)
        kind = view.view.loaded
        name = "atomic_red_view" if self.rng.random() < 0.15 else "store_view"
        self.k.op(name, self.pick(kind), view, index, self.guard())

    def through_pointer(self) -> None:
        if self.pointer is None:
            return
        at = self.k.emit("offset", self.pointer, self.index())
        roll = self.rng.random()
        if roll < 0.5:
            self.add(self.k.emit("load_ptr", at, self.guard()))
        elif roll < 0.85:
            self.k.op("store_ptr", at, self.pick(TileType(f32)), self.guard())
        else:
            self.add(self.k.emit("atomic_rmw", at, self.pick(TileType(f32))))

    def report(self) -> None:
        roll = self.rng.random()
        if roll < 0.5:
            self.k.op("print", [self.pick(self.rng.choice(TYPES))])
        elif roll < 0.9:
            self.add(self.k.emit("check", self.index(), self.k.i32(self.rng.choice((4, 8, 2)))))
        else:
            cond = self.k.emit("ori", self.pick(TileType(bool_)), self.k.true())
            self.k.op("assert", cond)

    # Control flow.

    def statements(self, around: Around, count: int) -> None:
        simple: list[Callable[[], None]] = [
            *[self.elementwise] * 8, self.rearranged, self.converted, self.summed,
            self.load, self.store, self.store, self.report, self.through_pointer,
        ]  # fmt: skip
        nested = (self.branch, self.branch, self.counted, self.endless, self.scoped)
        for _ in range(count):
            if around.depth < 4 and self.rng.random() < 0.3:
                self.rng.choice(nested)(around)
            else:
                self.rng.choice(simple)()

    @contextmanager
    def inside(self, block: Block):
        """Build in a region: what is made there is forgotten afterwards."""
        outer = list(self.visible)
        self.visible += block.args
        with self.k.at(block):
            yield
        self.visible = outer

    def types(self) -> tuple[TileType, ...]:
        return tuple(self.rng.choice(TYPES) for _ in range(self.rng.choice((0, 1, 1, 2))))

    def leave_early(self, around: Around) -> bool:
        """End the block with some exit, if the dice and the place allow it."""
        exits = [e for e, ok in (("loop", around.loop is not None), ("return", around.inner),
                                 ("scope", around.scope is not None)) if ok]  # fmt: skip
        if not exits or self.rng.random() > 0.3:
            return False
        chosen = self.rng.choice([e for e in exits for _ in range(1 if e == "return" else 3)])
        if chosen == "loop":
            self.next_round(around, self.rng.choice(("break", "continue")))
        elif chosen == "scope":
            self.k.op("leave", [self.pick(t) for t in around.scope or ()])
        else:
            self.k.op("return")
        return True

    def next_round(self, around: Around, name: str) -> None:
        assert around.loop is not None
        count = [around.next_count] if around.next_count is not None else []
        self.k.op(name, [*count, *(self.pick(t) for t in around.loop[len(count) :])])

    def branch(self, around: Around) -> None:
        kinds, cond = self.types(), self.pick(TileType(bool_))
        arms = []
        for _ in range(2):
            arm = Block()
            deeper = replace(around, depth=around.depth + 1, inner=True)
            with self.inside(arm):
                self.statements(deeper, self.rng.randint(0, 3))
                if not self.leave_early(deeper):
                    self.k.op("yield", [self.pick(t) for t in kinds])
            arms.append(arm)
        self.visible += self.k.op("if", cond, regions=arms, types=kinds).results

    def counted(self, around: Around) -> None:
        kinds = self.types()
        lower = self.constant(TileType(i32), (0, 0, 1, -1))
        if self.rng.random() < 0.5:
            upper = self.constant(TileType(i32), (0, 1, 2, 3, 4))
        else:
            upper = self.k.emit("andi", self.pick(TileType(i32)), self.k.i32(3))
        step = self.constant(TileType(i32), (1, 1, 2, 3, 0))
        inits = [self.pick(t) for t in kinds]
        body = Block((Value(TileType(i32)), *(Value(t) for t in kinds)))
        inner = Around(around.depth + 1, kinds, None, around.scope, True)
        with self.inside(body):
            if self.rng.random() < 0.4:
                self.split_here(body.args[0], inner)
            self.statements(inner, self.rng.randint(1, 4))
            self.next_round(inner, "continue" if self.rng.random() < 0.95 else "break")
        self.visible += self.k.op("for", lower, upper, step, inits, regions=(body,)).results

    def split_here(self, induction: Value, around: Around) -> None:
        """A branch on the induction variable and something from outside the loop."""
        known = [v for v in self.k.params if v.type == TileType(i32)]
        limit = self.rng.choice([*known, self.k.i32(self.rng.choice((0, 1, 2, 3)))])
        sides = [induction, limit]
        self.rng.shuffle(sides)
        predicate = self.rng.choice(list(Predicate))
        cond = self.k.emit("cmpi", *sides, predicate=predicate)
        self.visible.append(cond)
        arms = []
        for _ in range(2):
            arm = Block()
            with self.inside(arm):
                self.statements(replace(around, depth=around.depth + 1), 2)
                self.k.op("yield", [self.pick(TileType(f32))])
            arms.append(arm)
        self.visible += self.k.op("if", cond, regions=arms, types=(TileType(f32),)).results

    def endless(self, around: Around) -> None:
        """A loop that ends by a counter, its first carried value."""
        kinds = (TileType(i32), *self.types())
        inits = [self.k.i32(0), *(self.pick(t) for t in kinds[1:])]
        body = Block(tuple(Value(t) for t in kinds))
        with self.inside(body):
            count = self.k.emit("addi", body.args[0], self.k.i32(1))
            inner = Around(around.depth + 1, kinds, count, around.scope, True)
            limit = self.k.i32(self.rng.choice((0, 1, 3)))
            done = self.k.emit("cmpi", body.args[0], limit, predicate=Predicate.GE)
            stop, go = Block(), Block()
            with self.inside(stop):
                self.next_round(inner, "break")
            with self.inside(go):
                self.k.op("yield")
            self.k.op("if", done, regions=(stop, go))
            self.statements(inner, self.rng.randint(1, 3))
            self.next_round(inner, "continue" if self.rng.random() < 0.9 else "break")
        self.visible += self.k.op("loop", inits, regions=(body,)).results

    def scoped(self, around: Around) -> None:
        kinds = self.types()
        body = Block()
        inner = replace(around, depth=around.depth + 1, scope=kinds, inner=True)
        with self.inside(body):
            self.statements(inner, self.rng.randint(1, 4))
            if not self.leave_early(inner):
                self.k.op("leave", [self.pick(t) for t in kinds])
        self.visible += self.k.op("scope", regions=(body,), types=kinds).results


def family(dtype: AnyDType, *, unsigned: bool = False) -> str:
    """The letter of the tables above."""
    return "i" if dtype.kind == "u" and not unsigned else dtype.kind


def program(seed: int, *, pointers: bool = False) -> Func:
    """A verified random program."""
    return Maker(seed, pointers=pointers).func()


def observed(func: Func, seed: int) -> list[Any]:
    """Everything a run can show: memory, prints and failures, NaNs alike."""
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in (13, 9, (7, 5))]
    arguments: list[Any] = [*arrays, int(rng.integers(-3, 6)), float(np.float32(rng.normal()))]
    if len(func.params) > len(arguments):
        arrays.append(rng.standard_normal(8).astype(np.float32))
        arguments.append(arrays[-1])
    outcome: Outcome = run(func, arguments, (2, 1, 1), seed=seed % 1000)
    printed = [(p.block, [shown(v) for v in p.values]) for p in outcome.printed]
    failure = outcome.failure
    failed = failure and (failure.site.kind, failure.block, failure.index, failure.extent)
    return [failed, printed, *map(shown, arrays)]


def shown(array: Any) -> str:
    """Values to the bit, except for which NaN a NaN is."""
    return repr(np.asarray(array).tolist())


def same_meaning_always(
    run_pass: Callable[[Func], Func], count: int = 60, *, pointers: bool = False
) -> list[Func]:
    """`same_meaning` on fresh programs; gives what the pass made of them."""
    seed = random.randrange(2**31)
    print(f"programs from seed {seed}")
    return [same_meaning(run_pass, seed + i, pointers=pointers) for i in range(count)]


def same_meaning(run_pass: Callable[[Func], Func], seed: int, *, pointers: bool = False) -> Func:
    """Run a random program before and after a pass; the pass must not be seen."""
    before = program(seed, pointers=pointers)
    text = print_func(before)
    after = run_pass(before)
    verify(after, getattr(run_pass, "__name__", "pass"))
    assert print_func(before) == text, f"seed {seed}: the pass changed its input"
    expected, got = observed(before, seed), observed(after, seed)
    assert got == expected, f"seed {seed}\n{text}\n{print_func(after)}"
    return after
