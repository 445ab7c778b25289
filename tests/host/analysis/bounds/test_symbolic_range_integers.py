"""What is known of single integers: where blocks and threads stand, equal ops, scopes, tiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.ir import Kernel
from tilewright.analysis.bounds.proofs import LARGEST, ONE, ZERO, Linear, Prover, atom, number
from tilewright.analysis.bounds.symbolic_range import (
    Integers,
    SymbolicRange,
    is_index,
    point_range,
    unknown,
)
from tilewright.base.dtypes import bool_, f32, i32, i64
from tilewright.ir.attrs import ThreadCoordinate
from tilewright.ir.core import Value
from tilewright.ir.types import PtrType, TileType

GRID = atom(("grid_dim", 0))


def walked(k: Kernel, **signature: object) -> Integers:
    func = k.finish()
    func = replace(func, signature=replace(func.signature, **signature))
    integers = Integers(func, Prover(func.signature))
    for op in func.body.ops:
        if op.name == "tile_index":
            integers.tile_index(op)
        elif len(op.results) == 1 and is_index(op.result):
            integers.evaluate(op)
    return integers


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        (TileType(i32), True), (TileType(i64), True), (TileType(i32, (1,)), False),
        (TileType(f32), False), (TileType(bool_), False), (TileType(PtrType(i32)), False),
    ],
)  # fmt: skip
def test_an_index_is_one_integer(kind, index):
    assert is_index(Value(kind)) is index


# --- threads --------------------------------------------------------------------------------------


def placed(what: ThreadCoordinate, axis: int, block: tuple[int, ...]) -> SymbolicRange:
    k = Kernel()
    made = k.emit("place", what=what, axis=axis)
    return walked(k, block=block).of(made)


def bounds(known: SymbolicRange) -> tuple[tuple[Linear, ...], tuple[Linear, ...]]:
    return known.lows, known.highs


def test_places_of_threads():
    block = (8, 4)
    assert bounds(placed(ThreadCoordinate.THREAD, 0, block)) == ((ZERO,), (number(7),))
    assert bounds(placed(ThreadCoordinate.THREAD, 1, block)) == ((ZERO,), (number(3),))
    assert placed(ThreadCoordinate.THREAD, 2, block).point == ZERO
    assert bounds(placed(ThreadCoordinate.BLOCK, 0, block)) == ((ZERO,), (GRID.shifted(-1),))
    assert placed(ThreadCoordinate.BLOCK, 2, block).point == ZERO
    assert placed(ThreadCoordinate.BLOCK_SIZE, 0, block).point == number(8)
    assert placed(ThreadCoordinate.BLOCK_SIZE, 2, block).point == ONE
    assert placed(ThreadCoordinate.GRID_SIZE, 0, block).point == GRID
    assert placed(ThreadCoordinate.GRID_SIZE, 2, block).point == ONE


@pytest.mark.parametrize("what", [ThreadCoordinate.LANE, ThreadCoordinate.WARP])
def test_places_in_warps_are_anything(what):
    assert placed(what, 0, (8,)) == unknown(i32)


def test_the_number_of_a_thread_is_below_their_number():
    k = Kernel()
    made = k.emit("index_1d")
    known = walked(k, block=(8,)).of(made)
    assert known.lows == (ZERO,)
    threads = Prover(k.finish().signature).algebra.min(GRID.times(8).shifted(-1), number(LARGEST))
    assert known.highs == (threads, number(LARGEST))
    assert known.span is not None and known.span.exact


@pytest.mark.parametrize("block", [(8, 4), (8, 1), (8, 1, 1)])
def test_in_launches_of_more_axes_a_thread_has_no_number(block):
    k = Kernel()
    made = k.emit("index_1d")
    assert walked(k, block=block).of(made) == SymbolicRange((ZERO,), (number(LARGEST),))


def test_the_number_of_a_thread_in_rows_is_below_none():
    k = Kernel()
    made = k.emit("index_2d", k.i32(4))
    assert walked(k, block=(8, 4)).of(made) == SymbolicRange((ZERO,), (number(LARGEST),))


def test_one_axis_has_one_cause():
    k = Kernel()
    twice = [k.emit("place", what=ThreadCoordinate.THREAD, axis=axis) for axis in (0, 1, 0)]
    blocks = [k.emit("place", what=ThreadCoordinate.BLOCK, axis=0), k.emit("index_1d")]
    integers = walked(k, block=(8, 4, 2))
    a, b, again = (integers.of(v).span for v in twice)
    assert a is not None and b is not None and again is not None
    assert a.varies == again.varies
    assert a.apart(b)
    assert len(blocks) == 2


def test_a_thread_number_varies_with_threads_and_blocks():
    k = Kernel()
    made = [
        k.emit("place", what=what, axis=0)
        for what in (ThreadCoordinate.THREAD, ThreadCoordinate.BLOCK)
    ]
    index = k.emit("index_1d")
    integers = walked(k, block=(8,))
    span = integers.of(index).span
    for each in made:
        other = integers.of(each).span
        assert span is not None and other is not None
        assert not span.apart(other)


# --- blocks of tiles ------------------------------------------------------------------------------


def test_a_grid_of_one_block_has_block_0():
    k = Kernel()
    first, second = k.block_id(0), k.block_id(1)
    integers = walked(k, grid=(1, 6))
    assert integers.of(first).point == ZERO
    assert bounds(integers.of(second)) == ((ZERO,), (number(5),))


def indexed(*starts: int) -> tuple[Integers, list[Value]]:
    k = Kernel()
    counts = [k.scalar("n", i32), k.i32(6)]
    at = k.block_id(0)
    begin = [k.i32(n) for n in starts]
    op = k.op("tile_index", at, counts, begin, groups=(1, 1))
    return walked(k), list(op.results)


def test_indices_of_tiles_lie_below_their_counts():
    integers, (a, b) = indexed()
    n = atom(("scalar", "n"))
    assert n.shifted(-1) in integers.of(a).highs
    assert integers.of(b).highs == (number(5),)
    assert ZERO in integers.of(a).lows
    spans = [integers.of(v).span for v in (a, b)]
    assert spans[1] is not None and (spans[1].low, spans[1].high) == (ZERO, number(5))
    # Whatever one index is, the other takes all its values.
    assert spans[0] is not None and spans[0].apart(spans[1])


def test_indices_of_spans_begin_where_these_do():
    integers, (a, b) = indexed(2, 3)
    assert integers.of(b).highs == (number(8),)
    assert number(3) in integers.of(b).lows
    span = integers.of(a).span
    assert span is not None and span.low == number(2)
    assert span.high == atom(("scalar", "n")).shifted(1)


# --- equal ops, scopes ----------------------------------------------------------------------------


def test_equal_ops_are_one_value():
    k = Kernel()
    n, m = k.scalar("n", i32), k.scalar("m", i32)
    sums = [k.emit("addi", n, m) for _ in range(2)]
    other = k.emit("addi", m, n)
    down = [k.emit("divi", n, m, rounding=r) for r in ("zero", "neg_inf")]
    integers = walked(k)
    integers.note(sums[1], point_range(ONE))
    assert integers.of(sums[0]).point == ONE
    assert integers.of(other).point != ONE
    assert integers.first[down[0]] is not integers.first[down[1]]


def test_what_is_found_in_a_scope_is_forgotten_after_it():
    k = Kernel()
    n = k.scalar("n", i32)
    integers = walked(k)
    before = integers.of(n)
    with integers.scope():
        integers.note(n, point_range(ONE))
        integers.prover.believe([atom(("scalar", "n")).shifted(-7)])
        assert integers.of(n).point == ONE
        assert integers.prover.holds(atom(("scalar", "n")))
    assert integers.of(n) == before
    assert not integers.prover.holds(atom(("scalar", "n")))


def test_what_varies_less_keeps_its_part_of_a_whole():
    integers, (a, _) = indexed()
    span = integers.of(a).span
    assert span is not None
    (cause,) = span.varies
    (less,) = integers.narrowed(span.varies)
    assert (less.whole, less.part) == (cause.whole, cause.part)
    (mixed,) = integers.narrowed(span.varies | integers.cause())
    assert mixed.whole is None
