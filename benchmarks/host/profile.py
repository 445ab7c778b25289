"""Where a warm launch spends its time, by cProfile."""

from __future__ import annotations

import cProfile
import io
import pstats
from pathlib import Path

from . import kernels
from .work import small

LAUNCHES = 20_000
SHOWN = 30
ROOT = Path(__file__).parents[2]


def launch_profile(launches: int = LAUNCHES) -> list[str]:
    """The functions that take most of the time of a launch, as lines of text."""
    kernel, given = kernels.SUMS[3], small(3)
    kernel(*given).sync()
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(launches):
        kernel(*given).sync()
    profile.disable()
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(SHOWN)
    lines = text.getvalue().replace(f"{ROOT}/", "").strip().splitlines()
    return [f"{launches} launches", *(line.rstrip() for line in lines if line.strip())]
