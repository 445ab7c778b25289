"""Intervals hold every value that programs really compute, and know what they should know."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_text import kernel, parse
from support.straight import PROGRAMS, RUNS, program
from tilewright.analysis.ranges import TRANSFER, Interval, ranges
from tilewright.base.dtypes import i8, i32, int_range, u8
from tilewright.ir.attrs import Predicate, Rounding, ThreadCoordinate
from tilewright.ir.builder import Builder, make_op
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.semantics import evaluate as fold
from tilewright.ir.semantics import number_of
from tilewright.ir.signature import Signature
from tilewright.ir.types import TileType


def named(body, **options):
    func = parse(kernel(body), **options)
    found = ranges(func)
    values = [v for op in func.walk() for v in op.results]
    values += [v for op in func.walk() for region in op.regions for v in region.args]
    return {v.name: found.of(v) for v in values if v.name}


MAX = int_range(i32)[1]


def test_sources():
    found = named(
        """
        %b = block_id
        %g = block_id {axis=1}
        %nb = num_blocks {axis=1}
        %e = extent %x
        %i = iota {size=16, dtype=i32}
        %wraps = iota {size=512, dtype=i8}
        return
        """,
        grid=(6,),
    )
    assert found["b"] == (0, 5)
    assert found["g"] == (0, MAX - 1)
    assert found["nb"] == (1, MAX)
    assert found["e"] == (0, MAX)
    assert found["i"] == (0, 15)
    assert found["wraps"] == (-128, 127)


def test_indices_of_mapped_outputs_lie_below_their_counts():
    found = named(
        """
        %c = constant {value=6, dtype=i32}
        %e = extent %x
        %a, %b = tile_index %n, %c, %e {groups=(2, 1)}
        return
        """
    )
    assert found["a"] == (0, 5)
    assert found["b"] == (0, MAX - 1)


def test_induction_variables_and_branches():
    found = named(
        """
        %two = constant {value=2, dtype=i32}
        %ten = constant {value=10, dtype=i32}
        %e = extent %x
        for %two, %ten, %two { (%i: tile<i32>)
          %j = addi %i, %two
          %q = if %c : tile<i32> {
            yield %j
          } else {
            yield %two
          }
          continue
        }
        for %two, %e, %two { (%t: tile<i32>)
          continue
        }
        return
        """
    )
    assert found["i"] == (2, 9)
    assert found["j"] == (4, 11)
    assert found["q"] == (2, 11)
    assert found["t"] == (2, MAX - 1)


def test_what_may_wrap_is_not_known():
    one = "%one = constant {value=1, dtype=i32}"
    found = named(f"%e = extent %x\n{one}\n%a = addi %e, %one\nreturn")
    assert found["a"] == int_range(i32)


@pytest.mark.parametrize(
    ("op", "interval"),
    [
        ("divi %b, %four", (0, (MAX - 1) // 4)),
        ("remi %b, %four", (0, 3)),
        ("remi %n, %four", (-3, 3)),
        ("remi %n, %four {rounding=neg_inf}", (0, 3)),
        ("andi %n, %four", (0, 4)),
        ("mini %n, %four", (int_range(i32)[0], 4)),
        ("maxi %n, %four", (4, MAX)),
        ("shri %b, %four", (0, (MAX - 1) >> 4)),
    ],
)
def test_operations(op, interval):
    body = f"%b = block_id\n%four = constant {{value=4, dtype=i32}}\n%r = {op}\nreturn"
    assert named(body)["r"] == Interval(*interval)


BINARY = ("addi", "subi", "muli", "divi", "remi", "maxi", "mini", "andi", "shli", "shri", "cmpi")
UNARY = ("negi", "absi", "exti", "trunci", "bitcast")


def step(rng, builder, dtype, values):
    name = rng.choice(BINARY + UNARY)
    same = [v for v in values if v.tile.dtype is dtype]
    if name in UNARY:
        arg = rng.choice(same)
        to = {"exti": i32, "trunci": None, "bitcast": u8 if dtype is i8 else i8}.get(name)
        if name == "trunci":
            wide = [v for v in values if v.tile.dtype is i32]
            return builder.emit("trunci", rng.choice(wide), to=dtype) if wide else arg
        return builder.emit(name, arg, **({"to": to} if to else {}))
    attrs = {}
    if name in ("divi", "remi"):
        attrs = {"rounding": rng.choice((Rounding.ZERO, Rounding.NEG_INF))}
    if name == "cmpi":
        cond = builder.emit("cmpi", rng.choice(same), rng.choice(same), predicate=Predicate.LT)
        return builder.emit("select", cond, rng.choice(same), rng.choice(same))
    return builder.emit(name, rng.choice(same), rng.choice(same), **attrs)


@pytest.mark.parametrize("dtype", [i8, u8])
def test_random_programs_stay_inside(dtype):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(60):
        outer = Block()
        builder = Builder(outer)
        low, high = sorted(rng.choices(range(*int_range(dtype)), k=2))
        bounds = [builder.constant(n, dtype) for n in (low, high + 1, 1)]
        body = Block((Value(TileType(dtype)),))
        inner = Builder(body)
        values = [body.args[0], inner.constant(rng.randint(*int_range(dtype)), dtype)]
        for _ in range(8):
            values.append(step(rng, inner, dtype, values))
        inner.op("continue")
        builder.op("for", *bounds, regions=(body,))
        builder.op("return")
        found = ranges(Func("test", Signature(()), (), outer))
        for i in range(low, high + 1):
            for value, number in run(body, i).items():
                assert found.of(value).low <= number <= found.of(value).high


def run(body, i):
    numbers = {body.args[0]: i}
    for op in body.ops[:-1]:
        if op.name == "constant":
            numbers[op.result] = number_of(op.attrs["value"], op.attrs["dtype"])
        else:
            numbers[op.result] = fold(op, [numbers[v] for v in op.operands])
    return numbers


# --- beside the reference -------------------------------------------------------------------------


@given(PROGRAMS)
def test_intervals_hold_what_the_reference_computes(steps):
    done = program(steps)
    found = ranges(done.func)
    for value, computed in zip(done.values, done.computed, strict=True):
        low, high = found.of(value)
        inside = computed[RUNS]
        assert low <= inside.min()
        assert inside.max() <= high


SHORT = st.tuples(st.integers(-9, 9), st.integers(0, 6)).map(lambda t: Interval(t[0], t[0] + t[1]))
EXACT = ("addi", "subi", "muli", "maxi", "mini", "divi", "shri", "shli")
"""Ops whose interval is the least that holds all results."""


def values_of(interval):
    return range(interval.low, interval.high + 1)


def one_op(name, a, b, rounding):
    """An op on i32 whose operands are known to lie in two intervals, and what it really gives."""
    arg = [Value(TileType(i32)) for _ in range(2)]
    attrs = {"rounding": rounding} if name in ("divi", "remi") else {}
    op = make_op(name, *arg, attrs=attrs)
    results = [int(fold(op, (x, y))) for x in values_of(a) for y in values_of(b)]
    return TRANSFER[name](op, (a, b)), results


@settings(max_examples=400)
@given(
    st.sampled_from((*EXACT, "remi", "andi")),
    SHORT,
    SHORT,
    st.sampled_from((Rounding.ZERO, Rounding.NEG_INF)),
)
def test_the_interval_of_one_op_is_the_least_where_it_is_known(name, a, b, rounding):
    found, results = one_op(name, a, b, rounding)
    if found is None:
        assert name == "andi" or min(b) <= 0, "nothing is known though the operands are"
        return
    assert found.low <= min(results)
    assert max(results) <= found.high
    if name in EXACT:
        assert found == (min(results), max(results))


@pytest.mark.parametrize("rounding", [Rounding.ZERO, Rounding.NEG_INF])
@pytest.mark.parametrize("a", [Interval(-7, -2), Interval(-2, 3), Interval(0, 2), Interval(3, 9)])
@pytest.mark.parametrize("b", [Interval(1, 1), Interval(2, 4), Interval(5, 5)])
def test_remainders_stay_below_their_divisor_and_have_the_sign_that_rounding_gives(a, b, rounding):
    found, results = one_op("remi", a, b, rounding)
    assert found.low <= min(results)
    assert max(results) <= found.high
    assert found.high <= max(b.high - 1, 0)
    assert found.low >= (1 - b.high if rounding is Rounding.ZERO and a.low < 0 else 0)


@given(SHORT)
def test_the_interval_of_what_is_turned_or_made_positive_is_exact(a):
    arg = Value(TileType(i32))
    for name in ("negi", "absi"):
        op = make_op(name, arg)
        results = [int(fold(op, (x,))) for x in values_of(a)]
        assert TRANSFER[name](op, (a,)) == (min(results), max(results))


@pytest.mark.parametrize("exact", [False, True])
def test_places_of_threads_lie_within_what_devices_have(exact):
    builder = Builder(Block())
    made = {
        (what, axis): builder.emit("place", what=what, axis=axis)
        for what in ThreadCoordinate
        for axis in range(1 if what in (ThreadCoordinate.LANE, ThreadCoordinate.WARP) else 3)
    }
    builder.op("return")
    signature = Signature((), block=(32, 4), exact_block=exact)
    found = ranges(Func("threads", signature, (), builder.block))
    blocks = (MAX, 65535, 65535)
    threads = (32, 4, 1) if exact else (1024, 1024, 64)
    for axis in range(3):
        assert found.of(made[ThreadCoordinate.THREAD, axis]) == (0, threads[axis] - 1)
        assert found.of(made[ThreadCoordinate.BLOCK, axis]) == (0, blocks[axis] - 1)
        assert found.of(made[ThreadCoordinate.GRID_SIZE, axis]) == (1, blocks[axis])
        least = threads[axis] if exact else 1
        assert found.of(made[ThreadCoordinate.BLOCK_SIZE, axis]) == (least, threads[axis])
    assert found.of(made[ThreadCoordinate.LANE, 0]) == (0, 31)
    assert found.of(made[ThreadCoordinate.WARP, 0]) == (0, 31)


@pytest.mark.parametrize(
    ("a", "b", "interval"),
    [
        (Interval(0, 5), Interval(-3, 9), (0, 5)),
        (Interval(-3, 9), Interval(0, 5), (0, 5)),
        (Interval(0, 5), Interval(0, 2), (0, 2)),
        (Interval(-3, 9), Interval(-1, 2), None),
    ],
)
def test_an_operand_that_is_not_negative_bounds_common_bits(a, b, interval):
    assert one_op("andi", a, b, Rounding.ZERO)[0] == interval
