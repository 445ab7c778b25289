from __future__ import annotations

import os
import threading

import pytest

from tilewright.base.shield import llvm_lock, made_once


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_whoever_works_with_llvm():
    lock, working, finished = llvm_lock(), threading.Event(), []

    def work():
        with lock:
            working.set()
            # Long enough for the other thread to be at its fork; right even if it is not.
            threading.Event().wait(0.05)
            finished.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    working.wait()
    child = os.fork()
    if child == 0:  # the lock is free here, and what was under way had been finished
        os._exit(0 if finished and lock.acquire(blocking=False) else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    with lock:
        assert finished


def test_what_is_made_once_is_the_same_for_all_threads():
    """Whoever made another would hold what nobody keeps; that is slow here, so all come at once."""
    calls, ready, found = [], threading.Barrier(4), []

    @made_once
    def make(name, *, size=1):
        calls.append((name, size))
        threading.Event().wait(0.02)
        return [name]

    def ask():
        ready.wait()
        found.append(make("a"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each is found[0] for each in found) and calls == [("a", 1)]
    assert make("b") is not make("a") and make("a", size=2) is not make("a")
    assert calls == [("a", 1), ("b", 1), ("a", 2)]


def test_what_could_not_be_made_is_made_the_next_time():
    answers = iter([ValueError("not yet"), 3])

    @made_once
    def make():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="not yet"):
        make()
    assert make() == make() == 3
