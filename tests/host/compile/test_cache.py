"""One compilation per key, whoever asks; failures leave nothing behind; changed names recompile."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from contextlib import suppress
from functools import partial

import pytest

import tilewright.lang as tl
from support.interrupts import MOST_POINTS, Interrupt, in_quick_succession, raise_at
from tilewright.base.dtypes import f32
from tilewright.base.errors import CompileError
from tilewright.base.threads import NEVER, TURN
from tilewright.compile import CompileOptions, KernelCache
from tilewright.compile.cache import LaunchCompilation
from tilewright.frontend.capture.annotations import capture
from tilewright.frontend.interp.interpreter import Captured
from tilewright.ir.artifact import Artifact
from tilewright.ir.signature import OutputSpec, Signature

OPTIONS = CompileOptions()


def source():
    def kernel(z: tl.TensorMut) -> None:
        z.store(z.load())

    return capture(kernel)


def signature(tile=4, **constants):
    return Signature((OutputSpec("z", f32, (None,), (1,), (tile,)),), tuple(constants.items()))


class Compiler:
    """Stands for the pipeline: counts, waits and fails as told."""

    def __init__(self):
        self.calls = []
        self.fresh = []
        """Whether nothing from the disk was wanted, for each of them."""
        self.error = None
        self.captured = ()
        self.started = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, kernel, signature, target, options, *, fresh=False):
        self.fresh.append(fresh)
        self.calls.append((kernel.name, signature, target))
        self.started.set()
        assert self.go_on.wait(30)
        if self.error is not None:
            raise self.error
        return Artifact(kernel.name, target, signature, b"code"), self.captured


@pytest.fixture
def compiler():
    return Compiler()


@pytest.fixture
def cache(compiler):
    return KernelCache(compiler)


def in_threads(count, work):
    """What each of several threads gives, or the error it raises."""
    results = []

    def run():
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, results


def join(threads):
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_compiled_once(cache, compiler):
    kernel = source()
    first = cache.get(kernel, signature(), "cpu", OPTIONS)
    assert cache.get(kernel, signature(), "cpu", OPTIONS) is first
    assert compiler.calls == [("kernel", signature(), "cpu")]


@pytest.mark.parametrize(
    "other",
    [
        (signature(8), "cpu", OPTIONS),
        (signature(), "reference", OPTIONS),
        (signature(), "cpu", CompileOptions(occupancy=2)),
        (signature(K=1), "cpu", OPTIONS),
    ],
    ids=["signature", "target", "options", "constants"],
)
def test_compiled_for_each_key(cache, compiler, other):
    kernel = source()
    first = cache.get(kernel, signature(), "cpu", OPTIONS)
    second = cache.get(kernel, *other)
    assert first is not second
    assert len(compiler.calls) == 2
    assert cache.get(kernel, signature(), "cpu", OPTIONS) is first
    assert cache.get(kernel, *other) is second
    assert len(compiler.calls) == 2


def test_kernels_do_not_share(cache, compiler):
    one, other = source(), source()
    assert cache.get(one, signature(), "cpu", OPTIONS) is not cache.get(
        other, signature(), "cpu", OPTIONS
    )
    assert len(compiler.calls) == 2


def test_threads_that_ask_together_compile_once(cache, compiler):
    kernel = source()
    compiler.go_on.clear()
    threads, results = in_threads(8, lambda: cache.get(kernel, signature(), "cpu", OPTIONS))
    assert compiler.started.wait(30)
    time.sleep(0.02)  # the others get to where they wait
    assert results == []
    compiler.go_on.set()
    join(threads)
    assert len(compiler.calls) == 1
    assert len(results) == 8
    assert len({id(artifact) for artifact in results}) == 1


def test_different_keys_compile_side_by_side(cache, compiler):
    kernel = source()
    meeting = threading.Barrier(2)

    def meet(kernel, signature, target, options, *, fresh):
        meeting.wait(30)
        return Artifact(kernel.name, target, signature, b""), ()

    cache = KernelCache(meet)
    tiles = iter((4, 8))
    threads, results = in_threads(
        2, lambda: cache.get(kernel, signature(next(tiles)), "cpu", OPTIONS)
    )
    join(threads)
    assert {type(r) for r in results} == {Artifact}


def test_a_failure_is_seen_by_all_who_wait_and_leaves_nothing(cache, compiler):
    kernel = source()
    compiler.error = CompileError("does not compile")
    compiler.go_on.clear()
    threads, results = in_threads(4, lambda: cache.get(kernel, signature(), "cpu", OPTIONS))
    assert compiler.started.wait(30)
    time.sleep(0.05)
    compiler.go_on.set()
    join(threads)
    assert [type(r) for r in results] == [CompileError] * 4
    # Who came late compiled again; nobody was given anything but this error.
    assert {str(r) for r in results} == {"does not compile"}
    compiler.error = None
    before = len(compiler.calls)
    assert cache.get(kernel, signature(), "cpu", OPTIONS).code == b"code"
    assert len(compiler.calls) == before + 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), MemoryError()])
def test_an_interruption_leaves_nothing_either(cache, compiler, error):
    kernel = source()
    compiler.error = error
    with pytest.raises(type(error)):
        cache.get(kernel, signature(), "cpu", OPTIONS)
    compiler.error = None
    assert cache.get(kernel, signature(), "cpu", OPTIONS).code == b"code"


def test_a_captured_name_that_changes_compiles_again(cache, compiler):
    kernel = source()
    world = {"SCALE": 2}
    compiler.captured = (Captured(lambda: world["SCALE"], 2, "SCALE"),)
    first = cache.get(kernel, signature(), "cpu", OPTIONS)
    assert cache.get(kernel, signature(), "cpu", OPTIONS) is first
    world["SCALE"] = 3
    compiler.captured = (Captured(lambda: world["SCALE"], 3, "SCALE"),)
    second = cache.get(kernel, signature(), "cpu", OPTIONS)
    assert second is not first
    assert cache.get(kernel, signature(), "cpu", OPTIONS) is second
    assert len(compiler.calls) == 2
    assert [c.reason for c in cache.history(kernel)] == [
        "first launch",
        "`SCALE`, which it captured, has changed",
    ]


def test_only_the_entry_with_the_changed_name_goes(cache, compiler):
    kernel = source()
    world = {"SCALE": 2}
    plain = cache.get(kernel, signature(8), "cpu", OPTIONS)
    compiler.captured = (Captured(lambda: world["SCALE"], 2, "SCALE"),)
    cache.get(kernel, signature(), "cpu", OPTIONS)
    world["SCALE"] = 3
    compiler.captured = ()
    cache.get(kernel, signature(), "cpu", OPTIONS)
    assert cache.get(kernel, signature(8), "cpu", OPTIONS) is plain
    assert len(compiler.calls) == 3


def test_threads_that_find_a_changed_name_compile_once(cache, compiler):
    kernel = source()
    world = {"SCALE": 2}
    compiler.captured = (Captured(lambda: world["SCALE"], 2, "SCALE"),)
    cache.get(kernel, signature(), "cpu", OPTIONS)
    world["SCALE"] = 3
    compiler.captured = (Captured(lambda: world["SCALE"], 3, "SCALE"),)
    threads, results = in_threads(8, lambda: cache.get(kernel, signature(), "cpu", OPTIONS))
    join(threads)
    assert len({id(r) for r in results}) == 1
    assert len(compiler.calls) == 2


def test_history_says_why(cache):
    kernel = source()
    assert cache.history(kernel) == ()
    cache.get(kernel, signature(K=1), "cpu", OPTIONS)
    cache.get(kernel, signature(K=2), "cpu", OPTIONS)
    cache.get(kernel, signature(8, K=2), "cpu", OPTIONS)
    cache.get(kernel, signature(8, K=1), "cpu", OPTIONS)
    cache.get(kernel, signature(8, K=1), "cpu", OPTIONS)
    assert [c.reason for c in cache.history(kernel)] == [
        "first launch",
        "constant K: 1 -> 2",
        "z.tile: (4) -> (8)",
        "z.tile: (4) -> (8)",
    ]
    assert all(isinstance(c, LaunchCompilation) for c in cache.history(kernel))


def test_history_after_a_failure(cache, compiler):
    kernel = source()
    compiler.error = CompileError("no")
    with pytest.raises(CompileError):
        cache.get(kernel, signature(), "cpu", OPTIONS)
    compiler.error = None
    cache.get(kernel, signature(), "cpu", OPTIONS)
    cache.get(kernel, signature(8), "cpu", OPTIONS)
    assert [c.reason for c in cache.history(kernel)] == [
        "first launch",
        "compiled again after a failure",
        "z.tile: (4) -> (8)",
    ]


def test_a_kernel_that_is_gone_is_forgotten(cache):
    kernel = source()
    artifact = weakref.ref(kernel)
    cache.get(kernel, signature(), "cpu", OPTIONS)
    del kernel
    gc.collect()
    assert artifact() is None


def test_what_was_of_no_use_is_made_anew_and_replaced(cache, compiler):
    kernel = source()
    old = cache.find(kernel, signature(), "cpu", OPTIONS)
    new = cache.remake(kernel, signature(), "cpu", OPTIONS, "the loader refused it")
    assert new is not old and compiler.fresh == [False, True]
    assert cache.find(kernel, signature(), "cpu", OPTIONS) is new
    reasons = [each.reason for each in cache.history(kernel)]
    assert reasons == ["first launch", "the loader refused it"]


def at_once(kernel, signature, target, options, *, fresh=False):
    """Stands for the pipeline, too, without events: these can be interrupted themselves."""
    return Artifact(kernel.name, target, signature, b"code"), ()


@pytest.mark.parametrize("again", ["find", "remake"])
def test_an_interrupt_leaves_nobody_waiting(again):
    """Whatever line it comes at, the next one who asks compiles."""
    wish = (source(), signature(), "cpu", OPTIONS)
    for point in range(1, MOST_POINTS):
        cache = KernelCache(at_once)
        asked = (cache.find, *wish) if again == "find" else (cache.remake, *wish, "no use")
        if not raise_at(point, partial(*asked)):
            break
        waiting = threading.Thread(target=cache.find, args=wish, daemon=True)
        waiting.start()
        waiting.join(30)
        assert not waiting.is_alive(), point
    assert 5 < point < MOST_POINTS - 1


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("again", ["find", "remake"])
def test_interrupts_in_quick_succession_leave_nobody_waiting(again, fails):
    """Nor do they while the failure of a compilation is handled."""

    def compile_(*wish, fresh):
        if fails and not calls:
            calls.append(wish)
            raise CompileError("does not compile")
        return at_once(*wish, fresh=fresh)

    wish = (source(), signature(), "cpu", OPTIONS)
    for point in range(1, MOST_POINTS):
        calls, cache = [], KernelCache(compile_)
        asked = (cache.find, *wish) if again == "find" else (cache.remake, *wish, "no use")

        def ask(asked=asked):
            with suppress(CompileError):
                partial(*asked)()

        more = in_quick_succession(point, ask)
        calls.append(wish)  # it does not fail any more
        waiting = threading.Thread(target=cache.find, args=wish, daemon=True)
        waiting.start()
        waiting.join(30)
        assert not waiting.is_alive(), point
        if not more:
            break
    assert 5 < point < MOST_POINTS - 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Interrupt(), ValueError("a signal's")])
def test_who_waits_takes_the_place_of_who_was_interrupted(error):
    """An interrupt of one thread is not raised in another."""
    begun, go_on, calls = threading.Event(), threading.Event(), []

    def compile_(*wish, fresh):
        calls.append(threading.current_thread().name)
        if len(calls) == 1:
            begun.set()
            go_on.wait(30)
            raise error
        return at_once(*wish, fresh=fresh)

    cache, kernel = KernelCache(compile_), source()

    def ask():
        return cache.get(kernel, signature(), "cpu", OPTIONS)

    first, failed = in_threads(1, ask)
    assert begun.wait(30)
    others, found = in_threads(3, ask)
    time.sleep(0.02)  # they get to where they wait
    go_on.set()
    join([*first, *others])
    assert failed == [error] and len(calls) == 2
    assert [type(each) for each in found] == [Artifact] * 3 and len(set(map(id, found))) == 1


def test_compiling_is_lengthy_work():
    """A full collection would hold the GIL, and an event loop in another thread with it."""
    seen = []

    def compile_(*wish, fresh):
        seen.append((gc.get_threshold()[2], sys.getswitchinterval()))
        if len(seen) == 1:
            raise CompileError("no")
        return at_once(*wish, fresh=fresh)

    cache, before = KernelCache(compile_), (gc.get_threshold(), sys.getswitchinterval())
    with pytest.raises(CompileError):
        cache.get(source(), signature(), "cpu", OPTIONS)
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    cache.get(source(), signature(), "cpu", OPTIONS)
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    assert seen == [(NEVER, TURN)] * 2


def test_what_is_not_asked_for_any_more_is_let_go(monkeypatch):
    monkeypatch.setattr("tilewright.compile.cache.ENTRIES", 3)
    monkeypatch.setattr("tilewright.compile.cache.HISTORY", 5)
    calls, kernel = [], source()

    def compile_(*wish, fresh):
        calls.append(wish[1])
        return at_once(*wish, fresh=fresh)

    cache = KernelCache(compile_)
    for number in (1, 2, 3, 4, 2, 5, 6):  # then 2 is among the last three
        cache.get(kernel, signature(K=number), "cpu", OPTIONS)
    assert len(calls) == 6 and len(cache.history(kernel)) == 5
    cache.get(kernel, signature(K=2), "cpu", OPTIONS)
    assert len(calls) == 6
    cache.get(kernel, signature(K=1), "cpu", OPTIONS)
    assert len(calls) == 7


def test_a_slow_compilation_is_told_of_once(monkeypatch, capsys):
    monkeypatch.setattr("tilewright.compile.runner.SLOW_SECONDS", 0.0)
    cache, kernel = KernelCache(), source()
    for _ in range(2):
        cache.get(kernel, signature(), "reference", OPTIONS)
    said = capsys.readouterr().err
    assert said.startswith("tilewright: compiling `kernel` for reference took 0.")
    assert said.count("\n") == 1
