"""Launches that the core starts, and that may report something when they are over."""

from __future__ import annotations

import gc
import time

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from support.leaks import assert_none_left
from tilewright import f32, i32
from tilewright.devices.cuda.stream import CudaStream

SIZE, ROUNDS = 16, 60


@tw.entry
def picked(z: tl.TensorMut[f32], x: tl.Tensor[f32], where: tl.Tensor[i32]) -> None:
    z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))


@tw.entry
def copied(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def told(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    print("it ran")
    z.store(tl.load_tile_like(x, z))


@pytest.fixture
def given():
    """An output, an input, a place in that and one outside of it, and a stream; all is warm."""
    x, z = tw.from_numpy(np.arange(SIZE, dtype="f4")).sync(), tw.zeros(SIZE).sync()
    good, bad = (tw.from_numpy(np.full(1, n, np.int32)).sync() for n in (0, 7))
    stream = tw.default_device().new_stream()
    for _ in range(2):
        picked(z.partition_mut(SIZE), x, good).sync_on(stream)
        copied(z.partition_mut(SIZE), x).sync_on(stream)
    return z, x, good, bad, stream


def passed(stream, work):
    """Wait until a stream has passed some work, without anybody hearing of it."""
    work()
    end = time.monotonic() + 20
    while not has_passed(stream) and time.monotonic() < end:
        time.sleep(0.001)


def has_passed(stream):
    """Whether it has; asking a stream of CUDA makes no calls that are due."""
    if isinstance(stream, CudaStream):
        return stream.idle()
    return stream.native.completed >= stream.native.submitted


def test_the_core_starts_them(given, monkeypatch):
    z, x, good, _, stream = given
    called = called_launches(monkeypatch)
    for _ in range(3):
        picked(z.partition_mut(SIZE), x, good).start_on(stream)
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy())
    assert called == []


def test_who_reads_hears_of_a_failure_that_another_launch_has_overtaken(given):
    z, x, _, bad, stream = given
    w = tw.zeros(SIZE).sync()
    passed(stream, lambda: picked(z.partition_mut(SIZE), x, bad).start_on(stream))
    copied(w.partition_mut(SIZE), x).sync_on(stream)
    with pytest.raises(tw.LaunchError, match="index out of range in `picked`"):
        z.to_numpy()
    np.testing.assert_array_equal(w.to_numpy(), x.to_numpy())


def test_a_later_launch_does_not_hide_it_from_who_reads_on_another_stream(given):
    z, x, _, bad, stream = given
    w, other = tw.zeros(SIZE).sync(), tw.default_device().new_stream()
    picked(z.partition_mut(SIZE), x, bad).start_on(stream)
    copied(w.partition_mut(SIZE), z).start_on(other)
    with pytest.raises(tw.LaunchError, match="index out of range in `picked`"):
        z.to_numpy()
    stream.synchronize(), other.synchronize()


def test_a_future_raises_it_and_names_the_chain(given):
    z, x, _, bad, stream = given
    chain = picked(z.partition_mut(SIZE), x, bad).then(lambda p, x, at: copied(p, x))
    with pytest.raises(tw.LaunchError, match="index out of range in `picked`") as raised:
        chain.into_future().result()
    assert any("`picked.then`" in note for note in raised.value.__notes__)
    stream.synchronize()


def test_what_nobody_hears_is_reported(given, monkeypatch):
    stream, seen = given[-1], []
    monkeypatch.setattr("sys.unraisablehook", lambda args: seen.append(str(args.exc_value)))

    def fail():
        x, z = tw.zeros(SIZE).sync(), tw.zeros(SIZE).sync()
        bad = tw.from_numpy(np.full(1, 7, np.int32)).sync()
        picked(z.partition_mut(SIZE), x, bad).start_on(stream)
        stream.synchronize()

    fail()
    gc.collect()
    assert len(seen) == 1 and "index out of range in `picked`" in seen[0]


def test_prints_are_written_once_in_order(given, capsys):
    z, x, _, _, stream = given
    for _ in range(3):
        told(z.partition_mut(SIZE), x).start_on(stream)
    stream.synchronize()
    assert capsys.readouterr().out == "it ran\n" * 3


def test_a_moved_tensor_goes_back_where_the_launch_fails(given):
    _, x, good, bad, stream = given
    for where, fails in ((good, False), (bad, True)):
        y = tw.zeros(SIZE).sync()
        p, *_ = picked(y.partition(SIZE), x, where).start_on(stream)
        stream.synchronize()
        if fails:
            with pytest.raises(tw.LaunchError, match="index out of range"):
                p.unpartition().to_numpy()
        else:
            np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy())


def test_nothing_is_left_behind(given):
    z, x, good, _, stream = given
    watched = [z, x, good, x.plain, stream, stream.timeline, picked.kernel, None, True]

    def all_ways() -> None:
        for _ in range(3):
            picked(z.partition_mut(SIZE), x, good).start_on(stream)
        stream.synchronize()
        copied(tw.empty(SIZE).sync().partition(SIZE), x).start_on(stream)
        y = tw.zeros(SIZE).sync()
        copied(y.partition(SIZE), x).start_on(stream)
        stream.synchronize()

    assert_none_left(all_ways, watched, ROUNDS)
