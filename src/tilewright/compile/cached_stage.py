"""Looks up the result of a stage in the store, and caches it there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base.stage import ArtifactCodec
from .store import Keeper, Record


@dataclass(frozen=True, slots=True)
class Lookup:
    """What one compilation asks of the store, and what it would keep there."""

    store: Keeper
    codec: ArtifactCodec
    argument: Any
    record: Record

    def find(self) -> Any:
        """The result, if it is there; does not yet count as a miss."""
        return self.store.find(self.record, partial(self.codec.restore, self.argument))

    def get(self) -> Any:
        """The result, or None, which is a miss."""
        return self.store.get(self.record, partial(self.codec.restore, self.argument))

    def put(self, result: Any) -> None:
        """Keep a result."""
        self.store.put(self.record, self.codec.save(self.argument, result))

    def forget(self) -> None:
        """What is kept is of no use."""
        self.store.remove(self.record.name)

    @contextmanager
    def alone(self) -> Generator[None, None, None]:
        """Let others wait that would make the same."""
        with self.store.alone(self.record):
            yield


def look_up(store: Keeper | None, codec: ArtifactCodec, argument: Any) -> Lookup | None:
    """The question for a stage's argument; None where nothing can be kept."""
    facts = codec.facts(argument) if store is not None else None
    if store is None or facts is None:
        return None
    return Lookup(store, codec, argument, Record.of(facts))
