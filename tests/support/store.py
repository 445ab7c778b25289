"""Changes entries of the disk cache so that nothing but their code is wrong."""

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
        text, saved = _parts(path.read_bytes())
        data = encode(Record(text, file.name), Saved(saved.metadata, change(saved.code)))
        path.write_bytes(data)
    return len(entries)
