"""Memory effects of an op: the parameters it may read and write; raw pointers reach any memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ir.core import Op
from ..ir.opdef import Effect
from ..ir.types import SharedType, TensorType, ViewType

POINTERS = "*"
"""Stands for memory reached through raw pointers, which may be that of any parameter."""
SHARED = "shared "
"""Stands for an array of a block's own memory, with its number behind."""


@dataclass(frozen=True, slots=True)
class MemoryEffects:
    """Names of the parameters read and written; POINTERS among them stands for any memory."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def __or__(self, other: MemoryEffects) -> MemoryEffects:
        return MemoryEffects(self.reads | other.reads, self.writes | other.writes)

    @property
    def all(self) -> frozenset[str]:
        """All that is touched."""
        return self.reads | self.writes

    def disturbs(self, place: str) -> bool:
        """Return whether the contents of `place` may differ after these writes."""
        return bool(self.writes) and (
            place in self.writes or POINTERS in self.writes or place == POINTERS
        )


NOTHING = MemoryEffects()


def place_of(op: Op) -> str:
    """Return the parameter that a memory op accesses, or POINTERS."""
    for value in op.operands:
        if isinstance(value.type, ViewType):
            return value.type.tensor.param or POINTERS
        if isinstance(value.type, TensorType):
            return value.type.param or POINTERS
        if isinstance(value.type, SharedType):
            return f"{SHARED}{value.type.number}"
    return POINTERS


def memory_of(op: Op) -> MemoryEffects:
    """Return the memory that an op may read and write, its regions included."""
    own = NOTHING
    if op.defn.effects & (Effect.READ | Effect.WRITE):
        place = frozenset((place_of(op),))
        own = MemoryEffects(
            place if op.defn.effects & Effect.READ else frozenset(),
            place if op.defn.effects & Effect.WRITE else frozenset(),
        )
    return own | memory_of_all(inner for region in op.regions for inner in region.ops)


def memory_of_all(ops: Iterable[Op]) -> MemoryEffects:
    """Return the memory that several ops may read and write."""
    total = NOTHING
    for op in ops:
        total |= memory_of(op)
    return total
