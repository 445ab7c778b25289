"""The memory behind what a block keeps from phase to phase, as addresses in the code.

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
from .keeping import Home, Kind
from .meeting import Meeting
from .phases import Together

HELD = 0.7
"""What part of the registers may be held through a loop."""


class Homes:
    """Addresses of what one block keeps."""

    def __init__(self, emitter: Emitter, meeting: Meeting) -> None:
        self.emitter = emitter
        self.meeting = meeting
        self.of_value = meeting.kept.homes
        self.slots: dict[Home, Vec] = {}
        self.held: dict[Home, list[tuple[Vec, Vec]]] = {}
        """What is in registers now, of each group: memory that becomes one, and its type."""

    def slot(self, value: Value) -> Vec:
        """Where something is that is the same in all threads, and passed on by control flow."""
        home = self.of_value[value]
        if home not in self.slots:
            self.slots[home] = self.emitter.slot(register_type(value.tile.elem))
        return self.slots[home]

    def address(self, home: Home, group: Vec) -> Vec:
        """Where a group keeps something; its number is known while registers are held."""
        if home in self.held:
            return self.held[home][int(group.name)][0]
        return self._in_scratch(home, group)

    def _in_scratch(self, home: Home, group: Vec) -> Vec:
        scratch = Vec(self.emitter.body, "%scratch", "ptr", 1)
        return self.emitter.shifted(scratch, group * home.stride + home.offset, "i8")

    def hold(self, node: Together) -> None:
        """Take what a loop carries out of scratch, if it goes over memory and registers do."""
        if not node.walks:
            return
        homes = {self.of_value[arg]: arg for arg in arguments(node.op)}
        homes = {home: arg for home, arg in homes.items() if home.kind is not Kind.BLOCK}
        cpu, count = self.emitter.cpu, self.meeting.groups
        needed = count * sum(ceil_div(home.stride, cpu.vector_bytes) for home in homes)
        if not 0 < needed <= cpu.vector_registers * HELD:
            return
        for home, arg in homes.items():
            kind = register_type(arg.tile.elem)
            lanes = self.meeting.width if home.kind is Kind.THREAD else 1
            kept = [Vec(self.emitter.body, "", kind, lanes)] * count
            self.held[home] = [(self.emitter.slot(kind, lanes), x) for x in kept]
        self._exchange(into_registers=True)

    def release(self) -> None:
        """Put what a loop has carried into scratch again."""
        if self.held:
            self._exchange(into_registers=False)
            self.held.clear()

    def _exchange(self, *, into_registers: bool) -> None:
        for home, slots in self.held.items():
            for number, (slot, kind) in enumerate(slots):
                places = [self._in_scratch(home, self.emitter.integer(number)), slot]
                source, target = places if into_registers else places[::-1]
                self.emitter.store(self.emitter.load(source, kind.elem, kind.lanes), target)
