"""Copies between two GPUs: put on a stream of one of them, ordered with the work of both."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.fake_cuda import names
from support.numbers import fresh_rng

PARTS = [np.s_[:], np.s_[1:5, ::2], np.s_[::3], np.s_[:, 2:3]]


@pytest.fixture
def data():
    return fresh_rng().random((6, 8)).astype("f4")


@pytest.mark.parametrize("part", PARTS)
def test_there_and_back(fake_gpus, fake_cuda, data, part):
    first, second = fake_gpus
    t = tw.from_numpy(data, device=first).sync()
    there = t[part].to(second).sync()
    assert there.device is second and "copy_between" in names(fake_cuda.log)
    assert np.array_equal(there.to_numpy(), data[part])
    back = there.to("cuda:0").sync()
    assert back.device is first and np.array_equal(back.to_numpy(), data[part])


@pytest.mark.parametrize("part", PARTS)
def test_into_memory_that_is_there(fake_gpus, data, part):
    """Parts with gaps on the side of the stream; the other side is whole."""
    first, second = fake_gpus
    t = tw.from_numpy(data, device=first).sync()
    whole = np.ascontiguousarray(data[part])
    z = tw.zeros(whole.shape, device=second).sync()
    z.borrow_mut().copy_from(t[part]).sync()
    assert np.array_equal(z.to_numpy(), whole)
    tw.memcpy(z.borrow_mut(), tw.zeros(whole.shape, device=first).sync()).sync()
    assert not z.to_numpy().any()


def test_gaps_on_both_sides_are_refused_with_a_way_out(fake_gpus, data):
    first, second = fake_gpus
    t = tw.from_numpy(data, device=first).sync()
    z = tw.zeros((6, 16), device=second).sync()
    with pytest.raises(tw.DriverError, match="memory with gaps") as caught:
        z.borrow_mut()[:, ::4].copy_from(t[:, ::2]).sync()
    assert "dup()" in caught.value.hint
    z.borrow_mut()[:, ::4].copy_from(t[:, ::2].dup().sync()).sync()  # as it says
    assert np.array_equal(z.to_numpy()[:, ::4], data[:, ::2])


def test_what_follows_a_copy_runs_where_it_went(fake_gpus, data):
    first, second = fake_gpus
    t = tw.from_numpy(data, device=first).sync()
    op = t.to(second)
    assert op.home is second
    assert op.then(lambda there: there.dup()).sync().device is second


def test_what_is_under_way_on_either_comes_first(fake_gpus, fake_cuda, data):
    """A copy waits for what writes its source; what uses its target waits for the copy."""
    first, second = fake_gpus
    ours, theirs = first.new_stream(), second.new_stream()
    t = tw.zeros((6, 8), device=first).sync()
    fake_cuda.hold(ours)
    t.borrow_mut().copy_from(data).start_on(ours)
    there = t.to(second).start_on(first.new_stream())
    again = there.dup().start_on(theirs)
    assert not theirs.idle(), "nothing of it has happened"
    fake_cuda.release()
    assert np.array_equal(again.to_numpy(), data)


def test_memory_of_another_device_is_no_matter_of_a_stream(fake_gpus, data):
    first, second = fake_gpus
    t = tw.from_numpy(data, device=first).sync()
    for op in (lambda: t.dup(), lambda: t.borrow_mut().copy_from(data)):
        with pytest.raises(tw.ContextError, match="cannot be used for memory of another device"):
            op().sync_on(second.new_stream())
    assert np.array_equal(t.to_numpy(), data)


def test_an_array_has_been_read_when_its_copy_is_on_its_way(fake_gpu, fake_cuda, data):
    t = tw.zeros((6, 8), device=fake_gpu).sync()
    stream, kept = fake_gpu.new_stream(), data.copy()
    fake_cuda.hold(stream)
    t.borrow_mut().copy_from(data).start_on(stream)
    data[:] = 0
    fake_cuda.release()
    assert np.array_equal(t.to_numpy(), kept)
