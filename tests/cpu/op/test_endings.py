"""An interrupt (Ctrl-C) at any point of a start: what it used can be used again.

Python raises it where a function of Python is entered, so it is raised at each of these in turn.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from cpu.devices.cpu.gate import Gate
from support.core_paths import only_called
from support.interrupts import (
    MOST_POINTS,
    AlarmError,
    Interrupt,
    in_quick_succession,
    raise_at,
    raise_behind,
)
from support.numbers import fresh_rng
from tilewright import f32, i32, simt
from tilewright.base.errors import ContextError
from tilewright.devices.cpu.pool import default
from tilewright.devices.host import CPU
from tilewright.devices.timeline import ISSUED, OVER
from tilewright.op.nesting import THREAD
from tilewright.tensors import pending_work

pytestmark = pytest.mark.usefixtures("own_garbage")

SIZES = (1, 17, 100)
WARM = 3
"""Launches after which the core ends those that follow."""


@tw.entry
def increment(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + 1.0)


@simt.kernel
def step(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i] + 1.0


class Place:
    """Tensors, and a stream, that are used again and again."""

    def __init__(self, size: int) -> None:
        self.numbers = fresh_rng().random(size, np.float32)
        self.x = tw.asarray(self.numbers.copy())
        self.z = tw.zeros((size,)).sync()
        self.stream = CPU.new_stream()
        self.graph = increment(self.z.partition_mut((16,)), self.x).graph_on(self.stream)

    def launch(self) -> None:
        increment(self.z.partition_mut((16,)), self.x).sync_on(self.stream)

    def start(self) -> None:
        increment(self.z.partition_mut((16,)), self.x).start_on(self.stream)

    def start_kernel(self, kernel: str, limit: float) -> tw.DeviceFuture[Any]:
        """Start one that reports nothing, or prints and may fail."""
        z = self.z.partition_mut((16,)) if kernel != "step" else self.z.borrow_mut()
        if kernel == "checked":
            return checked(z, self.x, limit).schedule(tw.SingleStream(self.stream))
        return globals()[kernel](z, self.x).schedule(tw.SingleStream(self.stream))

    def launch_later(self) -> None:
        increment(self.z.partition_mut((16,)), self.x).into_future().result()

    def launch_on_array(self) -> None:
        increment(self.z.partition_mut((16,)), self.numbers).sync_on(self.stream)

    def launch_threads(self) -> None:
        step(self.z.borrow_mut(), self.x).sync_on(self.stream)

    def replay(self) -> None:
        self.graph.launch().sync_on(self.stream)

    def start_replay(self) -> None:
        self.graph.launch().start_on(self.stream)

    def borrow(self) -> None:
        self.borrowed = self.x.borrow_mut()

    def copy(self) -> None:
        self.z.copy_from(self.x).sync_on(self.stream)

    def copy_array(self) -> None:
        self.z.copy_from(self.numbers).sync_on(self.stream)

    def chain(self) -> None:
        tw.zeros((5,)).then(lambda t: t.dup()).sync_on(self.stream)

    def chain_of_launches(self) -> None:
        self.chained().sync_on(self.stream)

    def start_chain_of_launches(self) -> None:
        self.chained().start_on(self.stream)

    def chained(self) -> tw.DeviceOp[tuple[tw.Partition[f32], tw.Tensor[f32]]]:
        op = tw.zip(self.z.partition_mut((16,)), self.x).then(increment)
        return op.then(lambda z, x: increment(z, x)).map(lambda z, x: (z, x)).then(increment)

    def read(self) -> None:
        self.z.to_numpy()


@pytest.fixture
def no_waiting(monkeypatch):
    """Nothing else runs here: who waits for work to be put on a stream waits for ever."""

    def wait(is_submitted: Callable[[], bool]) -> None:
        raise AssertionError("this would wait for work that nobody puts on a stream any more")

    monkeypatch.setattr(pending_work, "_wait_until", wait)


@pytest.mark.cpu_alone
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops that were never run
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "what",
    [
        "launch", "start", "launch_on_array", "launch_threads", "replay", "start_replay", "copy",
        "copy_array", "chain", "chain_of_launches", "start_chain_of_launches", "read",
    ],
)  # fmt: skip
def test_what_was_interrupted_can_be_done_again(what, size):
    place = Place(size)
    run = getattr(place, what)
    run()
    assert interrupted(place, run) > 5


@pytest.mark.cpu_alone
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops that were never run
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("kind", [Interrupt, AlarmError])
@pytest.mark.parametrize("what", ["launch", "start", "launch_later", "replay", "start_replay",
                                  "copy_array", "chain_of_launches"])  # fmt: skip
def test_so_can_what_was_interrupted_again_and_again(what, kind):
    """Each signal comes while the one before is handled; tensors are of use when there are none."""
    place = Place(17)
    run = getattr(place, what)
    for often in (1, WARM):
        for _ in range(often):
            run()
        assert interrupted(place, run, partial(in_quick_succession, kind=kind)) > 1


@pytest.mark.cpu_alone
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # ops that were never run
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", ["launch", "launch_threads", "replay"])
def test_so_can_what_the_core_does_with_little_python(what, size):
    place = Place(size)
    run = getattr(place, what)
    for _ in range(WARM):
        run()
    assert interrupted(place, run) > 1
    assert interrupted(place, run, after=place.borrow) > 5  # whose memory is looked at closer


@simt.kernel
def lasting(z: simt.DisjointSlice[f32], x: simt.Slice[f32], rounds: i32) -> None:
    i = simt.index_1d()
    if i < len(z):
        total = x[i]
        for _ in range(rounds):
            total = total * 0.5 + 1.0
        z[i] = total


MANY = 1 << 18
"""Elements of a launch of many blocks: it lasts, and each of them is over before it looks up."""
LONG_ENOUGH = 0.2
"""Seconds: some times what a launch runs without asking for signals."""
MOST_LAUNCHES = 500
"""Each is interrupted many times, in vain only by chance."""


class Interrupted:
    """A launch that lasts until it is interrupted by a signal, whose handler does something.

    Not inside of a block, where handlers cannot wait: which it is depends on how long each lasts.
    """

    def __init__(
        self, place: Place, function: Callable[[], object], *, launches: bool = False
    ) -> None:
        self.place, self.function = place, function
        self.launches = launches
        self.found: list[object] = []
        self.handling = False
        self.z = tw.zeros((MANY,)).sync()
        self.x: Any = tw.full((MANY,), 1.0).sync()

    def run(self, rounds: int) -> None:
        lasting(self.z.borrow_mut(), self.x, rounds).sync_on(self.place.stream)

    def handle(self, *given: object) -> None:
        if self.found or self.handling or self.place.stream.idle():  # between two launches
            return
        if default().is_inside():
            return
        if self.launches and THREAD.starting is not None:  # where Python starts a launch, none else
            return
        self.handling = True  # the next signal may come before this one has been handled
        try:
            self.found.append(self.function())
        except tw.Error as error:
            self.found.append(error)

    def result(self) -> object:
        before, rounds, launches = signal.signal(signal.SIGALRM, self.handle), 1, 0
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            while not self.found:
                launches += 1
                assert launches < MOST_LAUNCHES, "no signal came where it is waited for"
                begun = time.perf_counter()
                self.run(rounds)
                rounds *= 2 if time.perf_counter() - begun < LONG_ENOUGH else 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return self.found[0]


PATIENCE = 60.0


@pytest.mark.cpu_alone
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_handler_of_a_signal_can_wait_for_a_launch_behind_what_it_interrupts(size, elsewhere):
    """On the same stream, or on another one that comes after it."""
    place = Place(size)

    def launch() -> bool:
        source = interrupted.z[:size] if elsewhere else place.x
        op = increment(place.z.partition_mut((16,)), source)
        stream = CPU.new_stream() if elsewhere else place.stream
        op.schedule(tw.SingleStream(stream)).result(PATIENCE)
        return True

    interrupted = Interrupted(place, launch, launches=True)
    for _ in range(WARM):  # else it is Python that starts the launch, and no other then
        interrupted.run(1)
    assert interrupted.result() is True
    last = interrupted.z.to_numpy()
    expected = last[:size] if elsewhere else place.numbers
    assert np.array_equal(place.z.to_numpy(), expected + 1)
    np.testing.assert_allclose(last, 2.0)


@pytest.mark.cpu_alone
@pytest.mark.usefixtures("no_waiting")
def test_the_handler_of_a_signal_cannot_read_what_a_launch_writes_that_it_interrupts():
    """Where Python starts that launch, and would have to say that it is on its stream."""
    place = Place(5)
    interrupted = Interrupted(place, lambda: interrupted.z.to_numpy())
    with only_called():
        error = interrupted.result()
    assert isinstance(error, ContextError) and "afterwards" in str(error.hint)
    assert "a signal interrupted this thread while it was" in str(error)
    place.launch()
    assert np.array_equal(place.z.to_numpy(), place.numbers + 1)


@tw.entry
def checked(z: tl.TensorMut[f32], x: tl.Tensor[f32], limit: f32) -> None:
    print("seen")
    assert limit > 1.0, "too large"
    z.store(tl.load_tile_like(x, z) + 1.0)


@pytest.mark.cpu_alone
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "interrupt", [raise_at, raise_behind, partial(in_quick_succession, kind=AlarmError)]
)
@pytest.mark.parametrize("limit", [2.0, 0.0])
@pytest.mark.parametrize("kernel", ["increment", "checked", "step"])
def test_what_became_of_work_is_heard_wherever_an_interrupt_comes(kernel, limit, interrupt, capsys):
    """The stream has passed it, and makes the calls that are due: one is left in the middle."""
    place = Place(16)
    fails = kernel == "checked" and limit == 0.0
    for _ in range(WARM):  # then the core puts it on its stream, if it can be
        place.start_kernel(kernel, 2.0).result()
    capsys.readouterr()
    for point in range(1, MOST_POINTS):
        gate = Gate()
        gate.put_on(place.stream)
        started = [place.start_kernel(kernel, limit), place.start_kernel(kernel, limit)]
        gate.open()
        while not place.stream.idle():
            pass
        is_over = not interrupt(point, place.stream.sweep)
        for future in started:
            with pytest.raises(tw.LaunchError, match="too large") if fails else nullcontext():
                future.result()
        place.stream.synchronize()
        assert not place.stream._callbacks, point
        place.launch()
        assert np.array_equal(place.z.to_numpy(), place.numbers + 1), point
        assert place.stream.timeline.words[OVER] == place.stream.timeline.words[ISSUED], point
        assert not place.stream.timeline.pending, point
        if kernel == "checked":
            assert capsys.readouterr().out.count("seen") >= 2, point
        if is_over:
            break
    assert 5 < point < MOST_POINTS - 1


@tw.entry
def add(z: tl.TensorMut[i32], n: i32) -> None:
    z.store(z.load() + n)


@tw.entry
def add_one(z: tl.TensorMut[i32]) -> None:
    z.store(z.load() + 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
@pytest.mark.parametrize("ending", ["sync", "start"])
@pytest.mark.parametrize("kind", ["plain", "numbers", "graph"])
def test_an_op_that_was_interrupted_runs_or_says_that_it_was_used(kind, ending, interrupt):
    """Not both, and nothing else: where its use was not noted, nothing was done."""
    z = tw.zeros((16,), i32).sync()
    graph = add_one(z.partition_mut((8,))).graph()
    build = {
        "plain": lambda: add_one(z.partition_mut((8,))),
        "numbers": lambda: add(z.partition_mut((8,)), 1),
        "graph": graph.launch,
    }[kind]
    for _ in range(3):
        build().sync()
    for point in range(1, MOST_POINTS):
        tw.fill(z, 0).sync()
        op = build()
        is_over = not interrupt(point, getattr(op, ending))
        if is_over:
            break
        if op.used_by is None:
            op.sync()
            assert z.to_numpy().tolist() == [1] * 16, point
        else:
            with pytest.raises(tw.BorrowError, match="this op was already used"):
                op.sync()
        build().sync()
    # Where the core takes all of it, Python has few points in which a signal is heard.
    assert 0 < point < MOST_POINTS - 1


def interrupted(
    place: Place,
    run: Callable[[], None],
    interrupt: Callable[[int, Callable[[], None]], bool] = raise_at,
    after: Callable[[], None] | None = None,
) -> int:
    """At how many points something could be interrupted, after which it can be done each time."""
    for point in range(1, MOST_POINTS):
        if after is not None:
            after()
        if not interrupt(point, run):
            return point
        assert not THREAD.names, point
        run()
        place.launch()
        assert np.array_equal(place.z.to_numpy(), place.numbers + 1), point
    raise AssertionError("it goes on and on")
