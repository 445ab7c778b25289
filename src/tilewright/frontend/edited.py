"""Tells whether a file may have changed since this process has read it, and code of it."""

from __future__ import annotations

import dis
import os
import time
from functools import cache
from pathlib import Path
from types import CodeType

SLACK = 1.0
"""Seconds: clocks of files and of processes are coarse."""


def is_edited(filename: str) -> bool:
    """Whether a file was written since this process began; what is no file was not."""
    try:
        found = Path(filename).stat()
    except (OSError, ValueError):
        return False
    return max(found.st_mtime, found.st_ctime) > _began() - SLACK


@cache
def _began() -> float:
    """When this process began, in seconds since the epoch."""
    try:
        stat = Path("/proc/self/stat").read_text()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        # The second field is the name of the program, in brackets, which may have spaces.
        ticks = int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):  # another system: its first use of this package
        return time.time()
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def is_rewritten(code: CodeType) -> bool:
    """Whether pytest has put its own code in place of assertions, so that no text gives this."""
    return any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames))


def essence(code: CodeType) -> tuple[object, ...]:
    """What code does, whatever lines it stands in, and whatever stands around it.

    Functions of modules that the same text imports are called in another way than methods are.
    """
    steps = [
        (SAME.get(step.opname, step.opname), _argument(code, step))
        for step in dis.get_instructions(code)
        if step.opname not in AROUND
    ]
    return (code.co_name, code.co_varnames, code.co_flags, *steps)


def _argument(code: CodeType, step: dis.Instruction) -> object:
    if step.opcode in JUMPS:
        return None
    value = step.argval
    if step.opname == "KW_NAMES" and step.arg is not None:
        value = code.co_consts[step.arg]
    return essence(value) if isinstance(value, CodeType) else (type(value), repr(value))


JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
SAME = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL"}
AROUND = frozenset(("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG"))
