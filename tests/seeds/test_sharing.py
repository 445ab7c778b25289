"""Ops with several users, and tensors with several owners."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import add, numbers, put, same, scale, scaled

pytestmark = pytest.mark.usefixtures("device")


def test_b154_a_shared_op_runs_with_its_first_user(rng):
    """The source of a shared op runs when the first user does, and never again."""
    data, runs = numbers(rng, 64), []
    x = tw.from_numpy(data).inspect(lambda _: runs.append(1)).shared()
    a = scaled_of(x.clone(), 2.0)
    assert runs == []
    same(a.sync(), np.float32(2) * data)
    assert runs == [1]
    same(scaled_of(x.clone(), 3.0).sync(), np.float32(3) * data)
    assert runs == [1]


def scaled_of(x, k):
    return scale(tw.zeros((64,)).partition((64,)), x, k).out()


def test_b155_every_clone_gets_the_same_result(rng):
    """All clones give an `Arc` of one tensor."""
    x = tw.from_numpy(numbers(rng, 64)).shared()
    found = [clone.sync() for clone in (x, x.clone(), x.clone().clone())]
    assert len({arc.value.device_pointer().address for arc in found}) == 1


def test_b156_the_result_of_a_shared_op_is_an_arc(rng):
    """A shared op gives an `Arc` of whatever its source gives.

    Differs: what-shared-ops-give
    """
    assert isinstance(tw.from_numpy(numbers(rng, 4)).shared().sync(), tw.Arc)
    assert tw.value(3).shared().sync() == 3


def test_b157_weights_that_are_there_are_shared(rng):
    """`shared(arc)` is for values that are there, such as weights."""
    data = numbers(rng, 64)
    weights = tw.shared(tw.Arc(put(data)))
    for k in (2.0, 3.0):
        same(scaled_of(weights.clone(), k).sync(), np.float32(k) * data)


def test_b158_unwrap_arc_gives_the_tensor(rng):
    """`unwrap_arc()` of an op gives the tensor of an `Arc`, to be partitioned."""
    data = numbers(rng, 64)
    owned = tw.value(tw.Arc(put(data))).unwrap_arc().sync()
    assert isinstance(owned, tw.Tensor)
    same(owned, data)
    assert owned.partition((32,)).grid == (2,)


def test_b159_unwrap_arc_needs_the_only_owner(rng):
    """`unwrap_arc` panics if there are other owners.

    Differs: panics
    """
    arc = tw.Arc(put(numbers(rng, 64)))
    other = arc.clone()
    for unwrap in (arc.unwrap_arc, tw.value(arc).unwrap_arc().sync):
        with pytest.raises(tw.BorrowError, match="shared by"):
            unwrap()
    del other


def test_b160_halves_of_an_unzip_are_plain(rng):
    """`unzip` gives ops whose results are in an `Arc`.

    Differs: what-unzip-gives
    """
    data = numbers(rng, 8)
    left, right = tw.zip(tw.from_numpy(data), tw.value(3)).unzip()
    t = left.sync()
    assert isinstance(t, tw.Tensor) and right.sync() == 3
    same(t.partition((4,)).unpartition(), data)


def test_b161_the_result_of_a_shared_op_is_unwrapped_once_the_op_is_gone(rng):
    """`.shared()` and `.unwrap_arc()` lead back to an owned tensor."""
    data = numbers(rng, 16)
    x = tw.from_numpy(data).shared().sync()
    owned = tw.value(x).unwrap_arc().sync()
    same(owned.partition((8,)).unpartition(), data)


def test_b162_values_become_ops_on_their_own(rng):
    """Whatever a launcher takes is wrapped as an op; an op is taken as it is."""
    op = tw.ones((4,))
    assert tw.as_op(op) is op
    x, arc = put(numbers(rng, 4)), tw.Arc(put(numbers(rng, 4)))
    part = tw.zeros((4,)).sync().partition((4,))
    for given in (x, arc, part, 2.5, 7):
        assert tw.as_op(given).sync() is given
    op.close()


def test_b163_an_arc_in_an_op_is_an_owner(rng):
    """Wrapping an `Arc` in a launch counts as an owner until it has run."""
    data = numbers(rng, 64)
    arc = tw.Arc(put(data))
    op = scaled(arc, 2.0)
    del arc
    same(op.sync(), np.float32(2) * data)


def test_b164_a_shared_op_may_be_two_arguments(rng):
    """One shared op is both inputs of a kernel."""
    data = numbers(rng, 64)
    x = tw.from_numpy(data).shared()
    same(add(tw.zeros((64,)).partition((64,)), x, x.clone()).out().sync(), data + data)


def test_b165_a_shared_op_may_borrow(rng):
    """A shared op must own all it uses.

    Differs: shared-ops
    """
    data = numbers(rng, 64)
    x = put(data)
    op = scaled(x, 2.0).shared()
    same(op.sync(), np.float32(2) * data)
    same(op.clone().sync(), np.float32(2) * data)
