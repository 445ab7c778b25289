"""Launches on the CPU that are waited for or started: natively, and by a call of Python."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches, only_called
from support.numbers import fresh_rng
from tilewright import f32, i32, simt
from tilewright.base import config
from tilewright.devices.cpu.record import CANCELLED, Record
from tilewright.devices.host import CPU
from tilewright.devices.timeline import ISSUED, OVER
from tilewright.op.place import place_of

pytestmark = pytest.mark.cpu_alone

ROUNDS = 100


@simt.kernel
def scaled(out: simt.DisjointSlice[f32], x: simt.Slice[f32], by: f32) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] * by


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


@tw.entry
def doubled(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) * FACTOR)


FACTOR = 2.0


class Paths:
    """Which path launches take."""

    def __init__(self, called: list[Any], *, by_core: bool) -> None:
        self._called = called
        self.by_core = by_core
        """Whether the core may end them; else all are enqueued by a call of Python."""

    def were(self, count: int, *, at_most_called: int = 0) -> bool:
        """Whether of so many launches since the last question so many were called, or all."""
        called = len(self._called)
        self._called.clear()
        return called <= at_most_called if self.by_core else called == count


@pytest.fixture(params=["called", "core"])
def paths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paths]:
    """Launches that the core ends, or that are enqueued by a call of Python."""
    found = Paths(called_launches(monkeypatch), by_core=request.param == "core")
    with nullcontext() if found.by_core else only_called():
        yield found


def vector(size: int, dtype: Any = np.float32) -> tw.Tensor[Any]:
    data = fresh_rng().integers(0, max(size, 1), size).astype(dtype)
    return tw.from_numpy(data, device="cpu").sync()


@pytest.mark.parametrize("size", [1, 31, 257, 1009])
def test_launches_with_numbers_and_grids(paths: Paths, size: int) -> None:
    x, out = vector(size), vector(size)
    for by in (2.0, 3.0, -0.5):
        for block in (32, 64, 32):
            result = scaled(out.borrow_mut(), x, by).launch_config(block=(block,)).sync()
            assert len(result) == 3
            np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(by))
    assert paths.were(9, at_most_called=2)


def test_tiles_of_memory_that_was_never_written_are_looked_at_once(paths: Paths) -> None:
    x, out = vector(100), tw.empty((100,), device="cpu").sync()
    for _ in range(3):
        doubled(out.partition_mut((16,)), x).sync()
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 2)
    assert paths.were(3, at_most_called=1)


def test_what_a_launch_reports_is_raised_and_memory_can_be_used_again(paths: Paths) -> None:
    x, out = vector(50, np.int32), vector(50, np.int32)
    for _ in range(3):
        gathered(out.borrow_mut(), x).sync()
    bad = x.to_numpy()
    bad[7] = 50
    wrong = tw.from_numpy(bad, device="cpu").sync()
    for _ in range(3):
        op = gathered(out.borrow_mut(), wrong)
        with pytest.raises(tw.LaunchError, match=r"index out of range in `gathered`: `x`") as told:
            op.sync()
        assert op._args == ()
        assert any("while running `gathered`, built at" in note for note in told.value.__notes__)
        gathered(out.borrow_mut(), x).sync()
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy()[x.to_numpy()])


def test_what_a_launch_prints_is_written(paths: Paths, capsys: Any) -> None:
    out = vector(10, np.int32)
    for _ in range(3):
        talking(out.borrow_mut()).sync()
    assert capsys.readouterr().out == "one 1\n" * 3
    np.testing.assert_array_equal(out.to_numpy(), np.arange(10))


def test_an_op_is_used_once_and_says_where(paths: Paths) -> None:
    x, out = vector(10), vector(10)
    for _ in range(2):
        scaled(out.borrow_mut(), x, 2.0).sync()
    op = scaled(out.borrow_mut(), x, 2.0)
    op.sync()  # the first
    with pytest.raises(tw.BorrowError, match=r"used by `sync\(\)`") as raised:
        op.sync()
    assert dict(raised.value.places)["used"].text == "op.sync()  # the first"
    assert place_of(op.built).text == "op = scaled(out.borrow_mut(), x, 2.0)"


def test_a_borrow_that_has_ended_is_refused(paths: Paths) -> None:
    x, out = vector(10), vector(10)
    for _ in range(2):
        scaled(out.borrow_mut(), x, 2.0).sync()
    op = scaled(out.borrow_mut(), x, 2.0)
    before = out.to_numpy()
    with pytest.raises(tw.BorrowError, match=r"its exclusive borrow of Tensor\(.*\) has ended"):
        op.sync()
    np.testing.assert_array_equal(out.to_numpy(), before)


def test_names_that_have_changed_are_seen(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = vector(20), vector(20)
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(3):
            doubled(out.partition_mut((8,)), x).sync()
            np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * factor)


def test_starts_and_chains_see_names_that_have_changed(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, out = vector(20), vector(20)
    for factor in (5.0, 6.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for again in (False, True, True):
            first = doubled(out.partition_mut((8,)), x)
            assert first.is_lengthy() is not again
            first.then(doubled).sync()
            np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * factor)
            doubled(x.partition_mut((8,)), out).start()
            np.testing.assert_array_equal(x.to_numpy(), out.to_numpy() * factor)


def test_work_on_a_stream_that_is_busy_keeps_its_order(paths: Paths) -> None:
    x, out = vector(1 << 16), vector(1 << 16)
    stream = CPU.new_stream()
    for by in (2.0, 3.0, 4.0, 5.0):
        scaled(out.borrow_mut(), x, by).start_on(stream)
        scaled(out.borrow_mut(), x, by + 0.5).sync_on(stream)
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(by + 0.5))


def test_memory_in_use_on_another_stream_is_waited_for(paths: Paths) -> None:
    x, out = vector(1 << 18), vector(1 << 18)
    streams = [CPU.new_stream() for _ in range(2)]
    for by in (2.0, 3.0, 4.0, 5.0):
        scaled(out.borrow_mut(), x, by).start_on(streams[0])
        scaled(out.borrow_mut(), x, by + 0.5).sync_on(streams[1])
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(by + 0.5))


def test_threads_share_a_kernel_a_stream_and_what_they_read(paths: Paths) -> None:
    x, stream = vector(5000), CPU.new_stream()
    wrong: list[object] = []

    def work(by: float) -> None:
        try:
            out = vector(5000)
            for _ in range(ROUNDS):
                scaled(out.borrow_mut(), x, by).sync_on(stream)
                if not np.array_equal(out.to_numpy(), x.to_numpy() * np.float32(by)):
                    wrong.append(by)
        except BaseException as error:  # the test's own thread tells it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(by,)) for by in (2.0, 3.0, 4.0, 5.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_threads_write_the_same_memory_in_turns(paths: Paths) -> None:
    x, out = vector(20_000), vector(20_000)
    streams = [CPU.new_stream() for _ in range(2)]
    problems: list[BaseException] = []

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            try:
                scaled(out.borrow_mut(), x, number + 2.0).sync_on(streams[number])
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
    found = out.to_numpy()
    assert any(np.array_equal(found, x.to_numpy() * np.float32(by)) for by in (2, 3))


@simt.kernel
def lasting(out: simt.DisjointSlice[f32], rounds: i32) -> None:
    i = simt.index_1d()
    if i < len(out):
        mine: float = f32(i)
        for _ in range(rounds):
            mine = mine * 0.5 + 1.0
        out[i] = mine


def test_an_interrupt_ends_one_that_lasts_and_the_stream_goes_on(paths: Paths) -> None:
    count = 1 << 22
    out, x, y = vector(count), vector(10), vector(10)
    stream = CPU.new_stream()
    for _ in range(2):
        lasting(out.borrow_mut(), 1).sync_on(stream)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        lasting(out.borrow_mut(), 20_000).sync_on(stream)  # many blocks, half a minute
    timer.join()
    scaled(y.borrow_mut(), x, 2.0).sync_on(stream)
    lasting(out.borrow_mut(), 1).sync_on(stream)
    np.testing.assert_array_equal(y.to_numpy(), x.to_numpy() * 2)
    np.testing.assert_array_equal(out.to_numpy(), np.arange(count, dtype=np.float32) * 0.5 + 1)


def test_how_many_threads_run_it_follows_the_settings(paths: Paths) -> None:
    x, out = vector(100_000), vector(100_000)
    for number in (1, 2, 3, 1):
        with config.override(num_threads=number):
            scaled(out.borrow_mut(), x, float(number)).sync()
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(number))


def test_nothing_is_left_behind(paths: Paths) -> None:
    x, out = vector(100), vector(100)
    for _ in range(3):
        scaled(out.borrow_mut(), x, 2.0).sync()
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(ROUNDS):
        scaled(out.borrow_mut(), x, 2.0).sync()
    assert (sys.getrefcount(x), sys.getrefcount(out)) == before
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_launches_of_a_chain_that_is_waited_for_go_the_same_way(paths: Paths) -> None:
    x, out = vector(100), vector(100)
    scaled(out.borrow_mut(), x, 1.0).sync()
    assert paths.were(1, at_most_called=1)
    op = scaled(out.borrow_mut(), x, 2.0).then(scaled)
    given = op.then(lambda out, x, by: scaled(out, x, 3 * by)).sync()
    assert paths.were(3)
    assert given[1] is x and given[2] == 6.0
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 6)


def test_a_launch_of_a_chain_that_fails_is_named_with_the_chain(paths: Paths) -> None:
    x, out = tw.asarray(np.arange(5, dtype=np.int32)), tw.zeros((5,), "i32").sync()
    bad = tw.asarray(np.array([0, 1, 99, 0, 0], np.int32))
    gathered(out.borrow_mut(), x).sync()
    assert paths.were(1, at_most_called=1)
    op = gathered(out.borrow_mut(), x).map(lambda out, x: (out, bad)).then(gathered)
    with pytest.raises(tw.LaunchError, match="got: 99") as caught:
        op.sync()
    assert paths.were(2)
    notes = caught.value.__notes__
    assert [note.split("`")[1] for note in notes] == ["gathered", "gathered.map.then"]
    assert notes[0].endswith("op.sync()") and "op = gathered" in notes[1]
    gathered(out.borrow_mut(), x).sync()
    np.testing.assert_array_equal(out.to_numpy(), np.arange(5))


NUMBERS = [
    2.5, 3, True, np.float32(1.5), np.float64(0.1), np.int8(-2), float("inf"), float("nan"),
    3.4028234663852886e38, -0.0, 1e-45, 2**24 + 1,
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_any_kind_are_taken(paths: Paths, number: Any) -> None:
    x, out = tw.asarray(np.array([1, 2, 3], "f4")), vector(3)
    for _ in range(3):
        scaled(out.borrow_mut(), x, number).sync()
    assert paths.were(3, at_most_called=1)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(number))


@pytest.mark.parametrize("wrong", ["2", None, [1.0], 1e300, 10**400, 1j], ids=repr)
def test_numbers_that_a_parameter_does_not_take_are_refused(paths: Paths, wrong: Any) -> None:
    x, out = vector(10), vector(10)
    for _ in range(3):
        with pytest.raises(tw.ShapeError, match="`by` of `scaled`"):
            scaled(out.borrow_mut(), x, wrong)
        scaled(out.borrow_mut(), x, 1.0).sync()
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy())


TYPES = {
    "i8": (-128, 127), "u8": (0, 255), "i16": (-(1 << 15), 3), "u16": (0, (1 << 16) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1),
    "i64": (-(1 << 63), (1 << 63) - 1), "u64": (0, (1 << 64) - 1), "bool_": (False, True),
    "f16": (0.1, 65504.0), "bf16": (0.1, -3.0), "f32": (0.1, 7), "f64": (0.1, 1e300),
}  # fmt: skip

FILLED = """
@simt.kernel
def filled(out: simt.DisjointSlice[{0}], value: {0}) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = value
"""


@pytest.mark.parametrize("name", TYPES)
def test_numbers_of_every_type_arrive(paths: Paths, name: str) -> None:
    dtype = getattr(tw, name)
    kernel = tw.exec(FILLED.format(name), {"simt": simt, name: dtype})["filled"]
    out = tw.zeros((5,), dtype, device="cpu").sync()
    for number in TYPES[name] * 3:
        kernel(out.borrow_mut(), number).sync()
        expected = np.full(5, number).astype(dtype.np)
        np.testing.assert_array_equal(out.to_numpy(), expected)
    assert paths.were(6, at_most_called=1)


@pytest.mark.parametrize("name", [name for name in TYPES if name[0] in "iu"])
def test_integers_out_of_range_are_refused(paths: Paths, name: str) -> None:
    dtype = getattr(tw, name)
    kernel = tw.exec(FILLED.format(name), {"simt": simt, name: dtype})["filled"]
    out = tw.zeros((5,), dtype, device="cpu").sync()
    kernel(out.borrow_mut(), 1).sync()
    low, high = np.iinfo(dtype.np).min, np.iinfo(dtype.np).max
    for wrong in (int(low) - 1, int(high) + 1, 1.0, True, 1 << 100):
        with pytest.raises(tw.ShapeError, match="`value` of `filled`"):
            kernel(out.borrow_mut(), wrong)
    np.testing.assert_array_equal(out.to_numpy(), np.ones(5, dtype.np))


def test_what_may_report_something_is_listed_where_nobody_waits(paths: Paths) -> None:
    x, out = tw.asarray(np.arange(5, dtype=np.int32)), tw.zeros((5,), "i32").sync()
    for _ in range(3):
        gathered(out.borrow_mut(), x).sync()
    assert paths.were(3, at_most_called=1)
    bad = tw.asarray(np.array([0, 1, 99, 0, 0], np.int32))
    for source in (x, bad):
        gathered(out.borrow_mut(), source).start()
    assert paths.were(2, at_most_called=2)
    with pytest.raises(tw.LaunchError, match="got: 99"):
        out.to_numpy()


@pytest.mark.parametrize("size", [1, 31, 32, 33, 10_007])
def test_launches_that_nobody_waits_for_go_the_same_way(paths: Paths, size: int) -> None:
    x, out, stream = vector(size), vector(size), CPU.new_stream()
    scaled(out.borrow_mut(), x, 1.0).sync_on(stream)
    assert paths.were(1, at_most_called=1)
    for by in (2.0, 3.0, 4.0):
        given = scaled(out.borrow_mut(), x, by).start_on(stream)
        assert given[1] is x and given[2] == by
    assert paths.were(3)
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 4)
    scaled(out.borrow_mut(), x, 5.0).then(scaled).then(scaled).start_on(stream)
    assert paths.were(3)
    scaled(x.borrow_mut(), out, 0.5).sync()  # on another stream
    np.testing.assert_array_equal(x.to_numpy(), out.to_numpy() * np.float32(0.5))


def test_an_op_that_was_started_is_used_and_says_where(paths: Paths) -> None:
    x, out, stream = vector(100), vector(100), CPU.new_stream()
    scaled(out.borrow_mut(), x, 1.0).sync_on(stream)
    op = scaled(out.borrow_mut(), x, 2.0)
    op.start_on(stream)  # here
    with pytest.raises(tw.BorrowError, match=r"used by `start\(\)`") as raised:
        op.start_on(stream)
    assert dict(raised.value.places)["used"].text == "op.start_on(stream)  # here"


def test_memory_of_what_was_started_lives_until_it_is_over(paths: Paths) -> None:
    stream, results = CPU.new_stream(), []
    x = vector(50_000)
    numbers = x.to_numpy()
    for by in range(2, 40):
        out = vector(50_000)
        scaled(out.borrow_mut(), x, 1.0).sync_on(stream)
        middle = vector(50_000)
        scaled(middle.borrow_mut(), x, float(by)).start_on(stream)
        scaled(out.borrow_mut(), middle, 1.0).start_on(stream)
        del middle  # and other memory takes its place
        results.append(out)
    del x
    for by, out in enumerate(results, 2):
        np.testing.assert_array_equal(out.to_numpy(), numbers * np.float32(by))


def test_more_is_started_than_fits_on_a_stream(paths: Paths) -> None:
    x, out, stream = vector(3), vector(3), CPU.new_stream()
    scaled(out.borrow_mut(), x, 1.0).sync_on(stream)
    for by in range(3000):
        scaled(out.borrow_mut(), x, float(by)).start_on(stream)
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * np.float32(2999))
    stream.synchronize()
    assert stream.timeline.words[OVER] == stream.timeline.words[ISSUED]


def test_threads_start_on_one_stream_and_on_others(paths: Paths) -> None:
    streams, wrong = [CPU.new_stream() for _ in range(2)], list[object]()
    x = vector(500)

    def work(number: int) -> None:
        try:
            out = vector(500)
            for i in range(ROUNDS):
                by = float(number + i)
                scaled(out.borrow_mut(), x, by).start_on(streams[(number + i) % 2])
                if i % 7 == 0 and not np.array_equal(out.to_numpy(), x.to_numpy() * np.float32(by)):
                    wrong.append(by)
        except BaseException as error:  # the test's own thread tells it
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_one_that_was_not_run_as_all_is_stopped_tells_who_reads(paths: Paths) -> None:
    x, out, long = vector(100), vector(100), vector(1 << 16)
    stream, other = CPU.new_stream(), CPU.new_stream()
    scaled(out.borrow_mut(), x, 1.0).sync_on(stream)
    lasting(long.borrow_mut(), 3000).start_on(other)
    stream.wait_for(other.record())
    paths.were(2)
    scaled(out.borrow_mut(), x, 2.0).start_on(stream)
    assert paths.were(1)
    if paths.by_core:
        started = stream._callbacks._items[-1][1]
        [record] = [r for r in gc.get_referents(started) if type(r) is Record]
        record.words[CANCELLED] = 1
        with pytest.raises(tw.DriverError, match="was cancelled before all its blocks") as raised:
            out.to_numpy()
        assert "while running `scaled`, built at" in raised.value.__notes__[0]
    scaled(out.borrow_mut(), x, 3.0).sync_on(stream)
    np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 3)
