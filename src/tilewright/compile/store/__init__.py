"""The store of compiled code, which saves the next process a compilation; for all backends.

A store is a private directory of entries `<first 2 hex>/<64 hex>.tw`, or a custom object. The name
of an entry is the hash of its record, which has every input of the code.

    entry     records, entries as bytes, and the interface of a store to a compilation
    disk      the store in a directory: locks, eviction, lookup
    bundle    all entries of a directory as one file
    choosing  which store is used, and the adapter of a custom one
"""

from __future__ import annotations

from pathlib import Path

from ...base.files import RefusedError, opened
from .bundle import pack, unpack
from .choosing import JitStore, current_store, disk_store, stats
from .disk import Store, try_to_write
from .entry import Keeper, Record, Stats

__all__ = [
    "JitStore",
    "Keeper",
    "Record",
    "Stats",
    "Store",
    "current_store",
    "disk_store",
    "pack",
    "refusal",
    "stats",
    "trouble",
    "unpack",
]


def refusal(root: Path) -> str | None:
    """Return the reason why a directory would be rejected, or None; a missing one would be made."""
    try:
        with opened(root):
            return None
    except FileNotFoundError:
        return None
    except (OSError, RefusedError) as error:
        return str(error)


def trouble(root: Path) -> str | None:
    """Return the reason why a directory cannot be written, or None, by trying it if it exists."""
    try:
        with opened(root) as directory:
            try_to_write(directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror
    return None
