"""Ops made of ops."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, numbers, put, same, scale, scaled, stream_of_op

pytestmark = pytest.mark.usefixtures("device")


def test_b102_zip_makes_one_op_of_two(rng):
    """`zip(a, b)` gives the results of both, as a tuple."""
    a, b = numbers(rng, 8), numbers(rng, 3, 3)
    first, second = tw.zip(tw.from_numpy(a), tw.from_numpy(b)).sync()
    same(first, a)
    same(second, b)


def test_b103_zip_takes_any_number(rng):
    """`zip` takes more than two."""
    arrays = [numbers(rng, n + 1) for n in range(9)]
    found = tw.zip(*map(tw.from_numpy, arrays)).sync()
    assert len(found) == 9
    for t, data in zip(found, arrays, strict=True):
        same(t, data)


def test_b104_unzip_makes_several_ops_of_one(rng):
    """`unzip()` gives an op for each result, which are used apart from each other."""
    x, runs = put(numbers(rng, 8)), []
    pair = tw.zip(scaled(x, 2.0), scaled(x, 3.0)).inspect(lambda *_: runs.append(1))
    double, triple = pair.unzip()
    same(triple.sync(), np.float32(3) * x.to_numpy())
    same(double.then(scaled, 2.0).sync(), 2 * (np.float32(2) * x.to_numpy()))
    assert runs == [1]


def test_b105_then_chains_on_the_same_stream(rng):
    """`then(f)` runs the op that f makes of the result, on the stream of the first."""
    data = numbers(rng, 64)
    seen = []

    def follow(t):
        return tw.with_context(lambda ctx: (seen.append(ctx.stream), scaled(t, 3.0))[1])

    first = tw.with_context(lambda ctx: (seen.append(ctx.stream), tw.from_numpy(data))[1])
    same(first.then(follow).sync(), np.float32(3) * data)
    assert seen[0] is seen[1]


def test_b106_map_transforms_on_the_host(rng):
    """`map(f)` changes the result and puts nothing on the device."""
    data = numbers(rng, 64)
    shape, t = tw.from_numpy(data).map(lambda t: (t.shape, t)).sync()
    assert shape == (64,)
    same(t, data)
    assert tw.value(20).map(lambda n: n + 1).sync() == 21


def test_b107_inspect_looks_and_passes_on(rng):
    """`inspect(f)` shows the result to f and gives it unchanged."""
    seen = []
    x = put(numbers(rng, 4))
    found = tw.value(x).inspect(seen.append).sync()
    assert found is x and seen == [x]
    assert tw.value(7).inspect(lambda n: n + 1).sync() == 7


def test_b108_first(rng):
    """`first()` is the first of several results."""
    data = numbers(rng, 64)
    part = scale(tw.zeros((64,)).partition((64,)), put(data), 2.0).first().sync()
    same(part.unpartition(), np.float32(2) * data)


def test_b109_last(rng):
    """`last()` is the last of several results."""
    data = numbers(rng, 64)
    assert scale(tw.zeros((64,)).partition((64,)), put(data), 2.0).last().sync() == 2.0
    same(tw.zip(tw.zeros((3,)), tw.from_numpy(data)).last().sync(), data)


def test_b110_shared_runs_once_for_all_clones(rng):
    """`shared()` may be cloned; it runs once, and each user gets an `Arc` of the result."""
    data, runs = numbers(rng, 64), []
    x = tw.from_numpy(data).inspect(lambda _: runs.append(1)).shared()
    other = x.clone()
    first, second = x.sync(), other.sync()
    assert runs == [1] and isinstance(first, tw.Arc) and isinstance(second, tw.Arc)
    assert first.value.device_pointer().address == second.value.device_pointer().address
    same(first, data)


def test_b111_shared_wraps_an_arc_that_is_there(rng):
    """`shared(arc)` is a shared op whose result is there already."""
    data = numbers(rng, 64)
    weights = tw.shared(tw.Arc(put(data)))
    assert isinstance(weights, tw.SharedOp)
    out = add(tw.zeros((64,)).partition((64,)), weights, weights.clone()).out().sync()
    same(out, data + data)


def test_b112_boxed_ops_of_all_kinds_fit_into_one_list(rng):
    """`boxed()` erases the type of an op, so that ops of different kinds fit into one list.

    Differs: boxed-ops
    """
    data = numbers(rng, 16)
    ops = [tw.from_numpy(data).boxed(), scaled(put(data), 1.0).boxed(), tw.value(put(data)).boxed()]
    for op in ops:
        same(op.sync(), data)


def test_b113_errors_pass_through_combinators():
    """An error of one op ends the whole composition."""
    called = []
    op = tw.zip(tw.zeros((4,)), tw.zeros((4,)).reshape((5,))).map(lambda *_: called.append(1))
    with pytest.raises(tw.ShapeError):
        op.sync()
    assert called == []


def test_b114_zipped_ops_share_a_stream():
    """The parts of a composition run where the whole was sent."""
    first, second = tw.zip(stream_of_op(), stream_of_op()).sync()
    assert first is second


def test_b211_several_results_are_several_arguments(rng):
    """A function in a chain gets a result of several parts as one tuple.

    Differs: results-as-arguments
    """
    pair = tw.zip(tw.value(2), tw.value(5))
    assert pair.map(lambda a, b: a - b).sync() == -3
    assert tw.value((2, 5)).then(lambda a, b: tw.value(a * b)).sync() == 10
    assert tw.value([2, 5]).map(len).sync() == 2, "only tuples are taken apart"
