"""Between a stage whose result may be kept and the store that keeps it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base.stage import Keeping
from .store import Keeper, Record


@dataclass(frozen=True, slots=True)
class Asked:
    """What one compilation asks of the store, and what it would keep there."""

    store: Keeper
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

    def forget(self) -> None:
        """What is kept is of no use."""
        self.store.remove(self.record.name)

    @contextmanager
    def alone(self) -> Generator[None, None, None]:
        """Let others wait that would make the same."""
        with self.store.alone(self.record):
            yield


def ask(store: Keeper | None, keeping: Keeping, argument: Any) -> Asked | None:
    """The question for a stage's argument; None where nothing can be kept."""
    facts = keeping.facts(argument) if store is not None else None
    if store is None or facts is None:
        return None
    return Asked(store, keeping, argument, Record.of(facts))
