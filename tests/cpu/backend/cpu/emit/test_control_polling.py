"""Loops that may run for ever look up: they can be stopped, and compute what they did before."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.interrupts import AlarmError, ends_within
from support.processes import run_program
from tilewright import i16, i32, i64, simt, u32
from tilewright.base.errors import ContextError
from tilewright.launch.simt import SimtEntry

pytestmark = pytest.mark.cpu_alone

ENDLESS = 1 << 30
PATIENCE = 120.0
"""Seconds after which a kernel counts as one that nothing stops."""
WARM = 3
"""Launches after which the core ends those that follow."""
"""As a number of rounds: three loops of these, one inside the other, take longer than anybody has.
"""


@tw.entry
def until_one(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    """Never, where it begins with an even number."""
    n = x.load_tile((1,), [0]).item()
    while n != 1:
        n = n * 3 + 2
    z.store(tl.full((1,), n, i32))


@tw.entry
def rounds(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    n = x.load_tile((1,), [0]).item()
    total = 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                total = (total * 3 + k) ^ (i + j)
    z.store(tl.full((1,), total, i32))


@tw.entry
def constant(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    """Each loop is short, and known to be; all of them are not."""
    n = x.load_tile((1,), [0]).item()
    if n > 3:
        for i in range(60_000):
            for j in range(60_000):
                for k in range(60_000):
                    n = (n * 3 + k) ^ (i + j)
    z.store(tl.full((1,), n, i32))


@tw.entry
def narrow(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    """The same, as their integers have no more numbers."""
    n = x.load_tile((1,), [0]).item()
    most = i16(n) * i16(8000)
    if n > 3:
        for i in range(i16(0), most):
            for j in range(i16(0), most):
                for k in range(i16(0), most):
                    n = (n * 3 + i32(k)) ^ (i32(i) + i32(j))
    z.store(tl.full((1,), n, i32))


@tw.entry
def around(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    """A loop that may be long, around a short one."""
    n = x.load_tile((1,), [0]).item()
    total = n
    for i in range(n):
        for j in range(300):
            total = (total * 3 + j) ^ i
    z.store(tl.full((1,), total, i32))


@tw.entry
def unsigned(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    """Ends that would be below 0 if they had a sign."""
    n = x.load_tile((1,), [0]).item()
    if n > 3:
        for i in range(u32(0), u32(4_000_000_000)):
            for j in range(u32(0), u32(4_000_000_000)):
                n = (n * 3) ^ i32(i + j)
    z.store(tl.full((1,), n, i32))


def remainder(n):
    while n != 1:
        n = n * 3 + 2
    return n


@tw.entry
def in_helper(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    z.store(tl.full((1,), remainder(x.load_tile((1,), [0]).item()), i32))


@simt.kernel
def all_until_one(z: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """All lanes run the same rounds."""
    i, n = simt.index_1d(), x[0]
    if i < len(z):
        while n != 1:
            n = n * 3 + 2
        z[i] = n


@simt.kernel
def constant_in_step(z: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        n = x[i]
        if x[0] > 3:
            for k in range(60_000):
                for j in range(60_000):
                    for m in range(60_000):
                        n = (n * 3 + m) ^ (k + j)
        z[i] = n


@simt.kernel
def constant_apart(z: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        n = x[i]
        if n > 3:
            for k in range(60_000):
                for j in range(60_000):
                    for m in range(60_000):
                        n = (n * 3 + m) ^ (k + j)
                        if n == 7 - i:
                            break
        z[i] = n


@simt.kernel
def each_until_one(z: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Lanes part: some are done at once, others never are."""
    i = simt.index_1d()
    if i < len(z):
        n = x[i] if i % 2 == 0 else 1
        while n != 1:
            n = n * 3 + 2
        z[i] = n


