"""Between a stage whose result may be kept and the store that keeps it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base.stage import Keeping
from .store import Record, Store


@dataclass(frozen=True, slots=True)
class Asked:
    """What one compilation asks of the store, and what it would keep there."""

    store: Store
    keeping: Keeping
    argument: Any
    record: Record

    def find(self) -> Any:
        """The result, if it is there; does not yet count as a miss."""
        return self.store.find(self.record, partial(self.keeping.restore, self.argument))

    def get(self) -> Any:
        """The result, or None, which is a miss."""
        return self.store.get(self.record, partial(self.keeping.restore, self.argument))

    def put(self, result: Any) -> None:
        """Keep a result."""
        self.store.put(self.record, self.keeping.save(self.argument, result))

    @contextmanager
    def alone(self) -> Generator[None, None, None]:
        """Let other processes wait that would make the same."""
        with self.store.alone(self.record):
            yield


def ask(store: Store | None, keeping: Keeping, argument: Any) -> Asked | None:
    """The question for a stage's argument; None where nothing can be kept."""
    facts = keeping.facts(argument) if store is not None else None
    if store is None or facts is None:
        return None
    return Asked(store, keeping, argument, Record.of(facts))
