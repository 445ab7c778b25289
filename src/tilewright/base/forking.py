"""Keeps a fork from tearing LLVM apart: who works with it holds a lock, and a fork waits for that.

Threads do not survive a fork, but the locks they hold inside LLVM do; a child would then wait for
them forever.
"""

from __future__ import annotations

import os
import threading
from functools import cache


@cache
def llvm_lock() -> threading.RLock:
    """The lock to hold while LLVM compiles, links or is set up; one thread may take it twice."""
    lock = threading.RLock()
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )
    return lock
