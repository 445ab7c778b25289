"""Addresses of the spill slots for values that are live across barriers.

What is the same in all threads has a slot, which becomes a register. The rest has its place in
scratch; while a loop over memory runs, what it carries is in slots too, one for each group.
"""

from __future__ import annotations

from ....analysis.structure import arguments
from ....base.shapes import ceil_div
from ....ir.core import Value
from ..emit.emitter import Emitter
from ..emit.types import register_type
from ..functions.text import Value as Vec
from .barrier_plan import CooperativePlan
from .live_across_barriers import Kind, SpillSlot
from .phases import Together

HELD = 0.7
"""What part of the registers may be held through a loop."""


class SpillSlots:
    """Addresses of what one block keeps."""

    def __init__(self, emitter: Emitter, cooperation: CooperativePlan) -> None:
        self.emitter = emitter
        self.cooperation = cooperation
        self.of_value = cooperation.live_values.spill_slots
        self.slots: dict[SpillSlot, Vec] = {}
        self.held: dict[SpillSlot, list[tuple[Vec, Vec]]] = {}
        """What is in registers now, of each group: memory that becomes one, and its type."""

    def slot(self, value: Value) -> Vec:
        """Where something is that is the same in all threads, and passed on by control flow."""
        spill_slot = self.of_value[value]
        if spill_slot not in self.slots:
            self.slots[spill_slot] = self.emitter.slot(register_type(value.tile.elem))
        return self.slots[spill_slot]

    def address(self, spill_slot: SpillSlot, group: Vec) -> Vec:
        """Where a group keeps something; its number is known while registers are held."""
        if spill_slot in self.held:
            return self.held[spill_slot][int(group.name)][0]
        return self._in_scratch(spill_slot, group)

    def _in_scratch(self, spill_slot: SpillSlot, group: Vec) -> Vec:
        scratch = Vec(self.emitter.body, "%scratch", "ptr", 1)
        return self.emitter.shifted(scratch, group * spill_slot.stride + spill_slot.offset, "i8")

    def hold(self, node: Together) -> None:
        """Take what a loop carries out of scratch, if it goes over memory and registers do."""
        if not node.walks:
            return
        spill_slots = {self.of_value[arg]: arg for arg in arguments(node.op)}
        spill_slots = {
            spill_slot: arg
            for spill_slot, arg in spill_slots.items()
            if spill_slot.kind is not Kind.BLOCK
        }
        cpu, count = self.emitter.cpu, self.cooperation.groups
        needed = count * sum(
            ceil_div(spill_slot.stride, cpu.vector_bytes) for spill_slot in spill_slots
        )
        if not 0 < needed <= cpu.vector_registers * HELD:
            return
        for spill_slot, arg in spill_slots.items():
            kind = register_type(arg.tile.elem)
            lanes = self.cooperation.width if spill_slot.kind is Kind.THREAD else 1
            kept = [Vec(self.emitter.body, "", kind, lanes)] * count
            self.held[spill_slot] = [(self.emitter.slot(kind, lanes), x) for x in kept]
        self._exchange(into_registers=True)

    def release(self) -> None:
        """Put what a loop has carried into scratch again."""
        if self.held:
            self._exchange(into_registers=False)
            self.held.clear()

    def _exchange(self, *, into_registers: bool) -> None:
        for spill_slot, slots in self.held.items():
            for number, (slot, kind) in enumerate(slots):
                places = [self._in_scratch(spill_slot, self.emitter.integer(number)), slot]
                source, target = places if into_registers else places[::-1]
                self.emitter.store(self.emitter.load(source, kind.elem, kind.lanes), target)
