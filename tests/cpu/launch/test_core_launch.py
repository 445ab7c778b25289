"""Launches that the caller waits for, on the CPU, which the core runs: as by a call of Python."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from support.leaks import assert_none_left
from support.numbers import fresh_rng
from tilewright import f32, i32, simt
from tilewright.base import config
from tilewright.devices.host import CPU
from tilewright.launch import Launch
from tilewright.op.place import place_of

pytestmark = pytest.mark.cpu_alone

ROUNDS = 100


@simt.kernel
def doubled(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * FACTOR


FACTOR = 2.0


@simt.kernel
def gathered(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Reads where it is told to, which may be outside."""
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[x[i]]


@simt.kernel
def talking(out: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = i
        if i == 1:
            print("one", i)


@simt.kernel
def lasting(out: simt.DisjointSlice[f32], rounds: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        mine: float = f32(i)
        for _ in range(rounds[i]):
            mine = mine * 0.5 + 1.0
        out[i] = mine


@tw.entry
def halved(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 0.5)


def vector(size: int, dtype: Any = np.float32) -> tw.Tensor[Any]:
    data = fresh_rng().integers(0, max(size, 1), size).astype(dtype)
    return tw.from_numpy(data, device="cpu").sync()


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Launch[Any]]:
    """The launches that needed a closer look."""
    return called_launches(monkeypatch)


def warm(kernel: Any, *tensors: tw.Tensor[Any]) -> None:
    """Launch a kernel until its code is there, and its memory known."""
    out, *others = tensors
    for _ in range(3):
        kernel(out.borrow_mut(), *others).sync()


@pytest.mark.parametrize("size", [1, 31, 257, 1009, 100_003])
def test_launches_need_no_look_once_their_code_is_there(
    looked_at: list[Launch[Any]], size: int
) -> None:
    x, out = vector(size), vector(size)
    warm(doubled, out, x)
    other = vector(size)
    doubled(out.borrow_mut(), other).sync()  # memory that was filled by a copy is looked at once
    del looked_at[:]
    for read in (x, other):
        written = out.borrow_mut()
        assert doubled(written, read).sync() == (written, read)
    assert not looked_at
    np.testing.assert_array_equal(out.to_numpy(), other.to_numpy() * 2)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1009])
def test_tile_kernels_go_the_same_way(looked_at: list[Launch[Any]], size: int) -> None:
    x, out = vector(size), vector(size)
    for _ in range(3):
        halved(out.partition_mut(16), x).sync()
    del looked_at[:]
    halved(out.partition_mut(16), x).sync_on(CPU.new_stream())
    assert not looked_at
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(0.5))
    other = vector(size)
    halved(out.partition_mut(16), other).sync()
    np.testing.assert_array_equal(out.to_numpy(), other.to_numpy() * np.float32(0.5))


def test_what_a_launch_reports_is_raised_and_memory_can_be_used_again() -> None:
    x, out = vector(50, np.int32), vector(50, np.int32)
    warm(gathered, out, x)
    bad = x.to_numpy()
    bad[7] = 50
    wrong = tw.from_numpy(bad, device="cpu").sync()
    for _ in range(3):
        op = gathered(out.borrow_mut(), wrong)
        with pytest.raises(tw.LaunchError, match=r"index out of range in `gathered`: `x`") as told:
            op.sync()
        assert op._args == () and op._held is None
        assert any("while running `gathered`, built at" in note for note in told.value.__notes__)
        gathered(out.borrow_mut(), x).sync()
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy()[x.to_numpy()])


def test_what_a_launch_prints_is_written(capsys: Any) -> None:
    out = vector(10, np.int32)
    warm(talking, out)
    capsys.readouterr()
    for _ in range(3):
        talking(out.borrow_mut()).sync()
    assert capsys.readouterr().out == "one 1\n" * 3
    np.testing.assert_array_equal(out.to_numpy(), np.arange(10))


def test_an_op_is_used_once_and_says_where() -> None:
    x, out = vector(10), vector(10)
    warm(doubled, out, x)
    op = doubled(out.borrow_mut(), x)
    op.sync()  # the first
    with pytest.raises(tw.BorrowError, match=r"used by `sync\(\)`") as raised:
        op.sync()
    assert dict(raised.value.places)["used"].text == "op.sync()  # the first"
    assert place_of(op.built).text == "op = doubled(out.borrow_mut(), x)"
    with pytest.raises(TypeError, match="argument"):
        op.sync(1)


