from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from support.interrupts import Interrupt, interrupting
from tilewright.base.shield import HERE, concluded, lifted, listen, shielded

SIGNAL = signal.SIGUSR1


@pytest.fixture(autouse=True)
def raising():
    """The handler of a signal raises an error."""
    with interrupting(SIGNAL):
        yield


def send():
    """The handler runs behind this, or is left for later."""
    os.kill(os.getpid(), SIGNAL)


def step(seen):
    send()
    seen.append("sent")
    for i in range(10):
        str(i)
    seen.append("done")
    return "result"


def test_what_is_not_shielded_is_torn_apart():
    seen = []
    with pytest.raises(Interrupt):
        step(seen)
    assert "done" not in seen


def test_signals_are_heard_behind_a_step():
    seen = []
    with pytest.raises(Interrupt):
        shielded(step, seen)
    assert seen == ["sent", "done"]
    assert shielded(lambda: "result") == "result"


def test_of_a_step_that_is_concluded_the_caller_has_the_result_before_a_signal_is_heard():
    """Then it is heard at once, also by code that never gives the interpreter up."""
    seen = []

    def deliver():
        return concluded(step, seen)

    def receive():
        result = deliver()
        seen.append(result)  # behind which it may be heard
        go_on()

    def go_on():
        seen.append("not heard")

    with pytest.raises(Interrupt):
        receive()
    assert seen == ["sent", "done", "result"]
    assert concluded(lambda: "result") == "result"


def test_an_error_goes_on_with_that_of_a_signal():
    def fail():
        send()
        raise ValueError("its own")

    with pytest.raises(Interrupt) as raised:
        shielded(fail)
    assert isinstance(raised.value.__context__, ValueError)
    with pytest.raises(ValueError, match="x"):
        shielded(int, "x")


def test_a_step_inside_another_hears_nothing_either():
    seen = []

    def outer():
        shielded(step, seen)
        seen.append("outer")

    with pytest.raises(Interrupt):
        shielded(outer)
    assert seen == ["sent", "done", "outer"]


def test_no_signal_comes_at_any_point_of_a_step():
    """One is sent where each function is entered; none is heard before the end."""
    seen = []

    def handle_errors():
        try:
            raise ValueError
        except ValueError:
            listed = sorted(range(5), key=lambda i: -i)
        finally:
            seen.append(len(listed))

    def watched():
        sys.settrace(lambda *_: send())
        handle_errors()
        sys.settrace(None)
        seen.append("all")

    with pytest.raises(Interrupt):
        shielded(watched)
    assert seen == [5, "all"] and sys.gettrace() is None


def test_a_shield_is_lifted_for_what_takes_its_time():
    seen = []

    def outer():
        with pytest.raises(Interrupt):
            lifted(step, seen)
        shielded(lambda: seen.append("again"))
        send()
        seen.append("kept")
        with pytest.raises(Interrupt):
            listen()
        assert lifted(str, 3) == "3"
        listen()
        seen.append("end")

    shielded(outer)
    assert "done" not in seen and seen[-3:] == ["again", "kept", "end"]
    listen()
    with pytest.raises(Interrupt):
        lifted(send)


def test_other_threads_have_none():
    """They hear no signals; a shield there must not keep the main thread from them."""
    inside, go_on, done, step_of_main = threading.Event(), threading.Event(), [], step

    def wait():
        inside.set()
        go_on.wait()
        listen()
        done.append(lifted(str, 1))

    thread = threading.Thread(target=shielded, args=(wait,))
    thread.start()
    inside.wait()
    with pytest.raises(Interrupt):
        step_of_main([])
    go_on.set()
    thread.join()
    assert done == ["1"] and HERE.word.value == threading.get_ident()


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_in_a_child_process_the_thread_that_made_it_is_shielded():
    statuses = []

    def make():
        child = os.fork()
        if child == 0:
            seen = []
            try:
                shielded(step, seen)
            except Interrupt:
                seen.append("heard")
            os._exit(seen != ["sent", "done", "heard"])
        statuses.append(os.waitpid(child, 0)[1])

    shielded(len, "")  # from then on children are told
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    make()
    assert statuses == [0, 0]
