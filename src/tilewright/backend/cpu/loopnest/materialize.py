"""Decide which lazy tiles of a scheduled segment are materialized.

A tile that later segments need, or that several nests would compute, gets a buffer unless
rematerializing it is cheaper than reading it back. So does a tile of which one nest needs several
elements per iteration: fused into each other, such tiles would be computed exponentially often. If
a cheap tile is rematerialized, the demand passes on to its operands.
"""

from __future__ import annotations

from typing import TypeAlias

from ....ir.core import Op, Value
from ....ir.opdef import Trait
from ....ir.ops.control import PRINT
from . import facts as kinds
from .facts import PlanFacts, is_read_only, is_tile, squeezed
from .legalize import MATMUL
from .schedule import Keep, Key, NestDraft, Segment, StepDraft, draft, is_packed, sink_values

MOST_COPIES = 4
"""The most elements of a tile per iteration of a nest before the tile gets a buffer."""

Reindexing: TypeAlias = tuple[Op, ...]
"""The layout ops between an element of a nest and an element of a tile, the latter's user first."""


def _needs_buffer(user: Op, value: Value) -> bool:
    """Return whether an op works on a tile in memory; an accumulator is copied there anyway."""
    return user.is_a(PRINT) or (user.is_a(MATMUL) and value in user.operands[:2])


def materialize_tiles(segment: Segment) -> None:
    """Add the missing `Keep` sinks to a segment."""
    _keep_what_leaves(segment)
    _keep_what_is_shared(segment)


def _keep_what_leaves(segment: Segment) -> None:
    facts = segment.facts
    needed: list[Value] = []
    leaves: set[Value] = set()
    for op in reversed(_lazy_ops(segment)):
        value = op.result
        outside = [user for user in facts.users_of(value) if user not in segment.members]
        if not outside and value not in leaves:
            continue
        if any(_needs_buffer(user, value) for user in outside) or not recomputed(op, facts):
            needed.append(value)
        else:
            # It is rematerialized outside; its operands are needed there in its place.
            leaves.update(v for v in op.operands if is_tile(v))
    for value in reversed(needed):
        why = "it is used in another part of the program"
        layout = segment.state.panels(value) if is_packed(value, facts) else None
        segment.force(value, why, layout)


def recomputed(op: Op, facts: PlanFacts) -> bool:
    """Return whether a tile is rematerialized at each use, in other segments too."""
    if kinds.is_transparent(op):
        return True
    if facts.cost(op.result) > kinds.CHEAP:
        return False
    if op.is_a(*kinds.READS):
        return is_read_only(op, facts)
    return all(not facts.is_lazy(v) or recomputed(facts.definition[v], facts) for v in op.operands)


def _lazy_ops(segment: Segment) -> list[Op]:
    """Return the lazy ops, except those whose buffer was decided while scheduling."""
    lazy = [op for op in segment.ops if any(segment.facts.is_lazy(v) for v in op.results)]
    placed = segment.state.buffers.keys() - segment.kept.keys()
    return [op for op in lazy if op.result not in placed]


def _keep_what_is_shared(segment: Segment) -> None:
    """Visit uses before definitions: all demand of a tile is known when it is decided on."""
    # `demand` has the nests that compute a tile; `copies` the distinct index mappings under which
    # one iteration of a nest needs its elements.
    demand = _direct_demand(segment)
    copies: dict[Value, set[Reindexing]] = {value: {()} for value in demand}
    drafts = {step.key: step for step in segment.steps if isinstance(step, NestDraft)}
    for op in reversed(_lazy_ops(segment)):
        value = op.result
        keys, elements = demand.get(value, set()), copies.get(value, {()})
        if value in segment.kept:
            home = segment.kept[value]
            # Nests after the materialization read the buffer; only earlier ones still compute the
            # tile.
            keys, elements = {home, *(key for key in keys if key <= home)}, {()}
        elif keys and _is_worth_keeping(op, segment.facts):
            several = len(elements) > MOST_COPIES
            if several or len(keys) > 1:
                home = _keep(segment, value, drafts[min(keys)], drafts, before=several)
                keys, elements = {home}, {()}
        through = {(op, *each) for each in elements} if op.has(Trait.REARRANGES) else elements
        for operand in op.operands:
            if is_tile(operand):
                demand.setdefault(operand, set()).update(keys)
                copies.setdefault(operand, set()).update(through)


def _is_worth_keeping(op: Op, facts: PlanFacts) -> bool:
    return not kinds.is_transparent(op) and facts.cost(op.result) > kinds.CHEAP


def _direct_demand(segment: Segment) -> dict[Value, set[Key]]:
    demand: dict[Value, set[Key]] = {}
    for step in segment.steps:
        if isinstance(step, StepDraft):
            continue
        for value in (v for sink in step.sinks for v in sink_values(sink)):
            if is_tile(value):
                demand.setdefault(value, set()).add(step.key)
    return demand


def _keep(
    segment: Segment, value: Value, first: NestDraft, drafts: dict[Key, NestDraft], *, before: bool
) -> Key:
    """Keep a tile in the first nest that computes it, or in a new one just before.

    It must be a new one (`before`) where that nest needs other elements than the one at hand.
    """
    op = segment.facts.definition[value]
    buffer = segment.state.buffer(value, "several loops use it", op.span)
    sink = Keep(value, buffer)
    # The first nest that computes the tile can also write it; no separate loop is needed.
    if not (before or first.exclusive) and first.dims == squeezed(value.tile.shape):
        first.sinks.append(sink)
        home = first.key
    else:
        step = segment.steps[first.key[0]]
        home = (first.key[0], -1 - len(step.before))
        new = draft(sink, home)
        step.before.insert(0, new)
        drafts[home] = new
    segment.state.buffers[value] = buffer
    segment.kept[value] = home
    return home
