"""Changes entries of a cache so that nothing but their code is wrong."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.base.stage import Saved
from tilewright.compile.store import Record, Store
from tilewright.compile.store.entry import _parts, encode


def swap_code(store: Store, change: Callable[[bytes], bytes]) -> int:
    """Give all entries other code, with checksums that are right; how many there are."""
    entries = store.entries()
    for file in entries:
        path = store.root / file.path
        path.write_bytes(with_other_code(path.read_bytes(), file.name, change))
    return len(entries)


def with_other_code(entry: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """An entry with other code, and checksums that are right."""
    text, saved = _parts(entry)
    return encode(Record(text, name), Saved(saved.metadata, change(saved.code)))
