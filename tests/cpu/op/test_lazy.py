"""What ops that have run keep alive: nothing but what messages need."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl


@tw.entry
def negate(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


def _in_graph(t, keep):
    """A launch of a graph that nobody else has."""
    return negate(tw.empty((8,)).partition((8,)), t).graph().launch()


def _spawnable(t, keep):
    a, b = tw.zip(t, 5).unzip()
    keep.append(b)
    return a


OPS = {
    "launch": lambda t, keep: negate(tw.zeros((8,)).sync().partition((8,)), t),
    "launch on ops": lambda t, keep: negate(tw.zeros((8,)).partition((8,)), tw.value(t)),
    "value": lambda t, keep: tw.value(t),
    "map": lambda t, keep: tw.value(1).map(lambda _: t.shape),
    "then": lambda t, keep: tw.value(1).then(lambda _: t.dup()),
    "extra arguments": lambda t, keep: tw.value(1).map(lambda _, t: t.shape, t),
    "zip": lambda t, keep: tw.zip(t, 5),
    "unzip": _spawnable,
    "dup": lambda t, keep: t.dup(),
    "to_numpy": lambda t, keep: t.copy_to_host(),
    "copy_from": lambda t, keep: t.copy_from(np.ones(8, np.float32)),
    "memcpy": lambda t, keep: tw.memcpy(tw.zeros((8,)).sync(), t),
    "fill": lambda t, keep: tw.fill(t, 2.0),
    "convert": lambda t, keep: tw.convert(t, tw.f16),
    "with_context": lambda t, keep: tw.with_context(lambda ctx: tw.value(t.shape)),
    "graph launch": _in_graph,
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("composed", [False, True])
def test_an_op_that_has_run_holds_no_tensor(name, composed):
    tensor, keep = tw.ones((8,)).sync(), []
    memory = weakref.ref(tensor.region.storage)
    op = OPS[name](tensor, keep)
    used = op.map(lambda *results: None) if composed else op
    used.sync()
    tw.synchronize()
    del tensor
    keep.clear()
    gc.collect()
    assert memory() is None, "the op in a variable holds what it was given"
    assert op.name in repr(op) and "used by" in repr(op)
    with pytest.raises(tw.BorrowError, match="already used"):
        op.sync()
    with pytest.raises(tw.BorrowError, match="already used"):
        tw.zip(op, 1)


@pytest.mark.parametrize("name", ["launch", "launch on ops"])
def test_an_op_that_has_failed_holds_no_tensor(name):
    tensor = tw.ones((8,)).sync()
    memory = weakref.ref(tensor.region.storage)

    def fail():
        raise ValueError("no")

    op = OPS[name](tensor, []).map(lambda *results: fail())
    with pytest.raises(ValueError, match="no"):
        op.sync()
    del tensor
    tw.synchronize()  # work that is under way keeps it
    gc.collect()
    assert memory() is None


def test_from_numpy_lets_go_of_its_array():
    class Array(np.ndarray):
        """Can be referred to weakly."""

    array = np.ones(8, np.float32).view(Array)
    gone, op = weakref.ref(array), tw.from_numpy(array)
    op.sync()
    del array
    assert gone() is None


def test_a_shared_op_keeps_its_result():
    op = tw.ones((8,)).shared()
    op.sync()
    assert op.sync().to_numpy().sum() == 8
