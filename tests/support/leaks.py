"""References that work leaves behind, by counting them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

TRIES = 6


def counted(watched: Sequence[object]) -> list[int]:
    gc.collect()  # before and after only: it walks over all that the process has
    return [sys.getrefcount(each) for each in watched]


def assert_none_left(work: Callable[[], object], watched: Sequence[object], rounds: int) -> None:
    """There are as many references, about, after work has been done often.

    A leak shows each time. Much else changes how often None is referred to, other threads and what
    earlier tests left among it, so it is enough if the counts stay the same once.
    """
    for _ in range(3):
        work()
    for _ in range(TRIES):
        before = counted(watched)
        for _ in range(rounds):
            work()
        grown = [now - then for now, then in zip(counted(watched), before, strict=True)]
        if max(map(abs, grown)) < rounds // 4:
            return
    raise AssertionError(f"references left by {rounds} rounds, of each that is watched: {grown}")
