"""Several functions at once, each in its own thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Do all at once, each in its own thread; gives their results or errors, in order."""
    gate = threading.Barrier(len(acts))

    def guarded(act: Callable[[], Any]) -> Any:
        gate.wait()
        try:
            return act()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(guarded, acts))


def by_all(count: int, act: Callable[[int], Any]) -> list[Any]:
    """Do one thing in so many threads at once, each with its number; raise what one raised."""
    results = together(*[lambda i=i: act(i) for i in range(count)])
    for each in results:
        if isinstance(each, Exception):
            raise each
    return results
