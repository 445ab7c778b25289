"""What one of several processes does that run random programs."""

from __future__ import annotations

import time
from itertools import takewhile
from typing import Any

from order.running import Bench

LONG = {"cpu": (0, 1, 60, 1000), "cuda": (0, 1, 300, 20_000)}
"""Iterations of the long kernel that last up to hundreds of microseconds."""


def work(device: str, devices: int, seeds: range, seconds: float, told: Any) -> None:
    """Run the programs of some seeds, or as many as time allows; tell of each, and of failures."""
    bench, end = Bench(device, LONG.get(device, LONG["cpu"])), time.monotonic() + seconds
    bench.devices = devices
    in_time = takewhile(lambda _: time.monotonic() < end, seeds)
    told.put(bench.try_all(in_time, lambda: told.put(1)))
