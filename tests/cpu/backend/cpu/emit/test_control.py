"""Control flow: every form, with scalars and tiles carried, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from support import tiers
from support.ir import poisoned
from support.native import Dense, Native, assert_kernel, run_native
from support.numbers import fresh_rng
from support.programs import program, shown
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import INTS, f32, i8, i32, int_range
from tilewright.ir.attrs import Predicate
from tilewright.ir.printer import print_func
from tilewright.ir.types import TileType

TILE = TileType(i32, (4, 16))


def counting(dtype):
    """Counts rounds, and sums what was counted with."""
    k = Dense()
    low, high, step = (k.scalar(n, dtype) for n in ("low", "high", "step"))
    z = k.output("z", dtype, 1)
    zero = k.constant(0, dtype)
    with k.region(*[TileType(dtype)] * 3) as body:
        at, rounds, total = body.args
        more = k.emit("addi", rounds, k.constant(1, dtype))
        k.op("continue", [more, k.emit("addi", total, at)])
    results = k.op("for", low, high, step, [zero, zero], regions=[body]).results
    for i, value in enumerate(results):
        k.store(k.broadcast(value, (1,)), z, k.i32(i))
    return k.finish()


@pytest.mark.parametrize("dtype", INTS)
def test_counting_to_the_ends_of_a_type(dtype):
    native = Native(counting(dtype))
    low, high = int_range(dtype)
    steps = [1, 2, 7, high]
    bounds = [(0, 10), (10, 0), (3, 3), (high - 9, high), (high - 1, high), (0, 1)]
    if dtype.is_signed:
        bounds += [(low, low + 11), (-5, 6)]
    for first, last in bounds:
        for step in steps:
            z = poisoned(dtype, (2,))
            native([first, last, step, z])
            numbers = range(first, last, step)
            expected = [len(numbers), sum(numbers)]
            wrapped = [(n - low) % (high - low + 1) + low for n in expected]
            assert z.tolist() == wrapped, (first, last, step)


@pytest.mark.parametrize("step", [0, -1, -(2**31)])
def test_a_step_that_is_not_positive_runs_nothing(step):
    z = poisoned(i32, (2,))
    Native(counting(i32))([0, 10, step, z])
    assert z.tolist() == [0, 0]


def test_tiles_are_swapped_and_shifted_by_a_loop():
    """Assignments at the end of a round happen at once."""
    k = Dense()
    x, n = k.tensor("x", i32, 3), k.scalar("n", i32)
    z = k.output("z", i32, 3)
    tiles = [k.emit("reshape", k.load(x, (1, 4, 16), k.i32(i)), shape=(4, 16)) for i in range(3)]
    with k.region(TileType(i32), TILE, TILE, TILE) as body:
        _, a, b, c = body.args
        k.op("continue", [b, k.emit("addi", c, a), a])
    results = k.op("for", k.i32(0), n, k.i32(1), tiles, regions=[body]).results
    for i, value in enumerate(results):
        k.store(k.emit("reshape", value, shape=(1, 4, 16)), z, k.i32(i))
    func = k.finish()
    data = fresh_rng().integers(-9, 9, (3, 4, 16)).astype("i4")
    for rounds in (0, 1, 2, 3, 8):
        assert_kernel(func, [data, rounds], [poisoned(i32, (3, 4, 16))])


def test_a_carried_tile_is_rearranged():
    """Each round reads the whole old tile: it cannot be updated in place."""
    k = Dense()
    x, z = k.tensor("x", i32, 2), k.output("z", i32, 2)
    square = TileType(i32, (16, 16))
    with k.region(TileType(i32), square) as body:
        _, a = body.args
        turned = k.emit("permute", a, order=(1, 0))
        k.op("continue", [k.emit("addi", k.emit("addi", turned, a), turned)])
    start = k.load(x, (16, 16))
    (result,) = k.op("for", k.i32(0), k.i32(3), k.i32(1), [start], regions=[body]).results
    k.store(result, z)
    data = fresh_rng().integers(-9, 9, (16, 16)).astype("i4")
    assert_kernel(k.finish(), [data], [poisoned(i32, (16, 16))])


def test_break_and_continue_inside_branches():
    k = Dense()
    n, z = k.scalar("n", i32), k.output("z", i32, 2)
    start = k.constant(1, i32, (4, 16))
    with k.region(TileType(i32), TILE) as body:
        at, a = body.args
        odd = k.emit("cmpi", k.emit("andi", at, k.i32(1)), k.i32(1), predicate=Predicate.EQ)
        with k.region() as skip:
            k.op("continue", [k.emit("subi", a, k.broadcast(at, (4, 16)))])
        with k.region() as go:
            k.op("yield", [])
        k.op("if", odd, regions=[skip, go])
        stop = k.emit("cmpi", at, n, predicate=Predicate.EQ)
        with k.region() as leave:
            k.op("break", [k.emit("muli", a, a)])
        with k.region() as stay:
            k.op("yield", [])
        k.op("if", stop, regions=[leave, stay])
        k.op("continue", [k.emit("addi", a, a)])
    (result,) = k.op("for", k.i32(0), k.i32(12), k.i32(1), [start], regions=[body]).results
    k.store(result, z)
    func = k.finish()
    for n in range(-1, 13):
        assert_kernel(func, [n], [poisoned(i32, (4, 16))])


def test_scopes_and_returns():
    k = Dense()
    n, x, z = k.scalar("n", i32), k.tensor("x", i32, 1), k.output("z", i32, 1)
    row = TileType(i32, (16,))
    tile = k.load(x, (16,))
    with k.region() as body:
        small = k.emit("cmpi", n, k.i32(3), predicate=Predicate.LT)
        with k.region() as yes:
            k.op("leave", [k.emit("negi", tile)])
        with k.region() as no:
            k.op("yield", [])
        k.op("if", small, regions=[yes, no])
        large = k.emit("cmpi", n, k.i32(6), predicate=Predicate.GT)
        with k.region() as quit_:
            k.op("return")
        with k.region() as no:
            k.op("yield", [])
        k.op("if", large, regions=[quit_, no])
        k.op("leave", [k.emit("addi", tile, tile)])
    (result,) = k.op("scope", regions=[body], types=(row,)).results
    k.store(result, z)
    func = k.finish()
    for value in (0, 4, 9):
        assert_kernel(func, [value, np.arange(16, dtype="i4")], [poisoned(i32, (16,))])


def test_branches_give_tiles_and_scalars():
    k = Dense()
    flag, x, z = k.scalar("flag", i8), k.tensor("x", f32, 1), k.output("z", f32, 1)
    tile = k.load(x, (64,))
    cond = k.emit("cmpi", flag, k.constant(0, i8), predicate=Predicate.NE)
    kinds = (TileType(f32, (64,)), TileType(f32))
    with k.region() as yes:
        k.op("yield", [k.emit("addf", tile, tile), k.constant(2.0, f32)])
    with k.region() as no:
        k.op("yield", [tile, k.constant(0.5, f32)])
    a, s = k.op("if", cond, regions=[yes, no], types=kinds).results
    k.store(k.emit("mulf", a, k.broadcast(s, (64,))), z)
    func = k.finish()
    data = fresh_rng().standard_normal(64).astype("f4")
    for flag in (0, 1):
        assert_kernel(func, [flag, data], [poisoned(f32, (64,))])


def test_nested_loops_carry_through():
    k = Dense()
    x, z = k.tensor("x", i32, 2), k.output("z", i32, 2)
    start = k.load(x, (4, 16))
    with k.region(TileType(i32), TILE) as outer:
        i, a = outer.args
        with k.region(TileType(i32), TILE) as inner:
            j, b = inner.args
            k.op("continue", [k.emit("addi", b, k.broadcast(k.emit("muli", i, j), (4, 16)))])
        (b,) = k.op("for", k.i32(0), k.i32(3), k.i32(1), [a], regions=[inner]).results
        k.op("continue", [k.emit("addi", b, a)])
    (result,) = k.op("for", k.i32(0), k.i32(4), k.i32(1), [start], regions=[outer]).results
    k.store(result, z)
    data = fresh_rng().integers(-9, 9, (4, 16)).astype("i4")
    assert_kernel(k.finish(), [data], [poisoned(i32, (4, 16))])


@pytest.mark.parametrize("pointers", [False, True])
def test_random_programs(pointers):
    """Programs with all of control flow, loads, stores, atomics, checks and prints."""
    for seed in map(int, fresh_rng().integers(0, 2**31, tiers.count(quick=15, full=60))):
        func = program(seed, pointers=pointers)
        got, expected = observed(run_native, func, seed), observed(run, func, seed)
        assert got == expected, f"seed {seed}\n{print_func(func)}"


def observed(run, func, seed):
    """Everything a run of one block can show."""
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape).astype("f4") for shape in (13, 9, (7, 5))]
    arguments = [*arrays, int(rng.integers(-3, 6)), float(np.float32(rng.normal()))]
    if len(func.params) > len(arguments):
        arrays.append(rng.standard_normal(8).astype("f4"))
        arguments.append(arrays[-1])
    report = run(func, arguments, (1, 1, 1))
    failure = report.failure
    failed = failure and (failure.site.kind, failure.block, failure.index, failure.extent)
    return [failed, [[shown(v) for v in p.values] for p in report.printed], *map(shown, arrays)]