@simt.kernel
def in_step(z: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """All lanes run the same rounds."""
    i = simt.index_1d()
    if i < len(z):
        total, n = i, x[0]
        for k in range(n):
            for j in range(n):
                total = (total * 3 + k) ^ j
        z[i] = total


@simt.kernel
def apart(z: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Each lane has rounds of its own."""
    i = simt.index_1d()
    if i < len(z):
        total, n = i, x[i]
        for k in range(n):
            for j in range(n - i % 2):
                total = (total * 3 + k) ^ j
        z[i] = total


class Place:
    """A kernel, and tensors that it runs for ever on, or not."""

    def __init__(self, kernel: Any, ends: int = 1, endless: int = 4) -> None:
        self.kernel = kernel
        self.z = tw.zeros((8,), i32).sync()
        self.ends, self.endless = (tw.full((8,), n, i32).sync() for n in (ends, endless))

    def op(self, x: Any) -> Any:
        whole = isinstance(self.kernel, SimtEntry)
        return self.kernel(self.z.borrow_mut() if whole else self.z.partition_mut((1,)), x)

    def check(self) -> None:
        """It can be used again."""
        with tw.device("reference"):
            expected = Place(self.kernel)
            expected.op(expected.ends).sync()
            wanted = expected.z.to_numpy()
        self.op(self.ends).sync()
        np.testing.assert_array_equal(self.z.to_numpy(), wanted)


@pytest.fixture(autouse=True)
def on_cpu():
    with tw.device("cpu"):
        yield


@contextmanager
def alarm(handle, seconds=0.02):
    """A block in which a signal comes after some time, whose handler is given."""
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with ends_within(PATIENCE):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def give_up(*_):
    raise AlarmError


KERNELS = {
    "while": (until_one, 1, 4), "for": (rounds, 3, ENDLESS), "lanes-while": (each_until_one, 1, 4),
    "lanes-in-step": (in_step, 3, ENDLESS), "lanes-apart": (apart, 3, ENDLESS),
    "constant": (constant, 1, 4), "narrow": (narrow, 1, 4), "around": (around, 3, ENDLESS),
    "unsigned": (unsigned, 1, 4), "helper": (in_helper, 1, 4),
    "lanes-all-while": (all_until_one, 1, 4), "lanes-constant": (constant_in_step, 1, 4),
    "lanes-constant-apart": (constant_apart, 1, 4),
}  # fmt: skip


@pytest.mark.thinned(3)
@pytest.mark.parametrize("which", KERNELS)
def test_one_that_never_ends_is_stopped_and_all_can_be_used_again(which):
    place = Place(*KERNELS[which])
    for often in (1, WARM):  # then the core runs them
        for _ in range(often):
            place.op(place.ends).sync()
        with pytest.raises(AlarmError), alarm(give_up):
            place.op(place.endless).sync()
        place.op(place.ends).sync()
    Place(KERNELS[which][0], 1, 1).check()


def test_so_is_one_in_a_graph():
    place = Place(until_one)
    x = tw.full((8,), 4, i32).sync()
    graph = place.op(x).graph()
    for _ in range(2):
        with pytest.raises(AlarmError), alarm(give_up):
            graph.launch().sync()
    x.copy_from(place.ends).sync()
    graph.launch().sync()
    assert np.array_equal(place.z.to_numpy(), np.ones(8))


def test_leaving_the_program_stops_one_that_nobody_waits_for():
    program = """
    import atexit

    import tilewright as tw
    from cpu.backend.cpu.emit.test_control_polling import Place, until_one

    @atexit.register
    def tell():  # after the pool, which comes later, was told to stop
        print(any(worker.is_alive() for worker in pool.default().workers))

    with tw.device("cpu"):
        place = Place(until_one)
        place.op(place.endless).start()
    time.sleep(0.1)
    print(len(pool.default().workers) > 0)
    """
    assert run_program(program) == "True\nFalse\n"


@tw.entry
def polynomial(z: tl.TensorMut[i64], n: i64, by: i64) -> None:
    total = i64(0)
    for k in range(i64(0), n, by):
        total = total * i64(3) + k
    z.store(tl.full((1,), total, i64))


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 127, 128, 129, 4097])
@pytest.mark.parametrize("by", [1, 3])
def test_rounds_are_counted_right_around_each_look(n, by):
    z = tw.zeros((1,), i64).sync()
    polynomial(z.partition_mut((1,)), n, by).sync()
    total = 0
    for k in range(0, n, by):
        total = (total * 3 + k) % (1 << 64)
    assert int(z.to_numpy()[0]) % (1 << 64) == total


@pytest.mark.thinned(4)
@pytest.mark.parametrize("n", [0, 1, 5, 65])
@pytest.mark.parametrize("kernel", [in_step, apart], ids=["in-step", "apart"])
def test_so_are_those_of_lanes(kernel, n):
    found = []
    for device in ("cpu", "reference"):
        with tw.device(device):
            place = Place(kernel, n, n)
            place.op(place.ends).sync()
            found.append(place.z.to_numpy())
    np.testing.assert_array_equal(*found)


def lasting(place: Place, handle: Any) -> list[Any]:
    """Run a block that lasts until a handler has run in the middle of it; what it gave."""
    found: list[Any] = []

    def note(*_: object) -> None:
        if time.monotonic() - begun < 0.25:  # it may be compiling, or between two launches
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        try:
            found.append(handle())
        except tw.Error as error:
            found.append(error)
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, 0.02)

    begun = time.monotonic()
    with pytest.raises(AlarmError), alarm(note):
        place.op(place.endless).sync()
    return found


def test_a_handler_that_raises_nothing_stops_nothing():
    """It ran in the middle, and the block went on until another one raised."""
    place = Place(until_one)
    place.op(place.ends).sync()
    assert lasting(place, lambda: "heard") == ["heard"]


@tw.entry
def with_scratch(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], y: tl.Tensor[tw.f32]) -> None:
    i = tl.block_id(0)
    acc = tl.full((64, 64), 0.0, tw.f32)
    for k in range(2):
        acc = tl.mma(x.load_tile((64, 64), [i, k]), y.load_tile((64, 64), [k, 0]), acc)
    z.store(acc)


@tw.entry
def lasting_with_scratch(
    z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], y: tl.Tensor[tw.f32], n: i32
) -> None:
    """What is in its scratch is needed when a loop is over."""
    acc, total = tl.full((64, 64), 0.0, tw.f32), n
    for k in range(2):
        acc = tl.mma(x.load_tile((64, 64), [0, k]), y.load_tile((64, 64), [k, 0]), acc)
    for i in range(n):
        total = (total * 3 + i) ^ n
    for k in range(2):
        acc = tl.mma(x.load_tile((64, 64), [0, k]), y.load_tile((64, 64), [k, 0]), acc)
    z.store(acc if total != 1 << 30 else -acc)


def test_what_a_block_has_in_its_scratch_stays_while_a_handler_runs_other_kernels():
    rng = np.random.default_rng(2)
    a, b = rng.integers(-3, 4, (64, 128)), rng.integers(-3, 4, (128, 64))
    x, y = tw.asarray(a.astype("f4")), tw.asarray(b.astype("f4"))
    other_x, other_y = tw.asarray(-a.astype("f4")), tw.asarray(7 * b.astype("f4"))
    z, out = tw.zeros((64, 64)).sync(), tw.zeros((64, 64)).sync()
    other, heard = tw.default_device().new_stream(), []

    def handle(*_: object) -> None:
        with_scratch(out.partition_mut((64, 64)), other_x, other_y).sync_on(other)
        heard.append(True)

    for _ in range(130):
        lasting_with_scratch(z.partition_mut((64, 64)), x, y, 1).sync()
        handle()
    heard.clear()
    with alarm(handle, 0.3):
        lasting_with_scratch(z.partition_mut((64, 64)), x, y, 1 << 30).sync()
    assert heard == [True]
    np.testing.assert_array_equal(z.to_numpy(), 2 * (a @ b))


def test_a_handler_may_run_other_kernels_in_the_middle_of_a_block():
    """They have scratch of their own: that of the block is in use."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-3, 4, (64, 128)), rng.integers(-3, 4, (128, 64))
    x, y = tw.asarray(a.astype("f4")), tw.asarray(b.astype("f4"))
    out = tw.zeros((64, 64)).sync()

    def launch() -> bool:
        with_scratch(out.partition_mut((64, 64)), x, y).sync_on(other)
        return True

    place, other = Place(until_one, 1, 1), tw.default_device().new_stream()
    for _ in range(WARM):  # else Python starts the launch, and no other then
        place.op(place.endless).sync()
    place.endless.copy_from(np.full(8, 4, np.int32)).sync()
    assert launch() and lasting(place, launch) == [True]
    np.testing.assert_array_equal(out.to_numpy(), a @ b)


def test_a_handler_cannot_wait_in_the_middle_of_a_block():
    place = Place(until_one)
    place.op(place.ends).sync()
    (error,) = lasting(place, lambda: place.z.to_numpy())
    assert isinstance(error, ContextError) and "a signal interrupted this thread" in str(error)
    place.op(place.ends).sync()
    assert np.array_equal(place.z.to_numpy(), np.ones(8))