def test_a_borrow_that_has_ended_is_refused() -> None:
    x, out = vector(10), vector(10)
    warm(doubled, out, x)
    op = doubled(out.borrow_mut(), x)
    before = out.to_numpy()
    with pytest.raises(tw.BorrowError, match=r"its exclusive borrow of Tensor\(.*\) has ended"):
        op.sync()
    np.testing.assert_array_equal(out.to_numpy(), before)


def test_names_that_have_changed_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = vector(20), vector(20)
    warm(doubled, out, x)
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(3):
            doubled(out.borrow_mut(), x).sync()
            np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(factor))


def test_work_of_this_stream_and_of_others_keeps_its_order() -> None:
    x, y, out = vector(1 << 18), vector(1 << 18), vector(1 << 18)
    warm(doubled, out, x)
    streams = [CPU.new_stream() for _ in range(2)]
    for stream in streams:
        doubled(out.borrow_mut(), x).start_on(streams[0])
        doubled(out.borrow_mut(), y).sync_on(stream)
        np.testing.assert_array_equal(out.to_numpy(), y.to_numpy() * 2)


def test_settings_of_a_block_are_in_force(looked_at: list[Launch[Any]]) -> None:
    x, out = vector(100_000), vector(100_000)
    warm(doubled, out, x)
    for number in (1, 2, 3, 1):
        del looked_at[:]
        with config.override(num_threads=number):
            doubled(out.borrow_mut(), x).sync()
        assert not looked_at
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 2)


def test_launches_that_are_traced_or_captured_are_seen() -> None:
    x, out = vector(100), vector(100)
    warm(doubled, out, x)
    with tw.trace() as trace:
        doubled(out.borrow_mut(), x).sync()
    assert any("doubled" in entry.name for entry in trace.entries)
    graph = doubled(out.borrow_mut(), x).graph()
    graph.launch().sync()
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 2)


def test_launches_that_are_traced_need_no_look(looked_at: list[Launch[Any]]) -> None:
    """Waited for, enqueued, and behind another stream: all are timed, in the core."""
    x, out, third = vector(1 << 16), vector(1 << 16), vector(1 << 16)
    warm(doubled, out, x)
    warm(doubled, third, out)
    one, two = (CPU.new_stream() for _ in range(2))
    del looked_at[:]
    with tw.trace() as trace:
        doubled(out.borrow_mut(), x).sync_on(one)
        for _ in range(20):
            doubled(out.borrow_mut(), x).start_on(one)
        doubled(third.borrow_mut(), out).start_on(two)
        two.synchronize()
    assert not looked_at
    work = [entry for entry in trace.entries if entry.kind == "work"]
    assert [entry.stream for entry in work].count(one) == 21 and len(work) == 22
    assert all(entry.start < entry.end and entry.thread == "MainThread" for entry in work)
    assert {(entry.traffic.read, entry.traffic.written) for entry in work} == {(1 << 18, 1 << 18)}
    assert {(entry.traffic.grid, entry.traffic.target) for entry in work} == {((1, 1, 256), "cpu")}
    waits = [entry for entry in trace.entries if entry.kind == "stream wait"]
    assert len(waits) <= 1  # none where the first stream was done already
    np.testing.assert_array_equal(third.to_numpy(), x.to_numpy() * 4)


def test_the_failure_of_a_traced_launch_is_raised(looked_at: list[Launch[Any]]) -> None:
    indices, out = vector(100, np.int32), vector(100, np.int32)
    warm(gathered, out, indices)
    wrong = tw.from_numpy(np.full(100, 100, np.int32), device="cpu").sync()
    gathered(out.borrow_mut(), indices).sync()
    del looked_at[:]
    with tw.trace() as trace, pytest.raises(tw.Error, match="out of range"):
        gathered(out.borrow_mut(), wrong).sync()
    assert not looked_at
    assert [entry.kind for entry in trace.entries if entry.name == "gathered"] == ["work", "op"]


def test_an_op_is_not_run_while_another_is_started() -> None:
    x, out = vector(10), vector(10)
    warm(doubled, out, x)
    inner = doubled(out.borrow_mut(), x)
    with pytest.raises(tw.Error, match="cannot be run here"):
        tw.value(1).then(lambda _: inner.sync()).sync()


