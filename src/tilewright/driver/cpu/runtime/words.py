"""Words of native records that LLVM text reads and writes, by position."""

from __future__ import annotations

from enum import IntEnum

from ...._core import JOB_LAYOUT


class Job(IntEnum):
    """Words of `tw::cpu::Job`."""

    BLOCKS = JOB_LAYOUT["blocks"]
    THREADS = JOB_LAYOUT["threads"]


class Queue(IntEnum):
    """Words of `tw::cpu::Stream`."""

    HEAD = 2
    STATE = 6


class State(IntEnum):
    """Words of `tw::cpu::Pool`."""

    WORKERS = 10
    USUAL = 11
    STOP = 13
