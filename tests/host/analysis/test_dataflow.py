"""The driver of forward analyses: fixpoints of loops, and every claim true of every run.

Random functions with nested branches, loops and scopes run on the reference, which is watched: each
number that a value ever has must be what constants and ranges say of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from ir_text import kernel, parse
from support.ir import Kernel
from support.numbers import fresh_random
from support.tiers import count
from tilewright.analysis.dataflow import Analysis, constants, solve
from tilewright.analysis.ranges import Interval, ranges
from tilewright.backend.reference.interpreter import run
from tilewright.backend.reference.machine import Frame
from tilewright.base.dtypes import bool_, f32, i8, i32, int_range, u8
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.core import Func, Value
from tilewright.ir.semantics import number_of, same
from tilewright.ir.types import TileType

INTEGERS = (i8, u8, i32)
PAIRS = ("addi", "subi", "muli", "maxi", "mini", "andi", "ori", "xori", "shli", "shri", "mulhi")
CONSTANTS = (-128, -3, -1, 0, 0, 1, 1, 2, 3, 4, 8, 64, 127)
NUMBERS = (-128, -7, -1, 0, 1, 6, 127)
"""What scalar parameters are given."""


class Maker:
    """Draws a function, whose every loop ends."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.k = Kernel()
        self.seen: list[Value] = [self.k.scalar("n", i32), self.k.scalar("m", i8)]
        self.seen.append(self.k.scalar("f", f32))
        self.loops: list[list[Value]] = []
        """Of each loop around, what it carries: exits pass values of these types."""
        self.scopes: list[list[TileType]] = []

    def function(self) -> Func:
        self.run(depth=0)
        return self.k.finish()

    def run(self, depth: int) -> None:
        for _ in range(self.rng.randint(2, 4 if depth else 6)):
            kinds = ["op"] * 5 + (["if", "for", "loop", "scope"] if depth < 3 else [])
            getattr(self, f"make_{self.rng.choice(kinds)}")(depth)

    def pick(self, dtype) -> Value:
        """A value of a type, one of the last ones rather, or a new constant."""
        found = [v for v in self.seen if v.tile.dtype is dtype]
        if not found or self.rng.random() < 0.3:
            value = self.rng.choice(CONSTANTS)
            low, high = int_range(dtype) if not dtype.is_float else (-128, 127)
            return self.k.constant(
                bool(value % 2) if dtype.is_bool else min(max(value, low), high), dtype
            )
        return self.rng.choice(found[-6:])

    def make_op(self, depth: int) -> None:
        k, dtype = self.k, self.rng.choice(INTEGERS)
        name = self.rng.choice((*PAIRS, "divi", "remi", "select", "cmpi", "negi", "cast", "float"))
        match name:
            case "select":
                made = k.emit(name, self.pick(bool_), self.pick(dtype), self.pick(dtype))
            case "cmpi":
                made = self.condition(dtype)
            case "negi":
                made = k.emit(self.rng.choice(("negi", "absi", "noti")), self.pick(dtype))
            case "cast":
                to = self.rng.choice([t for t in INTEGERS if t is not dtype])
                way = "exti" if to.bits > dtype.bits else "trunci"
                way = "bitcast" if to.bits == dtype.bits else way
                made = k.emit(way, self.pick(dtype), to=to)
            case "float":
                made = k.emit(self.rng.choice(("addf", "mulf")), self.pick(f32), self.pick(f32))
            case "divi" | "remi":
                rounding = self.rng.choice((Rounding.ZERO, Rounding.NEG_INF))
                made = k.emit(name, self.pick(dtype), self.pick(dtype), rounding=rounding)
            case _:
                made = k.emit(name, self.pick(dtype), self.pick(dtype))
        self.seen.append(made)

    def condition(self, dtype=i8) -> Value:
        predicate = self.rng.choice(list(Predicate))
        return self.k.emit("cmpi", self.pick(dtype), self.pick(dtype), predicate=predicate)

    def types(self) -> list[TileType]:
        return [
            TileType(self.rng.choice((*INTEGERS, bool_, f32)))
            for _ in range(self.rng.randint(0, 3))
        ]

    def some(self, types) -> list[Value]:
        return [self.pick(t.dtype) for t in types]

    @contextmanager
    def region(self, *types) -> Iterator:
        """A region, in whose end nothing of it is seen any more."""
        before = len(self.seen)
        with self.k.region(*types) as block:
            self.seen += block.args
            yield block
        del self.seen[before:]

    def end(self, types) -> None:
        """End a region of an `if`: by its own values, or by an exit of something around it."""
        way = self.rng.random()
        if self.loops and way < 0.15:
            self.k.op("break", self.some(self.loops[-1]))
        elif self.loops and way < 0.3:
            self.k.op("continue", self.again(self.loops[-1]))
        elif self.scopes and way < 0.4:
            self.k.op("leave", self.some(self.scopes[-1]))
        elif way > 0.97:
            self.k.op("return")
        else:
            self.k.op("yield", self.some(types))

    def again(self, carried) -> list[Value]:
        """What the next iteration is given; the counter of a `loop` goes on by one."""
        if self.counter is None:
            return self.some(carried)
        step = self.k.emit("addi", self.counter, self.k.i32(1))
        return [step, *self.some(carried[1:])]

    counter: Value | None = None

    def make_if(self, depth: int) -> None:
        types, cond, arms = self.types(), self.condition(), []
        for _ in range(2):
            with self.region() as arm:
                self.run(depth + 1)
                self.end(types)
            arms.append(arm)
        self.seen += self.k.op("if", cond, regions=arms, types=tuple(types)).results

    def make_for(self, depth: int) -> None:
        types, outer = self.types(), self.counter
        inits = self.some(types)
        upper = self.k.emit("remi", self.pick(i32), self.k.i32(self.rng.randint(2, 6)))
        lower, step = self.k.i32(self.rng.randint(-3, 3)), self.k.i32(self.rng.choice((1, 2, 3, 0)))
        self.loops.append(types)
        scopes, self.scopes, self.counter = self.scopes, [], None
        with self.region(TileType(i32), *types) as body:
            self.run(depth + 1)
            self.k.op("continue", self.some(types))
        self.loops.pop()
        self.scopes, self.counter = scopes, outer
        self.seen += self.k.op("for", lower, upper, step, inits, regions=(body,)).results

    def make_loop(self, depth: int) -> None:
        types, outer = [TileType(i32), *self.types()], self.counter
        inits = [self.k.i32(0), *self.some(types[1:])]
        self.loops.append(types)
        scopes, self.scopes = self.scopes, []
        with self.region(*types) as body:
            self.counter = body.args[0]
            done = self.k.emit(
                "cmpi", self.counter, self.k.i32(self.rng.randint(0, 4)), predicate=Predicate.GE
            )
            with self.region() as out:
                self.k.op("break", self.some(types))
            with self.region() as stay:
                self.k.op("yield")
            self.k.op("if", done, regions=(out, stay))
            self.run(depth + 1)
            self.k.op("continue", self.again(types))
        self.loops.pop()
        self.scopes, self.counter = scopes, outer
        self.seen += self.k.op("loop", inits, regions=(body,)).results

    def make_scope(self, depth: int) -> None:
        types = self.types()
        loops, self.loops, outer, self.counter = self.loops, [], self.counter, None
        self.scopes.append(types)
        with self.region() as body:
            self.run(depth + 1)
            self.k.op("leave", self.some(types))
        self.scopes.pop()
        self.loops, self.counter = loops, outer
        self.seen += self.k.op("scope", regions=(body,), types=tuple(types)).results


