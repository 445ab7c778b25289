"""What some operating systems have and others have not."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
"""File locks; None on Windows."""

HAS_PRIVATE_FILES = fcntl is not None and os.open in os.supports_dir_fd
"""Whether files can be opened relative to a directory that was checked, belong to a user by number,
and can be locked. Code is cached on disk only then, since another user could replace it."""


def flag(name: str) -> int:
    """Return a flag of `os.open`; 0 where the system does not have it."""
    return int(getattr(os, name, 0))


def at_fork(**calls: Callable[[], object]) -> None:
    """Register what is done at forks, as `os.register_at_fork`; nothing where there are none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**calls)


def usable_cpus() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
