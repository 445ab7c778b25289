"""The choice of the store: for this process, and for a task or thread alone."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from ...base.config import cache_directory, current
from .custom import Custom, JitStore
from .disk import Store
from .keeper import Keeper, Stats

Choice: TypeAlias = Callable[[], Keeper | None]


def disk_store() -> Store | None:
    """Return the directory that the settings name; None where they turn it off."""
    config = current()
    root = cache_directory(config)
    return _store(root, config.cache_size) if root is not None and config.cache_size else None


@cache
def _store(root: Path, capacity: int) -> Store:
    return Store(root, capacity)


def _nowhere() -> None:
    return None


@dataclass(slots=True)
class _Process:
    choice: Choice


_PROCESS = _Process(disk_store)
_HERE: ContextVar[Choice | None] = ContextVar("tilewright_store", default=None)


def current_store() -> Keeper | None:
    """Return what keeps compiled code here and now; None where nothing does."""
    return (_HERE.get() or _PROCESS.choice)()


def enable(store: JitStore) -> None:
    """Keep compiled code in a store of your own, in this process, whatever the settings say."""
    custom = Custom(store)
    _PROCESS.choice = lambda: custom


def enable_default() -> None:
    """Keep compiled code where the settings say, as a process does that says nothing."""
    _PROCESS.choice = disk_store


def disable() -> None:
    """Keep compiled code nowhere: kernels that this process has not compiled yet, it compiles."""
    _PROCESS.choice = _nowhere


@contextmanager
def using(store: JitStore | None) -> Generator[None, None, None]:
    """Use a store for a `with` block, or none, in this task or thread alone."""
    custom = None if store is None else Custom(store)
    token = _HERE.set(lambda: custom)
    try:
        yield
    finally:
        _HERE.reset(token)


def is_enabled() -> bool:
    """Return whether compiled code is kept for other processes here and now."""
    return current_store() is not None


def stats() -> Stats:
    """Return what the store in use did for this process so far; of your own, since it is in use."""
    keeper = current_store()
    return keeper.stats if keeper is not None else Stats()


def clear() -> None:
    """Remove all compiled code from the store in use. What this process has loaded stays."""
    keeper = current_store()
    if keeper is not None:
        keeper.clear()