@pytest.fixture
def watched(monkeypatch):
    """All numbers that each value had, in every run since."""
    seen: dict[Value, set] = {}
    bind = Frame.bind

    def noting(frame, values, data):
        bind(frame, values, data)
        for value in values:
            if isinstance(frame.values[value], np.ndarray):
                seen.setdefault(value, set()).add(frame.values[value].item())

    monkeypatch.setattr(Frame, "bind", noting)
    return seen


def claims_hold(func: Func, seen: dict[Value, set]) -> int:
    """Compare every claim with every number; return how many claims there were of loops."""
    numbers, intervals = constants(func), ranges(func)
    carried = {a for op in func.walk() if op.name in ("for", "loop") for a in op.regions[0].args}
    carried |= {v for op in func.walk() if op.name in ("for", "loop") for v in op.results}
    told = 0
    for value, found in seen.items():
        kind = value.tile.dtype
        for n in found:
            if value in numbers:
                assert same(number_of(n, kind), numbers[value]), (value, n, numbers[value])
            if kind.is_int:
                low, high = intervals.of(value)
                assert low <= n <= high, (value, n, low, high)
        told += value in carried and (value in numbers or intervals.known.get(value) is not None)
    return told


@pytest.mark.parametrize("number", range(count(quick=6, full=60)))
def test_all_claims_are_true_of_all_runs(number, watched):
    rng = fresh_random()
    told = 0
    for _ in range(12):
        seed = rng.randrange(2**32)
        print(f"seed {seed}")
        func = Maker(random.Random(seed)).function()
        watched.clear()
        for n in NUMBERS:
            outcome = run(func, [n, rng.choice(NUMBERS), float(n)], (1,))
            assert outcome.failure is None
        told += claims_hold(func, watched)
    assert told, "no function had a loop of which anything was known"


