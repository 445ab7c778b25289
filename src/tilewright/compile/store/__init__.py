"""Compiled code on disk, so that the next process need not compile: one store for all backends.

A store is a private directory of entries `<first 2 hex>/<64 hex>.tw`. An entry's name is the hash
of its record, which names everything that can change the code.

    record  what an entry was made from
    entry   an entry as bytes
    flight  one process at a time
    evict   how the size stays within its limit
    disk    the store itself
    bundle  all of it as one file
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...base.config import cache_directory, current
from ...base.private_directory import RefusedError, opened
from .bundle import pack, unpack
from .disk import Stats, Store, try_to_write
from .record import Record

__all__ = [
    "Record",
    "Stats",
    "Store",
    "current_store",
    "pack",
    "refusal",
    "stats",
    "trouble",
    "unpack",
]


def current_store() -> Store | None:
    """The store that the settings name; None where they turn it off."""
    config = current()
    root = cache_directory(config)
    return _store(root, config.cache_size) if root is not None and config.cache_size else None


def stats() -> Stats:
    """What the current store did for this process so far."""
    store = current_store()
    return store.stats if store is not None else Stats()


def refusal(root: Path) -> str | None:
    """Why a directory would not be used, if so; one that is not there yet would be made."""
    try:
        with opened(root):
            return None
    except FileNotFoundError:
        return None
    except (OSError, RefusedError) as error:
        return str(error)


def trouble(root: Path) -> str | None:
    """Why nothing could be kept in a directory, if so: it is tried where there is one."""
    try:
        with opened(root) as directory:
            try_to_write(directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror
    return None


@cache
def _store(root: Path, capacity: int) -> Store:
    return Store(root, capacity)
