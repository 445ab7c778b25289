"""What a segment is scheduled into before its loops are built: nests of sinks, and whole steps.

A sink is what makes a loop necessary: a tile that must be in memory, a store, a reduction. What it
reads is computed inside its loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ....base.shapes import Shape
from ....base.source import Span
from ....ir.core import Op, Value
from .effects import squeezed
from .facts import captured
from .values import Buffer


@dataclass(eq=False, slots=True)
class Keep:
    """Puts a lazy tile into its buffer."""

    value: Value
    buffer: Buffer


@dataclass(eq=False, slots=True)
class Assign:
    """Gives a loop's, a branch's or a multiply's buffer a new value."""

    buffer: Buffer
    value: Value


@dataclass(eq=False, slots=True)
class CatPart:
    """Puts one side of a `cat` into its place in the whole."""

    op: Op
    value: Value
    buffer: Buffer
    shift: int


@dataclass(eq=False, slots=True)
class Run:
    """A store, a reduction, a scan or an atomic."""

    op: Op


Sink: TypeAlias = Keep | Assign | CatPart | Run
Key: TypeAlias = tuple[int, int]
"""When a step runs: its number, and (negative) how long before it."""


def sink_shape(sink: Sink) -> Shape:
    """The shape of the loops a sink needs."""
    if not isinstance(sink, Run):
        return sink.value.tile.shape
    return sink.op.operands[0].tile.shape


def sink_values(sink: Sink) -> list[Value]:
    """Everything a sink reads."""
    if not isinstance(sink, Run):
        return [sink.value]
    return [*sink.op.operands, *captured(sink.op)]


@dataclass(eq=False, slots=True)
class NestDraft:
    """A loop nest over `dims` (no axes of length 1). An exclusive one has a single sink."""

    dims: Shape
    sinks: list[Sink]
    key: Key
    exclusive: bool = False
    before: list[NestDraft] = field(default_factory=list["NestDraft"])

    def joins(self, other: NestDraft) -> bool:
        """Whether the sinks of another nest may run in this one's loops."""
        return self.dims == other.dims and not (self.exclusive or other.exclusive)

    @property
    def span(self) -> Span | None:
        """Where its first op stands in the source."""
        for sink in self.sinks:
            if isinstance(sink, Run | CatPart) and sink.op.span is not None:
                return sink.op.span
        return None


@dataclass(eq=False, slots=True)
class StepDraft:
    """An op on whole tiles that are in memory: a multiply or a print."""

    op: Op
    args: tuple[Value, ...]
    key: Key
    before: list[NestDraft] = field(default_factory=list[NestDraft])


Draft: TypeAlias = NestDraft | StepDraft


def draft(sink: Sink, key: Key, exclusive: bool = False) -> NestDraft:
    """A nest for one sink."""
    return NestDraft(squeezed(sink_shape(sink)), [sink], key, exclusive)
