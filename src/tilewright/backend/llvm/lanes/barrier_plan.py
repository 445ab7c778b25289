"""Plans a block whose threads synchronize: SIMD groups, and loop fission at barriers (as in pocl).

Warp ops need the 32 threads of a warp as one group, threads counted with x fastest. Where there
are none, groups follow the rows of a block, so that what differs between rows alone is a scalar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....analysis.shared import shared_layout
from ....analysis.structure import Structure
from ....analysis.uniformity import WARP_OPS, Over, Uniformity, uniformity
from ....base.shapes import ceil_div, size
from ....ir.attrs import WARP_SIZE, Place
from ....ir.core import Func, Op, Value
from ....ir.opdef import Effect
from .live_across_barriers import Groups, Kind, LiveValues, place_live_values
from .phases import Node, Phase, cut, phases

LEAST = 8
"""Groups have so many lanes at least, and rows are not groups of their own if they are shorter."""


@dataclass(slots=True)
class CooperativePlan:
    """The plan of a kernel whose threads meet."""

    width: int
    by_rows: bool
    """Whether groups follow rows along x; else they are warps."""
    rows: int
    length: int
    """Threads in a row, each row a number of groups; warps have all threads in one row."""
    of_block: Uniformity
    of_group: Uniformity
    nodes: list[Node]
    live_values: LiveValues

    @property
    def groups(self) -> int:
        """How many groups a block has."""
        return self.rows * ceil_div(self.length, self.width)

    @property
    def decisions(self) -> list[str]:
        """Lines for people."""
        slots = set(self.live_values.spill_slots.values())
        count = sum(slot.kind is not Kind.BLOCK for slot in slots)
        return [
            f"phases between barriers: {len(list(phases(self.nodes)))}",
            f"values live across barriers: {count}, spill slots: {self.live_values.scratch} bytes",
        ]

    def acts(self, phase: Phase) -> bool:
        """Whether the groups have anything to do in a phase."""
        return any(self.is_done(op) for op in phase.ops) or any(
            self.live_values.spill_slots[target].kind is not Kind.BLOCK for _, target in phase.moves
        )

    def is_done(self, op: Op) -> bool:
        """Whether an op is not for the sake of other ops of its phase alone."""
        if op in self.live_values.early:
            return op.name == "check_index"
        return not op.defn.pure or any(r in self.live_values.spill_slots for r in op.results)

    def needed(self, phase: Phase) -> list[Value]:
        """What a phase uses that it does not make itself."""
        made = {v for op in phase.walk() for v in op.results}
        made |= {arg for op in phase.walk() for region in op.regions for arg in region.args}
        return list(dict.fromkeys(v for v in self.used(phase) if v not in made))

    def used(self, phase: Phase) -> Iterator[Value]:
        """What the groups use in a phase."""
        for op in phase.walk():
            yield from op.operands
        for source, target in phase.moves:
            if self.live_values.spill_slots[target].kind is not Kind.BLOCK:
                yield source


def plan_cooperation(func: Func, nesting: Structure) -> CooperativePlan | None:
    """How the threads of a kernel meet; None where they do not, and share no memory."""
    if not any(_meets(op) for op in func.walk()):
        return None
    x, *others = func.signature.block_dims
    by_rows = not any(_is_of_warp(op) for op in func.walk()) and (x >= LEAST or size(others) == 1)
    rows, length = (size(others), x) if by_rows else (1, x * size(others))
    width = min(max(1 << (length - 1).bit_length(), LEAST), WARP_SIZE) if by_rows else WARP_SIZE
    of_block = uniformity(func)
    of_group = uniformity(func, Over.ROW if by_rows else Over.WARP, in_step=True)
    groups = Groups(width, rows * ceil_div(length, width))
    nodes = cut(func, of_block, nesting, several=groups.count > 1)
    live_values = place_live_values(
        nodes, of_block, of_group, nesting, groups, shared_layout(func).total
    )
    return CooperativePlan(width, by_rows, rows, length, of_block, of_group, nodes, live_values)


def _meets(op: Op) -> bool:
    shares = op.name in ("shared", "dynamic_shared")
    return bool(op.defn.effects & Effect.SYNC) or shares or _is_of_warp(op)


def _is_of_warp(op: Op) -> bool:
    if op.name == "place":
        return op.attrs["what"] in (Place.LANE, Place.WARP)
    return op.name in (*WARP_OPS, "sync_warp")
