"""Powers of two that divide: known where they should be, and true of every computed value."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from ir_text import kernel, parse
from support.straight import PROGRAMS, RUNS, SMALL, Step, program
from tilewright.analysis.divisibility import divisibility
from tilewright.base.dtypes import i8, int_range, u8
from tilewright.ir.builder import Builder
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.semantics import evaluate as fold
from tilewright.ir.signature import Signature
from tilewright.ir.types import TileType


def named(body):
    func = parse(kernel(body))
    found = divisibility(func)
    values = [v for op in func.walk() for v in op.results]
    values += [v for op in func.walk() for region in op.regions for v in region.args]
    return {v.name: found.of(v) for v in values if v.name}


@pytest.mark.parametrize(
    ("op", "divisor"),
    [
        ("muli %n, %c16", 16),
        ("muli %a, %c24", 128),
        ("addi %a, %c24", 8),
        ("subi %a, %n", 1),
        ("shli %n, %c3", 8),
        ("divi %a, %c16", 1),
        ("divi %a, %c4", 4),
        ("divi %a, %c24", 1),
        ("andi %n, %c24", 8),
        ("remi %a, %c24", 8),
        ("mini %a, %c24", 8),
        ("negi %a", 16),
        ("exti %a {to=i64}", 16),
        ("itof %a {to=f32}", 1),
    ],
)
def test_operations(op, divisor):
    numbers = "\n".join(f"%c{n} = constant {{value={n}, dtype=i32}}" for n in (3, 4, 16, 24))
    body = f"{numbers}\n%a = muli %n, %c16\n%r = {op}\nreturn"
    assert named(body)["r"] == divisor


def test_zero_is_divided_by_all_and_odd_by_none():
    found = named("%a = constant {dtype=i32}\n%b = constant {value=-3, dtype=i32}\nreturn")
    assert found == {"a": 2**32, "b": 1}


def test_induction_variables_and_branches():
    found = named(
        """
        %c16 = constant {value=16, dtype=i32}
        %c8 = constant {value=8, dtype=i32}
        for %c8, %n, %c16 { (%i: tile<i32>)
          %q = if %c : tile<i32> {
            yield %i
          } else {
            yield %c16
          }
          continue
        }
        return
        """
    )
    assert found["i"] == 8
    assert found["q"] == 8


BINARY = ("addi", "subi", "muli", "divi", "remi", "maxi", "mini", "andi", "ori", "xori", "shli")


@pytest.mark.parametrize("dtype", [i8, u8])
def test_random_programs_are_divided(dtype):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(60):
        param = Value(TileType(dtype), "n")
        builder = Builder(Block())
        values = [param, *(builder.constant(n, dtype) for n in (4, 6, 16, 0))]
        for _ in range(8):
            name = rng.choice((*BINARY, "negi", "absi"))
            operands = rng.choices(values, k=2 if name in BINARY else 1)
            values.append(builder.emit(name, *operands))
        builder.op("return")
        func = Func("test", Signature(()), (param,), builder.block)
        found = divisibility(func)
        for n in range(int_range(dtype)[0], int_range(dtype)[1] + 1, 3):
            numbers = {param: n}
            for op in builder.block.ops[:-1]:
                given = [numbers[v] for v in op.operands]
                numbers[op.result] = op.attrs["value"] if op.name == "constant" else fold(op, given)
                assert numbers[op.result] % found.of(op.result) == 0


# --- beside the reference -------------------------------------------------------------------------


def assert_divides(steps):
    done = program(steps)
    found = divisibility(done.func)
    for value, computed in zip(done.values, done.computed, strict=True):
        assert not (computed[RUNS] % found.of(value)).any()


@given(PROGRAMS)
def test_divisors_divide_what_the_reference_computes(steps):
    assert_divides(steps)


EIGHT, FOUR = (Step("constant", 0, 0, SMALL.index(n)) for n in (8, 4))
MULTIPLES = [EIGHT, Step("muli", 0, 2, 0), FOUR, Step("muli", 0, 3, 0)]
"""8 n and 4 m, as the values before and at the end."""


@pytest.mark.thinned(30)
@pytest.mark.parametrize(
    "name", ["addi", "subi", "muli", "divi", "remi", "maxi", "mini", "andi", "ori", "xori", "shli",
             "shri", "select"]
)  # fmt: skip
@pytest.mark.parametrize("way", range(3))
@pytest.mark.parametrize("operands", [(0, 2), (2, 0), (0, 1), (2, 1), (0, 3), (1, 1)])
def test_divisors_of_results_of_multiples(name, way, operands):
    """Values from the last: 4 m, 4, 8 n, 8."""
    assert_divides([*MULTIPLES, Step(name, *operands, way)])


@pytest.mark.parametrize(
    ("name", "operands", "divisor"),
    [
        ("select", (0, 2), 4), ("select", (2, 0), 4), ("addi", (0, 2), 4), ("muli", (0, 2), 32),
        ("andi", (0, 2), 8), ("mini", (0, 2), 4), ("remi", (2, 1), 4), ("divi", (2, 1), 2),
        ("shli", (0, 1), 64), ("ori", (0, 2), 4), ("xori", (2, 0), 4), ("remi", (2, 3), 8),
    ],
)  # fmt: skip
def test_divisors_of_results_of_multiples_are_as_large_as_can_be(name, operands, divisor):
    done = program([*MULTIPLES, Step(name, *operands, 0)])
    assert divisibility(done.func).of(done.values[-1]) == divisor