def named(body):
    func = parse(kernel(body))
    values = [v for op in func.walk() for v in op.results]
    values += [v for op in func.walk() for region in op.regions for v in region.args]
    return func, {v.name: v for v in values if v.name}


LOOP = """
    %zero = constant {{dtype=i32}}
    %one = constant {{value=1, dtype=i32}}
    %eight = constant {{value=8, dtype=i32}}
    %r = for %zero, %n, %one, %{init} {{ (%i: tile<i32>, %a: tile<i32>)
      {body}
    }}
    return
"""


@pytest.mark.parametrize(
    ("init", "body", "number", "interval"),
    [
        ("eight", "continue %a", 8, (8, 8)),
        ("eight", "%b = addi %a, %eight\ncontinue %b", None, None),
        ("zero", "%b = addi %a, %one\ncontinue %b", None, None),
        ("zero", "%b = addi %a, %i\n%c = remi %b, %eight\ncontinue %c", None, (-7, 7)),
        ("zero", "%b = andi %i, %eight\ncontinue %b", None, (0, 8)),
        ("eight", "%b = muli %a, %zero\n%c = addi %b, %eight\ncontinue %c", 8, (8, 8)),
    ],
)  # fmt: skip
def test_what_loops_carry(init, body, number, interval):
    func, values = named(LOOP.format(init=init, body=body))
    for name in ("a", "r"):
        value = values[name]
        assert constants(func).get(value) == number
        if interval is None:
            assert value not in ranges(func).known
        else:
            assert ranges(func).of(value) == Interval(*interval)


def test_a_loop_inside_a_loop_is_solved_for_what_the_outer_one_gives():
    func, values = named(
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %two = constant {value=2, dtype=i32}
        %r = for %zero, %n, %one, %two { (%i: tile<i32>, %a: tile<i32>)
          %s = for %zero, %n, %one, %a { (%j: tile<i32>, %b: tile<i32>)
            continue %b
          }
          %t = addi %s, %two
          continue %t
        }
        return
        """
    )
    assert not {values["a"], values["b"], values["s"], values["r"]} & constants(func).keys()


def test_arms_that_are_not_taken_pass_nothing_on():
    func, values = named(
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %never = cmpi %one, %zero {predicate="eq"}
        %r = for %zero, %n, %one, %one { (%i: tile<i32>, %a: tile<i32>)
          if %never {
            break %zero
          } else {
            yield
          }
          continue %a
        }
        return
        """
    )
    assert constants(func)[values["r"]] == 1


def test_what_a_break_passes_on_is_a_result():
    func, values = named(
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %four = constant {value=4, dtype=i32}
        %r = for %zero, %n, %one, %four { (%i: tile<i32>, %a: tile<i32>)
          if %c {
            break %one
          } else {
            yield
          }
          continue %a
        }
        return
        """
    )
    assert values["r"] not in constants(func)
    assert ranges(func).of(values["r"]) == Interval(1, 4)
    assert ranges(func).of(values["a"]) == Interval(4, 4)


class Counting(Analysis[int]):
    """An endless chain, and no widening: the driver must give up by itself."""

    def transfer(self, op, known):
        return [known[v] + 1 for v in op.operands[:1] if v in known] if op.name == "negi" else ()

    def join(self, value, a, b):
        return max(a, b)

    def widen(self, value, old, new):
        return new


def test_an_endless_chain_ends_without_a_fact():
    func, values = named(LOOP.format(init="zero", body="%b = negi %a\ncontinue %b"))
    zero = values["zero"]
    found = solve(func, Counting(), {zero: 0})
    assert found == {zero: 0}
