"""Where a warm launch spends its time, by cProfile."""

from __future__ import annotations

import cProfile
import io
import os
import pstats
from pathlib import Path

from . import kernels
from .work import small

LAUNCHES = 20_000
SHOWN = 30
FOLDERS = (Path(__file__).parents[2], Path(os.__file__).parent)
"""Where files are whose names are told from there on: here, and in Python's library."""


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
    told = text.getvalue()
    for folder in FOLDERS:
        told = told.replace(f"{folder}/", "")
    lines = [line.rstrip() for line in told.strip().splitlines() if line.strip()]
    return [f"{launches} launches", *lines]
