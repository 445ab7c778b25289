"""Emits packed tiles that adjacent blocks reuse: the first block that a worker runs fills them."""

from __future__ import annotations

from ....ir.core import Value
from ..functions.text import Value as Vec
from ..functions.text import repeat
from ..plan.nodes import Shared, walk
from .access import perform_if
from .emitter import Emitter

FILLED = 1
"""The first word of the tags of a copy that holds a tile; the key follows."""


def begin(emitter: Emitter) -> None:
    """At the start there is no tile: the memory has been used by others since."""
    for statement in walk(emitter.plan.body):
        if isinstance(statement, Shared):
            _forget(emitter, statement)


def _forget(emitter: Emitter, statement: Shared) -> None:
    copies, words = statement.tags.shape

    def forget(copy: Vec) -> tuple[Vec, list[Vec]]:
        emitter.store(emitter.integer(0), _word(emitter, statement, copy * words), 8)
        following = copy + 1
        return following < copies, [following]

    repeat([emitter.integer(0)], forget)


def _word(emitter: Emitter, statement: Shared, number: Vec) -> Vec:
    return emitter.shifted(emitter.buffers[statement.tags], number, "i64")


def shared(emitter: Emitter, statement: Shared) -> None:
    """Choose the copy; fill it unless it holds the tile."""
    copy = _copy(emitter, statement)
    buffer, words = statement.buffer, statement.tags.shape[-1]
    emitter.buffers[buffer] = emitter.shifted(emitter.tiles[buffer], copy * buffer.tile_bytes, "i8")
    wanted = [emitter.integer(FILLED), *(_wide(emitter, number) for number in statement.key)]
    places = [_word(emitter, statement, copy * words + n) for n in range(words)]
    differs = [
        emitter.load(place, "i64", align=8).ne(value)
        for place, value in zip(places, wanted, strict=True)
    ]

    def fill() -> None:
        for place, value in zip(places, wanted, strict=True):
            emitter.store(value, place, 8)
        emitter.statements(statement.body)

    perform_if(emitter, emitter.any_of(differs, "or"), fill)


def _copy(emitter: Emitter, statement: Shared) -> Vec:
    """Which copy: one per count of the loop, as far as they go; the last one serves the rest."""
    per_set = statement.buffer.copies // statement.sets
    count = emitter.scalar(statement.number).cast("sext", "i64")
    copy = count.intrinsic("umin", per_set - 1)
    if not statement.rows:
        return copy
    which = emitter.integer(0)
    for row in statement.rows:
        which = which * row.size + _wide(emitter, row.number).binary("urem", row.size)
    return which * per_set + copy


def _wide(emitter: Emitter, number: Value) -> Vec:
    """A number of the key as one word."""
    value = emitter.scalar(number)
    return value if value.elem == "i64" else value.cast("zext", "i64")
