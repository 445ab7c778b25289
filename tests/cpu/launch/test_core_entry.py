"""Kernels whose calls the core binds: what is refused, and that nothing is left behind."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import time
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.leaks import assert_none_left
from support.numbers import fresh_rng
from tilewright import simt
from tilewright.launch import Launch
from tilewright.launch.definition import Entry
from tilewright.launch.form import PLAIN
from tilewright.launch.simt import SimtEntry, SimtLaunch
from tilewright.op.place import here, place_of

ROUNDS = 200


@tw.entry
def scale(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], *, BY: tl.Const[int] = 2) -> None:
    z.store(tl.load_tile_like(x, z) * BY)


@pytest.fixture
def tensors():
    x = tw.from_numpy(fresh_rng().random(8, "f4")).sync()
    return tw.zeros(8).sync().partition_mut(8), x


@pytest.fixture
def kernel(tensors):
    """The kernel, whose code is there."""
    for _ in range(2):
        scale(*tensors).sync()
    return scale


LONG = 5e6
"""Nanoseconds of this thread that no launch takes but the first; compiling anything takes more."""


def test_nothing_changes_with_the_number_of_calls(tensors):
    scale(*tensors).sync()
    slowest = 0
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        op = scale(*tensors)
        op.sync()
        slowest = max(slowest, time.thread_time_ns() - begin)
        assert type(op) is Launch and type(scale) is Entry
    assert slowest < LONG


def test_classes_of_launches_are_checked():
    kernel: Any = scale
    for wrong in (int, Entry, None, 3):
        with pytest.raises(TypeError, match="class of launches"):
            kernel._set_launches(wrong)
    assert kernel._launch_class is Launch


def test_a_launch_gives_its_arguments_and_the_right_numbers(kernel, tensors):
    p, x = tensors
    op = kernel(p, x)
    assert op.result_count == 2 and op.name == "scale" and op.home is x.device
    assert op.sync() == (p, x)
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


def test_constants_go_by_keyword(kernel, tensors):
    p, x = tensors
    for by in (2, 3, 2, 3, 5):
        kernel(p, x, BY=by).sync()
        np.testing.assert_array_equal(p.tensor.to_numpy(), x.to_numpy() * by)
        p = p.tensor.partition_mut(8)


def test_tensors_may_go_by_keyword(kernel, tensors):
    p, x = tensors
    for call in (lambda: kernel(p, x=x), lambda: kernel(x=x, z=p), lambda: kernel(p, BY=5, x=x)):
        assert call().sync() == (p, x)
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 5)
    with pytest.raises(TypeError, match="`scale` is given `x` twice: as argument 2"):
        kernel(p, x, x=x)
    with pytest.raises(TypeError, match="`scale` needs `z` too"):
        kernel(x=x)


def test_an_op_names_the_line_that_built_it_and_the_one_that_used_it(kernel, tensors):
    op = kernel(*tensors)  # here
    assert place_of(op.built).text == "op = kernel(*tensors)  # here"
    op.sync()
    with pytest.raises(tw.BorrowError, match=r"used by `sync\(\)`") as raised:
        op.sync()
    places = dict(raised.value.places)
    assert places["used"].text == "op.sync()"
    assert places["built"].text == "op = kernel(*tensors)  # here"


def test_a_chain_gives_its_arguments_and_the_right_numbers(kernel, tensors):
    p, x = tensors
    op = kernel(p, x).then(kernel).then(lambda p, x: kernel(p, x, BY=3)).then(kernel, *())
    assert op.sync() == (p, x)
    np.testing.assert_array_equal(p.unpartition().to_numpy(), x.to_numpy() * 2)


def test_a_launch_may_be_built_for_a_program_that_stands_elsewhere(kernel, tensors):
    location = here()  # elsewhere
    op = kernel.call_at(location, tensors)
    text = "location = here()  # elsewhere"
    assert place_of(op.built).text == text
    other = kernel(*tensors)
    with pytest.raises(tw.BorrowError) as raised:
        op.sync()
    assert text in str(raised.value) and "other = kernel(*tensors)" in str(raised.value)
    assert other.sync() == tensors


def test_a_chain_refuses_what_a_kernel_does_not_take(kernel, tensors):
    p, x = tensors
    for given, told in (((p, x, x), "called with the 3 results"), ((x, p), "`z` of `scale`")):
        op = tw.value(given).then(kernel)
        with pytest.raises((TypeError, tw.BorrowError), match=told) as raised:
            op.sync()
        assert "while running `value.then`, built at" in raised.value.__notes__[-1]
    assert kernel(p, x).then(kernel).sync() == (p, x)


def test_one_that_is_dropped_warns(kernel, tensors):
    with pytest.warns(RuntimeWarning, match="`scale` built at .*test_core_entry.* was never run"):
        kernel(*tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(*tensors).close()


def test_a_warning_made_an_error_leaves_the_error_on_its_way(kernel, tensors, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    def lost():
        op = kernel(*tensors)
        assert op
        raise KeyError(1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((KeyError, TypeError)):
            lost()
        gc.collect()
    assert [type(each.exc_value) for each in told] == [RuntimeWarning]


REFUSED = {
    "too few": (TypeError, lambda k, p, x: k(p)),
    "too many": (TypeError, lambda k, p, x: k(p, x, x)),
    "unknown keyword": (TypeError, lambda k, p, x: k(p, x, AT=1)),
    "unhashable constant": ((TypeError, tw.Error), lambda k, p, x: k(p, x, BY=[1])),
    "something else": (TypeError, lambda k, p, x: k(p, object())),
    "the other way round": (tw.BorrowError, lambda k, p, x: k(x, p)),
    "no arguments": (TypeError, lambda k, p, x: k()),
    "written and read": (tw.BorrowError, lambda k, p, x: k(p, p.tensor)),
}


def message(call):
    with pytest.raises((TypeError, tw.Error)) as raised:
        call()
    return f"{type(raised.value).__name__}: {raised.value}"


@pytest.mark.parametrize("how", REFUSED)
def test_refusals(kernel, tensors, how, golden, without_places):
    kind, call = REFUSED[how]
    with pytest.raises(kind):
        call(kernel, *tensors)
    golden(without_places(message(lambda: call(kernel, *tensors))))


def test_nothing_is_left_behind(kernel, tensors):
    p, x = tensors
    watched = [p, x, x.plain, p.ticket, p.tensor, kernel.kernel, kernel, PLAIN, None, ()]

    def all_ways():
        kernel(p, x).sync()
        kernel(p, x).close()
        kernel(p, x, BY=3).sync()
        kernel(p, x).then(kernel).then(lambda p, x: kernel(p, x)).map(lambda p, x: (p, x)).sync()
        for _, call in REFUSED.values():
            with pytest.raises((TypeError, tw.Error)):
                call(kernel, p, x)
        op = kernel(p, x)
        with pytest.raises(TypeError):
            op.sync_on()
        op.sync()
        with pytest.raises(tw.BorrowError):
            op.sync()

    assert_none_left(all_ways, watched, ROUNDS)


def test_ops_are_freed_and_free_what_they_hold(kernel, tensors):
    p, x = tensors
    op = kernel(p, x)
    gone = weakref.ref(op)
    op.sync()
    del op
    assert gone() is None
    y = tw.ones(8).sync()
    memory = weakref.ref(y.region.storage)
    held = kernel(p, y)
    del y
    assert memory() is not None
    held.sync()
    assert memory() is None


def test_circles_through_an_op_are_collected(kernel, tensors):
    op = kernel(*tensors)
    op.note = [op]
    gone = weakref.ref(op)
    op.sync()
    del op
    gc.collect()
    assert gone() is None


def test_endings_take_what_pythons_do(kernel, tensors):
    stream = tensors[1].device.new_stream()
    assert kernel(*tensors).sync_on(stream=stream) == tensors
    kernel(*tensors).start_on(stream=stream)
    stream.synchronize()
    op = kernel(*tensors)
    for given in ((), (stream, stream)):
        with pytest.raises(TypeError, match="argument"):
            op.sync_on(*given)
    with pytest.raises(TypeError, match="unexpected keyword"):
        op.start_on(strim=stream)
    with pytest.raises(tw.SchedulingError, match="`start_on` takes a stream"):
        op.start_on(3)
    op.close()


def test_kernels_are_pickled_and_copied_by_name(kernel):
    assert pickle.loads(pickle.dumps(kernel)) is kernel
    assert copy.copy(kernel) is kernel and repr(kernel) == "<kernel `scale`>"
    with pytest.raises(TypeError, match="not indexed by a grid"):
        kernel[3]


def test_threads_build_and_run_their_own(kernel):
    rng, wrong = fresh_rng(), []

    def work():
        x = tw.from_numpy(rng.random(8, "f4")).sync()
        z = tw.zeros(8).sync()
        for by in (2, 3) * ROUNDS:
            kernel(z.partition_mut(8), x, BY=by).sync()
            if not np.array_equal(z.to_numpy(), x.to_numpy() * by):
                wrong.append(by)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_one_op_is_used_by_one_thread(kernel, tensors):
    p, x = tensors
    for _ in range(ROUNDS // 4):
        op, ended, barrier = kernel(p, x), [], threading.Barrier(4)

        def end(op=op, ended=ended, barrier=barrier):
            barrier.wait(10)
            try:
                op.sync()
            except tw.BorrowError as error:
                ended.append(error)

        threads = [threading.Thread(target=end) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(ended) == 3


@simt.kernel
def plus_one(out: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] + 1


@pytest.fixture
def threads_kernel():
    """A SIMT kernel, whose code is there."""
    z, x = tw.zeros(8).sync(), tw.ones(8).sync()
    for _ in range(2):
        plus_one(z.borrow_mut(), x).sync()
    return plus_one


def test_launches_of_simt_kernels_are_of_their_own_class():
    z, x = tw.zeros(8).sync(), tw.ones(8).sync()
    for _ in range(3):
        op = plus_one(z.borrow_mut(), x)
        assert type(op) is SimtLaunch and type(plus_one) is SimtEntry
        op.sync()


@pytest.mark.parametrize("size", [1, 31, 32, 33, 257, 1009])
def test_simt_launches_over_what_was_asked_for(threads_kernel, size):
    x = tw.from_numpy(fresh_rng().random(size, "f4")).sync()
    z, other = tw.full((size,), np.nan).sync(), tw.full((size,), np.nan).sync()
    for config in ({}, {"block": (32,)}, {"grid": (-(-size // 64),), "block": (64,)}) * 3:
        out = z.borrow_mut()
        op = threads_kernel(out, x).launch_config(**config)
        assert op.name == "plus_one" and op.home is x.device and op.result_count == 2
        assert op.sync() == (out, x)
        np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() + 1)
    assert threads_kernel(other.borrow_mut(), z).out().sync() is other
    np.testing.assert_array_equal(other.to_numpy(), x.to_numpy() + 1 + 1)


SIMT_REFUSED = {
    "too few": (TypeError, lambda k, z, x: k(z.borrow_mut())),
    "unknown keyword": (TypeError, lambda k, z, x: k(z.borrow_mut(), x, BY=1)),
    "not borrowed": (tw.BorrowError, lambda k, z, x: k(z, x)),
    "written and read": (tw.BorrowError, lambda k, z, x: k(z.borrow_mut(), z).sync()),
    "no such grid": ((TypeError, tw.Error), lambda k, z, x: k(z.borrow_mut(), x).grid((-1,))),
    "indexed": (TypeError, lambda k, z, x: k[1]),
}


@pytest.mark.filterwarnings("ignore:DeviceOp")
@pytest.mark.parametrize("how", SIMT_REFUSED)
def test_refusals_of_simt_launches(threads_kernel, how, golden, without_places):
    kind, call = SIMT_REFUSED[how]
    z, x = tw.zeros(8).sync(), tw.ones(8).sync()
    with pytest.raises(kind):
        call(threads_kernel, z, x)
    golden(without_places(message(lambda: call(threads_kernel, z, x))))


def test_a_simt_launch_whose_borrow_has_ended_is_refused(threads_kernel):
    z, x = tw.zeros(8).sync(), tw.ones(8).sync()
    op = threads_kernel(z.borrow_mut(), x)
    z.borrow_mut()
    with pytest.raises(tw.BorrowError, match="has ended"):
        op.sync()
    np.testing.assert_array_equal(z.to_numpy(), np.zeros(8))
