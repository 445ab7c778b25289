"""Counts what is alive before and after much work, and says what has grown."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WARM = 50
"""Launches after which all that is made once was made."""
TRIES = 5
KILOBYTES_PER_PAGE = 4


@dataclass(frozen=True)
class Alive:
    """What is alive: Python's blocks of memory, its objects, and the pages of the process."""

    blocks: int
    objects: int
    kilobytes: int

    @classmethod
    def now(cls) -> Alive:
        """Count, after all garbage has been collected."""
        for _ in range(3):
            gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(sys.getallocatedblocks(), len(gc.get_objects()), pages * KILOBYTES_PER_PAGE)

    def since(self, before: Alive) -> Alive:
        """What there is more than before."""
        return Alive(
            self.blocks - before.blocks,
            self.objects - before.objects,
            self.kilobytes - before.kilobytes,
        )

    def is_drift(self, rounds: int) -> bool:
        """Tell whether so many rounds have left something each time, or each tenth time.

        Pages are counted where there were rounds enough: the allocator takes them by the hundred.
        """
        most = max(rounds // 10, 20)
        of_pages = rounds >= 10_000 and self.kilobytes > max(rounds // 50, 1000)
        return self.blocks > most or self.objects > most or of_pages


def grown(work: Callable[[], object], rounds: int) -> Alive | None:
    """Do work often; give what it has left behind, or None.

    A leak shows each time; other threads and caches that fill up do not, so it is enough if there
    is no drift once.
    """
    for _ in range(WARM):
        work()
    more = None
    for _ in range(TRIES):
        before = Alive.now()
        for _ in range(rounds):
            work()
        more = Alive.now().since(before)
        if not more.is_drift(rounds):
            return None
    return more
