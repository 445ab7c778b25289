"""The group of this process, which collectives use that name none."""

from __future__ import annotations

import atexit
from importlib import import_module
from typing import Any

from ..base.errors import ContextError
from .group import Group

LATE = 300.0
"""Seconds that a rank waits for others, by default."""


class _Process:
    """The group of this process, if it has joined one."""

    group: Group | None = None


@atexit.register
def _leave() -> None:
    """Let the others see at once that this process ends."""
    if _Process.group is not None:
        _Process.group.leave()


def init(
    backend: str | None = None,
    *,
    address: str | None = None,
    rank: int | None = None,
    size: int | None = None,
    timeout: float = LATE,
    pulse: float | None = None,
) -> Group:
    """Join the processes of this program, and return their group; it needs torch.

    Under torchrun no argument is needed. Elsewhere pass the `address` where they meet, such as
    "tcp://host:29500", the number of this one and how many there are. `backend` is "gloo", for
    tensors on the CPU, or "nccl", for those on GPUs. A process group that torch has already is
    used as it is. A rank that keeps others waiting for `timeout` seconds is late; one whose pulse,
    which beats every `pulse` seconds, misses ten beats is gone.
    """
    processes: Any = import_module(".processes", __package__)
    if _Process.group is not None and _Process.group.error is None:
        raise ContextError(
            "this process has joined a group already",
            got=repr(_Process.group), hint="close it first: group.close()",
        )  # fmt: skip
    group: Group = processes.make_group(backend, address, rank, size, timeout, pulse)
    _Process.group = group
    return group


def default_group() -> Group:
    """Return the group that `init` has made; raise if there is none."""
    if _Process.group is None:
        raise ContextError(
            "this process has joined no others",
            hint="call tw.distributed.init() first, in a program that torchrun or Ray starts",
        )
    return _Process.group


def group_or_default(group: Group | None) -> Group:
    """Return a group that is given, or else that of this process."""
    if group is None:
        return default_group()
    given: Any = group
    if not isinstance(given, Group):
        raise TypeError(
            f"`group` is one of tw.distributed.init() or group.split(), got {type(given).__name__}"
        )
    return group
