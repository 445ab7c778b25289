"""Reductions and scans: their bodies run on arrays of elements.

The body of a reduction gets an element before what it is combined with, that of a scan after it, as
tileiras 13.4 has it. Adjacent elements are combined in pairs, so that a body that is not
associative, or an identity that is not neutral, has another result than in the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.backend.tileir.bytecode.program import Identity, Instr
from tilewright.backend.tileir.bytecode.types import TileValueType

from .machine import BlockFrame, Results, Rule, number_of
from .values import Array, element

Combine = Callable[[Sequence[Array], Sequence[Array]], list[Array]]
"""From elements and accumulators to accumulators."""


def _combiner(frame: BlockFrame, instr: Instr) -> Combine:
    (body,) = instr.regions
    assert body is not None, "a reduction has a body"

    def combine(elements: Sequence[Array], accumulators: Sequence[Array]) -> list[Array]:
        given = (accumulators, elements) if instr.op.name == "scan" else (elements, accumulators)
        pairs = zip(*given, strict=True)
        args = [x for pair in pairs for x in pair]
        outer, frame.by_lanes = frame.by_lanes, True
        ended = frame.run(body, args)
        frame.by_lanes = outer
        shape = elements[0].shape
        made: list[Array] = []
        for value, like in zip(ended.values, elements, strict=True):
            assert isinstance(value, np.ndarray), "a reduction yields numbers"
            made.append(np.broadcast_to(value, shape).astype(like.dtype, copy=False))
        return made

    return combine


def _inputs(frame: BlockFrame, instr: Instr) -> list[Array]:
    """Return the operands, with the axis that is worked along in front."""
    axis = number_of(instr, "dim")
    return [np.moveaxis(x, axis, 0) for x in frame.arrays(instr)]


def _identities(frame: BlockFrame, instr: Instr) -> list[Array]:
    given = instr.attrs["identities"]
    assert isinstance(given, tuple), "identities are listed"
    found: list[Array] = []
    for identity, operand in zip(given, instr.operands, strict=True):
        kind = operand.kind
        assert isinstance(identity, Identity), f"{identity!r} is no identity"
        assert isinstance(kind, TileValueType), "tiles are reduced"
        if identity.kind != kind.scalar:
            frame.fail(f"an identity of type {identity.kind} for {kind}")
        found.append(element(identity.bits, identity.kind))
    return found


def _reduce(frame: BlockFrame, instr: Instr) -> Results:
    combine, parts = _combiner(frame, instr), _inputs(frame, instr)
    starts = _identities(frame, instr)
    while len(parts[0]) > 1:
        parts = combine([x[1::2] for x in parts], [x[0::2] for x in parts])
    first = [x[0] for x in parts]
    return combine(first, [np.broadcast_to(s, x.shape) for s, x in zip(starts, first, strict=True)])


def _scan(frame: BlockFrame, instr: Instr) -> Results:
    """Scan by doubling distances 1, 2, 4, ... (Hillis and Steele)."""
    combine, parts = _combiner(frame, instr), _inputs(frame, instr)
    if number_of(instr, "reverse"):
        parts = [x[::-1] for x in parts]
    starts = [
        np.broadcast_to(s, x[:1].shape)
        for s, x in zip(_identities(frame, instr), parts, strict=True)
    ]
    first = combine([x[:1] for x in parts], starts)
    parts = [np.concatenate([f, x[1:]]) for f, x in zip(first, parts, strict=True)]
    distance = 1
    while distance < len(parts[0]):
        later = combine([x[distance:] for x in parts], [x[:-distance] for x in parts])
        parts = [np.concatenate([x[:distance], y]) for x, y in zip(parts, later, strict=True)]
        distance *= 2
    if number_of(instr, "reverse"):
        parts = [x[::-1] for x in parts]
    return [np.moveaxis(x, 0, number_of(instr, "dim")) for x in parts]


RULES: dict[str, Rule] = {"reduce": _reduce, "scan": _scan}
