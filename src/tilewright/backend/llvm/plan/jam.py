"""Which reductions along an outer axis take several steps at once.

Their accumulators are in memory. Several rows that are reduced together read and write them once,
and come as so many streams, each of which memory serves on its own.
"""

from __future__ import annotations

from .facts import WEIGHTS
from .index import Loop
from .nodes import Plan, walk
from .statements import Combine, Compute, Effect, Nest, Position, ReadBuffer, ReadView

MOST = 8
LIGHT = 6
"""The most that computing an element may cost: what costs more does not wait for memory."""


def jam_reductions(plan: Plan) -> None:
    """Set how many steps run side by side in each nest of a plan."""
    for nest in walk(plan.body):
        if isinstance(nest, Nest) and _reduces_rows(nest) and _is_light(nest):
            nest.jam = _steps(nest.loops[-2].size)


def _is_light(nest: Nest) -> bool:
    """Whether an element is computed with few simple instructions."""
    if not all(isinstance(r, Compute | Position | ReadBuffer | ReadView) for r in nest.reads):
        return False
    return sum(WEIGHTS.get(r.op.name, 1) for r in nest.reads if isinstance(r, Compute)) <= LIGHT


def _reduces_rows(nest: Nest) -> bool:
    """Whether a nest only reduces along the loop around the lanes."""
    if nest.lanes == 1 or len(nest.loops) < 2:
        return False
    return all(_is_along(effect, nest.loops[-2]) for effect in nest.effects)


def _is_along(effect: Effect, loop: Loop) -> bool:
    if not isinstance(effect, Combine) or effect.scan:
        return False
    return bool(effect.loops) and effect.loops[-1] is loop


def _steps(size: int) -> int:
    """As many as divide the loop."""
    steps = MOST
    while size % steps:
        steps //= 2
    return steps
