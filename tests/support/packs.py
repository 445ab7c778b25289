"""Kernels that were compiled elsewhere: which of those that are used come from there."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tilewright.compile.store.disk import Store

MADE = "cubin"
NAMED = 8
"""So many names of kernels that were missing are given."""


class Pack:
    """A cache of kernels for a GPU that came from elsewhere, looked at before it is used."""

    def __init__(self, cache: Path) -> None:
        self._store = Store(cache, 1 << 40)
        self._came = {file.name for file in self._store.entries()}
        self._begin = time.time()

    def share(self) -> str:
        """How many of the kernels used since came with it, and which were compiled here."""
        used = [file.name for file in self._store.entries() if file.used >= self._begin]
        facts = {name: self._store.facts(name) or {} for name in used}
        kernels = [name for name in used if facts[name].get("made") == MADE]
        missing = [str(facts[name].get("kernel")) for name in kernels if name not in self._came]
        found = len(kernels) - len(missing)
        often = ", ".join(f"{name} {n}" for name, n in Counter(missing).most_common(NAMED))
        return (
            f"{len(kernels)} cubins: {found} ({found / max(len(kernels), 1):.1%}) from"
            f" the pack, {len(missing)} compiled here{': ' if often else ''}{often}\n"
        )