def test_what_other_threads_start_changes_nothing(looked_at: list[Launch[Any]]) -> None:
    x, out = vector(10), vector(10)
    warm(doubled, out, x)
    del looked_at[:]
    begun, end = threading.Event(), threading.Event()

    def start() -> None:
        tw.value(1).map(lambda _: (begun.set(), end.wait(10))).sync()

    thread = threading.Thread(target=start)
    thread.start()
    begun.wait(10)
    doubled(out.borrow_mut(), x).sync()
    end.set()
    thread.join(10)
    assert not looked_at
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 2)


def test_an_interrupt_ends_one_that_lasts_and_the_stream_goes_on(
    looked_at: list[Launch[Any]],
) -> None:
    count = 1 << 22
    out, x, y = vector(count), vector(10), vector(10)
    few, many = (tw.from_numpy(np.full(count, n, "i4")).sync() for n in (1, 20_000))
    stream = CPU.new_stream()
    warm(doubled, y, x)
    for _ in range(3):
        lasting(out.borrow_mut(), few).sync_on(stream)
    lasting(y.borrow_mut(), many).sync()  # memory that was filled by a copy is looked at once
    lasting(out.borrow_mut(), few).sync_on(stream)  # and so are launches of other kinds
    del looked_at[:]
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    op = lasting(out.borrow_mut(), many)  # many blocks, half a minute
    with pytest.raises(KeyboardInterrupt):
        op.sync_on(stream)
    timer.join()
    assert op._args == () and op._held is None and not looked_at
    assert stream.idle()
    doubled(y.borrow_mut(), x).sync_on(stream)
    lasting(out.borrow_mut(), few).sync_on(stream)
    np.testing.assert_array_equal(y.to_numpy(), x.to_numpy() * 2)
    np.testing.assert_array_equal(out.to_numpy(), np.arange(count, dtype=np.float32) * 0.5 + 1)


def test_one_that_lasts_is_seen_through_signals_that_raise_nothing() -> None:
    count = 1 << 20
    out = vector(count)
    few, more = (tw.from_numpy(np.full(count, n, "i4")).sync() for n in (1, 3_000))
    for _ in range(3):
        lasting(out.borrow_mut(), few).sync()
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        lasting(out.borrow_mut(), more).sync()
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]
    np.testing.assert_allclose(out.to_numpy(), 2)


def test_threads_share_a_kernel_and_a_stream() -> None:
    x, stream = vector(5000), CPU.new_stream()
    warm(doubled, vector(5000), x)
    wrong: list[object] = []

    def work() -> None:
        try:
            out = vector(5000)
            for _ in range(ROUNDS):
                doubled(out.borrow_mut(), x).sync_on(stream)
                if not np.array_equal(out.to_numpy(), x.to_numpy() * 2):
                    wrong.append(out)
        except BaseException as error:  # the test's own thread tells it
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_threads_write_the_same_memory_in_turns() -> None:
    xs, out = [vector(20_000), vector(20_000)], vector(20_000)
    warm(doubled, out, xs[0])
    streams = [CPU.new_stream() for _ in range(2)]
    problems: list[BaseException] = []

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            try:
                doubled(out.borrow_mut(), xs[number]).sync_on(streams[number])
            except tw.BorrowError:  # the other thread has borrowed it since
                continue
            except BaseException as error:  # the test's own thread tells it
                problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems
    assert any(np.array_equal(out.to_numpy(), x.to_numpy() * 2) for x in xs)


def test_nothing_is_left_behind() -> None:
    x, out = vector(100), vector(100)
    warm(doubled, out, x)
    stream = CPU.new_stream()
    op = doubled(out.borrow_mut(), x)
    held = op._held
    assert held is not None
    op.sync()
    watched = [x, out, x.plain, out.plain, stream, stream.timeline, held[-1], None, True, False, ()]

    def both_ways() -> None:
        doubled(out.borrow_mut(), x).sync()
        doubled(out.borrow_mut(), x).sync_on(stream)

    assert_none_left(both_ways, watched, ROUNDS)


def test_tensors_are_freed_once_nobody_has_them() -> None:
    x, out = vector(100), vector(100)
    warm(doubled, out, x)
    gone = weakref.ref(x)
    op = doubled(out.borrow_mut(), x)
    del x
    assert gone() is not None
    op.sync()
    assert gone() is None
