from __future__ import annotations

import os
import threading

import pytest

from tilewright.base.forking import llvm_lock


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
