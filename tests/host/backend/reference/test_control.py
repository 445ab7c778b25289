"""Control flow: every jump out of every construct, against Python's own statements."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from tilewright.base.dtypes import INTS, bool_, f32, i8, i32, int_range, u8
from tilewright.ir.attrs import Predicate
from tilewright.ir.core import Block
from tilewright.ir.types import TileType

I32 = TileType(i32)


def less(k, a, b):
    return k.emit("cmpi", a, b, predicate=Predicate.LT)


def equal(k, a, b):
    return k.emit("cmpi", a, b, predicate=Predicate.EQ)


def when(k, cond, build):
    """An if whose first region `build` fills and ends; the second yields nothing."""
    with k.region() as then:
        build()
        if not then.ops or not then.terminator.defn.terminator:
            k.op("yield")
    with k.region() as otherwise:
        k.op("yield")
    return k.op("if", cond, regions=[then, otherwise])


def run_scalars(k, *arguments, count=1):
    """Run a kernel whose last parameter is an i32 output of `count` elements."""
    out = poisoned(i32, (count,))
    checked(k.finish(), [*arguments, out])
    return out.tolist()


def put(k, out, *values):
    for i, value in enumerate(values):
        k.store(k.emit("reshape", value, shape=(1,)), out, i)


@pytest.mark.parametrize("bounds", [(0, 5, 1), (2, 11, 3), (3, 3, 1), (5, 2, 1), (-4, 4, 3)])
def test_for_carries_values(bounds):
    k = Kernel()
    lower, upper, step = (k.scalar(n, i32) for n in ("lower", "upper", "step"))
    out = k.output("out", i32, 1)
    with k.region(I32, I32, I32) as body:
        i, total, last = body.args
        k.op("continue", [k.emit("addi", total, i), i])
        del last
    loop = k.op("for", lower, upper, step, [k.i32(100), k.i32(-1)], regions=[body])
    put(k, out, *loop.results)
    visited = list(range(*bounds))
    assert run_scalars(k, *bounds, count=2) == [100 + sum(visited), [-1, *visited][-1]]


@pytest.mark.parametrize("step", [0, -1, -(2**31)])
def test_a_step_that_is_not_positive_gives_no_round(step):
    k = Kernel()
    given, out = k.scalar("step", i32), k.output("out", i32, 1)
    with k.region(I32, I32) as body:
        k.op("continue", [k.emit("addi", body.args[1], k.i32(1))])
    loop = k.op("for", k.i32(5), k.i32(0), given, [k.i32(0)], regions=[body])
    put(k, out, *loop.results)
    assert run_scalars(k, step) == [0]


@pytest.mark.parametrize("dtype", INTS)
def test_for_counts_in_its_own_type_and_never_wraps_around(dtype):
    k = Kernel()
    _, high = int_range(dtype)
    out = k.output("out", i32, 1)
    with k.region(TileType(dtype), I32) as body:
        k.op("continue", [k.emit("addi", body.args[1], k.i32(1))])
    bounds = [k.constant(n, dtype) for n in (high - 3, high, 2)]
    put(k, out, *k.op("for", *bounds, [k.i32(0)], regions=[body]).results)
    assert run_scalars(k) == [2]


def test_signs_of_bounds_follow_the_type():
    for dtype, low, rounds in ((i8, -3, 4), (u8, 253, 0)):
        k = Kernel()
        out = k.output("out", i32, 1)
        with k.region(TileType(dtype), I32) as body:
            k.op("continue", [k.emit("addi", body.args[1], k.i32(1))])
        bounds = [k.constant(n, dtype) for n in (low, 1, 1)]
        put(k, out, *k.op("for", *bounds, [k.i32(0)], regions=[body]).results)
        assert run_scalars(k) == [rounds]


@pytest.mark.parametrize("stop", [0, 1, 3, 99])
def test_break_in_for(stop):
    k = Kernel()
    given, out = k.scalar("stop", i32), k.output("out", i32, 1)
    with k.region(I32, I32) as body:
        i, total = body.args
        when(k, equal(k, i, given), lambda: k.op("break", [k.emit("subi", k.i32(0), total)]))
        k.op("continue", [k.emit("addi", total, k.i32(1))])
    loop = k.op("for", k.i32(0), k.i32(6), k.i32(1), [k.i32(10)], regions=[body])
    put(k, out, *loop.results)
    assert run_scalars(k, stop) == [-(10 + stop) if stop < 6 else 16]


def test_continue_inside_ifs():
    k = Kernel()
    out = k.output("out", i32, 1)
    with k.region(I32, I32) as body:
        i, total = body.args

        def inner():
            even = equal(k, k.emit("andi", i, k.i32(1)), k.i32(0))
            when(k, even, lambda: k.op("continue", [k.emit("addi", total, i)]))

        when(k, less(k, i, k.i32(6)), inner)
        k.op("continue", [k.emit("addi", total, k.i32(1000))])
    loop = k.op("for", k.i32(0), k.i32(8), k.i32(1), [k.i32(0)], regions=[body])
    put(k, out, *loop.results)
    assert run_scalars(k) == [0 + 2 + 4 + 5 * 1000]


@pytest.mark.parametrize("n", [1, 6, 27])
def test_loop_until_break(n):
    """The Collatz sequence: how many steps to reach 1."""
    k = Kernel()
    start, out = k.scalar("n", i32), k.output("out", i32, 1)
    with k.region(I32, I32) as body:
        x, steps = body.args
        when(k, equal(k, x, k.i32(1)), lambda: k.op("break", [x, steps]))
        odd = equal(k, k.emit("andi", x, k.i32(1)), k.i32(1))
        tripled = k.emit("addi", k.emit("muli", x, k.i32(3)), k.i32(1))
        chosen = k.emit("select", odd, tripled, k.emit("shri", x, k.i32(1)))
        k.op("continue", [chosen, k.emit("addi", steps, k.i32(1))])
    put(k, out, *k.op("loop", [start, k.i32(0)], regions=[body]).results)
    steps, x = 0, n
    while x != 1:
        x, steps = (3 * x + 1 if x % 2 else x // 2), steps + 1
    assert run_scalars(k, n, count=2) == [1, steps]


@pytest.mark.parametrize("cond", [True, False])
def test_if_yields(cond):
    k = Kernel()
    given, out = k.scalar("cond", bool_), k.output("out", i32, 1)
    regions: list[Block] = []
    for values in ((1, 2), (3, 4)):
        with k.region() as region:
            k.op("yield", [k.i32(v) for v in values])
        regions.append(region)
    put(k, out, *k.op("if", given, regions=regions, types=(I32, I32)).results)
    assert run_scalars(k, cond, count=2) == ([1, 2] if cond else [3, 4])


@pytest.mark.parametrize(("outer", "inner"), [(2, 3), (9, 9), (0, 0), (3, 9), (9, 0)])
def test_leave_out_of_nested_loops(outer, inner):
    """A scope around two loops: the first hit leaves both, as a return from a helper would."""
    k = Kernel()
    want_i, want_j = k.scalar("i", i32), k.scalar("j", i32)
    out = k.output("out", i32, 1)
    with k.region() as scope:
        with k.region(I32) as rows:
            with k.region(I32) as columns:
                i, j = rows.args[0], columns.args[0]
                hit = k.emit("andi", equal(k, i, want_i), equal(k, j, want_j))
                when(k, hit, lambda: k.op("leave", [i, j]))
                k.op("continue")
            k.op("for", k.i32(0), k.i32(5), k.i32(1), regions=[columns])
            k.op("continue")
        k.op("for", k.i32(0), k.i32(4), k.i32(1), regions=[rows])
        k.op("leave", [k.i32(-1), k.i32(-1)])
    put(k, out, *k.op("scope", regions=[scope], types=(I32, I32)).results)
    found = outer < 4 and inner < 5
    assert run_scalars(k, outer, inner, count=2) == ([outer, inner] if found else [-1, -1])


def test_leave_names_the_innermost_scope():
    k = Kernel()
    out = k.output("out", i32, 1)
    with k.region() as outer:
        with k.region() as inner:
            k.op("leave", [k.i32(5)])
        value = k.op("scope", regions=[inner], types=(I32,)).result
        k.op("leave", [k.emit("addi", value, k.i32(1))])
    put(k, out, k.op("scope", regions=[outer], types=(I32,)).result)
    assert run_scalars(k) == [6]


def test_break_and_continue_cross_a_scope():
    k = Kernel()
    out = k.output("out", i32, 1)
    with k.region(I32, I32) as body:
        i, total = body.args
        with k.region() as scope:
            when(k, equal(k, i, k.i32(1)), lambda: k.op("continue", [total]))
            when(k, equal(k, i, k.i32(4)), lambda: k.op("break", [total]))
            k.op("leave", [i])
        value = k.op("scope", regions=[scope], types=(I32,)).result
        k.op("continue", [k.emit("addi", total, value)])
    loop = k.op("for", k.i32(0), k.i32(9), k.i32(1), [k.i32(0)], regions=[body])
    put(k, out, *loop.results)
    assert run_scalars(k) == [0 + 2 + 3]


@pytest.mark.parametrize("where", range(6))
def test_return_from_anywhere(where):
    """Inside a loop, a scope and an if; what was stored before stays."""
    k = Kernel()
    given, out = k.scalar("where", i32), k.output("out", i32, 1)

    def stop_at(n):
        put_at(n)
        when(k, equal(k, given, k.i32(n)), lambda: k.op("return"))

    def put_at(n):
        k.store(k.constant(1, i32, (1,)), out, n)

    stop_at(0)
    with k.region() as scope:
        stop_at(1)
        with k.region(I32) as counted:
            stop_at(2)
            with k.region() as endless:
                stop_at(3)
                k.op("break")
            k.op("loop", regions=[endless])
            k.op("continue")
        k.op("for", k.i32(0), k.i32(2), k.i32(1), regions=[counted])
        k.op("leave")
    k.op("scope", regions=[scope])
    stop_at(4)
    put_at(5)
    out = np.zeros(6, np.int32)
    checked(k.finish(), [where, out])
    assert out.tolist() == [int(i <= where) for i in range(6)]


def test_return_ends_one_block_only():
    k = Kernel()
    out = k.output("out", i32, 1)
    when(k, equal(k, k.block_id(), k.i32(2)), lambda: k.op("return"))
    k.store(k.constant(1, i32, (1,)), out, k.block_id())
    out = np.zeros(5, np.int32)
    checked(k.finish(), [out], (5,))
    assert out.tolist() == [1, 1, 0, 1, 1]


def test_tiles_are_carried():
    k = Kernel()
    x, out = k.tensor("x", f32, 2), k.output("out", f32, 1)
    tile = TileType(f32, (4,))
    rows = k.emit("extent", x, axis=0)
    with k.region(I32, tile) as body:
        i, total = body.args
        row = k.emit("reshape", k.load(x, (1, 4), i), shape=(4,))
        k.op("continue", [k.emit("addf", total, row)])
    zero = k.constant(0.0, f32, (4,))
    k.store(k.op("for", k.i32(0), rows, k.i32(1), [zero], regions=[body]).result, out)
    func = k.finish()
    for n in (0, 1, 7):
        x, out = np.arange(4 * n, dtype=np.float32).reshape(n, 4), poisoned(f32, (4,))
        checked(func, [x, out])
        assert np.array_equal(out, x.sum(0))
