"""Threads of a few blocks at work: their registers, their program counters, which of them wait.

Each thread has a separate program counter. Those at the lowest step run it together,
as far as its end; a loop, or the side of a branch that comes first in the text, so runs until all
threads have left it, and they go on together. Now and then others have their turn, so that threads
that wait for others in a loop do not do so for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .memory import SHARED_START, BlockMemory, LocalMemory, ParamMemory, PtxLayout, PtxMemory
from .program import PtxError, Register
from .values import ALL, BITS, Array, Lanes, UndefinedPtxError, first

if TYPE_CHECKING:
    from .launch import PtxCode

Index = tuple[int, int, int]
WARP = 32
NEVER = np.iinfo(np.int32).max
"""The step of a thread that has ended, or that never was; it is higher than any other."""
WAITS = NEVER - 1
"""The turn of a thread that waits for others."""
MOST_STEPS = 2_000_000
"""Steps after which threads count as ones that do not end."""
FAIR = 64
"""One turn of this many is for threads that are not at the lowest step."""
POISON = {1: True, 8: 0xAB, 16: 0xABBA, 32: 0xDEADBEEF, 64: 0xDEADBEEFABADCAFE}


@dataclass(slots=True)
class PtxLaunch:
    """What all blocks of a launch share."""

    code: PtxCode
    memory: PtxMemory
    params: bytes
    grid: Index
    block: Index
    dynamic: int
    """Bytes of shared memory that the launch asked for."""
    rng: np.random.Generator

    @property
    def layout(self) -> PtxLayout:
        """Where everything is that the code names."""
        return self.code.layout


class PtxThreads:
    """The state of all threads of some blocks; those of a block fill whole warps."""

    def __init__(self, launch: PtxLaunch, blocks: Array) -> None:
        self.launch = launch
        x, y, z = launch.block
        self.per_block = x * y * z
        self.padded = -(-self.per_block // WARP) * WARP
        self.count = len(blocks) * self.padded
        number = np.arange(self.count)
        self.block = number // self.padded
        self.warp = number // WARP
        self.in_block = number % self.padded
        self.exists = self.in_block < self.per_block
        layout = launch.layout
        size = layout.shared_end - SHARED_START + launch.dynamic
        self.shared = BlockMemory(len(blocks), size, self)
        self.local = LocalMemory(self.count, layout.local_end)
        self.params = ParamMemory(self.count, layout.param_end)
        self.epoch = np.zeros(len(blocks), np.int64)
        """How many barriers each block has passed."""
        self.warp_epoch = np.zeros(self.count, np.int64)
        """How many barriers of warps a thread has passed."""
        self.carry = np.zeros(self.count, np.bool_)
        self.pc = np.where(self.exists, launch.code.start, NEVER).astype(np.int32)
        self.turn = self.pc.copy()
        """The step, or WAITS."""
        self.returns: dict[str, Array] = {}
        """Where each thread goes on after a function: the number of the step of its call."""
        self._registers: list[Array | None] = [None] * launch.code.registers
        self._defined: dict[int, Array] = {}
        """Which threads have written a register; of registers that all have written, nothing."""
        self._specials = self._special_registers(blocks)

    def _special_registers(self, blocks: Array) -> dict[str, Array]:
        x, y, _ = self.launch.block
        of_thread = self.in_block % x, self.in_block // x % y, self.in_block // (x * y)
        found: dict[str, Array] = {}
        for axis, name in enumerate("xyz"):
            found[f"%tid.{name}"] = of_thread[axis]
            found[f"%ctaid.{name}"] = blocks[self.block, axis]
            found[f"%ntid.{name}"] = np.full(self.count, self.launch.block[axis])
            found[f"%nctaid.{name}"] = np.full(self.count, self.launch.grid[axis])
        lane = np.arange(self.count, dtype=np.uint64) % np.uint64(WARP)
        bit = np.uint64(1) << lane
        found["%laneid"] = lane
        found["%lanemask_eq"], found["%lanemask_lt"] = bit, bit - np.uint64(1)
        found["%lanemask_le"] = bit * np.uint64(2) - np.uint64(1)
        found["%lanemask_ge"], found["%lanemask_gt"] = ~(bit - np.uint64(1)), ~(2 * bit - 1)
        found["%dynamic_smem_size"] = np.full(self.count, self.launch.dynamic)
        return {name: value.astype(np.uint32) for name, value in found.items()}

    def special(self, name: str) -> Array:
        """Return a special register."""
        if name not in self._specials:
            raise PtxError(f"the interpreter does not know {name}")
        return self._specials[name]

    def numbers(self, lanes: Lanes) -> Array:
        """Return the numbers of the threads that run."""
        return np.arange(self.count) if isinstance(lanes, slice) else lanes

    # --- registers -----------------------------------------------------------------------------

    def read(self, register: Register, lanes: Lanes) -> Array:
        """Return the register of some threads, which all must have written it."""
        found = self._registers[register.number]
        if found is None:
            raise UndefinedPtxError(f"{register.name} is read, and nothing has written it")
        defined = self._defined.get(register.number)
        if defined is not None and not (known := defined[lanes]).all():
            raise UndefinedPtxError(
                f"{register.name} is read, and this thread has not written it", first(~known)
            )
        return found if isinstance(lanes, slice) else found[lanes]

    def write(self, register: Register, lanes: Lanes, value: Array) -> None:
        """Set the register of some threads."""
        number = register.number
        found = self._registers[number]
        if found is None:
            found = np.full(self.count, POISON[register.bits], BITS[register.bits])
            self._registers[number] = found
            self._defined[number] = ~self.exists
        found[lanes] = value
        defined = self._defined.get(number)
        if defined is not None:
            defined[lanes] = True
            if defined.all():
                del self._defined[number]

    def forget(self, register: Register, lanes: Lanes) -> None:
        """Mark a register as never written."""
        number = register.number
        if self._registers[number] is not None:
            defined = self._defined.setdefault(number, np.ones(self.count, np.bool_))
            defined[lanes] = False

    # --- who runs ------------------------------------------------------------------------------

    def run(self) -> None:
        """Run all threads to their end."""
        steps = self.launch.code.steps
        for count in range(MOST_STEPS):
            number = int(self.turn.min())
            if number == WAITS:
                number = self._meet_again()
            if number == NEVER:
                return
            if count % FAIR == FAIR - 1:
                number = int(self.launch.rng.choice(np.unique(self.turn[self.turn < WAITS])))
            chosen = np.flatnonzero(self.turn == number)
            steps[number].run(self, ALL if len(chosen) == self.count else chosen)
        raise PtxError(f"the threads do not end within {MOST_STEPS} steps")

    def _meet_again(self) -> int:
        """Resume threads that waited for others which have ended since then."""
        waiting = self.turn == WAITS
        steps: list[int] = np.unique(self.pc[waiting]).tolist()
        for step in steps:
            self.launch.code.steps[step].finish(self, np.flatnonzero(waiting & (self.pc == step)))
        number = int(self.turn.min())
        if number == WAITS:
            self._deadlock()
        return number

    def go(self, lanes: Lanes, step: int | Array) -> None:
        """Let threads continue elsewhere."""
        self.pc[lanes] = step
        self.turn[lanes] = step

    def wait(self, lanes: Lanes) -> None:
        """Make threads wait where they are."""
        self.turn[lanes] = WAITS

    def end(self, lanes: Lanes) -> None:
        """End threads."""
        self.go(lanes, NEVER)

    @property
    def alive(self) -> Array:
        """Which threads have not ended."""
        return np.asarray(self.pc != NEVER)

    def _deadlock(self) -> None:
        at: list[int] = sorted(set(self.pc[self.turn == WAITS].tolist()))
        where = ", ".join(str(self.launch.code.steps[step].last) for step in at)
        raise PtxError(
            f"threads wait for ever: {int((self.turn == WAITS).sum())} of them at {where}, "
            f"while {int((self.exists & ~self.alive).sum())} have ended"
        )

    def described(self, thread: int) -> str:
        """Return the index of a thread in its block, and of the block in the grid."""
        names = [f"%{what}.{axis}" for what in ("tid", "ctaid") for axis in "xyz"]
        numbers = [int(self._specials[name][thread]) for name in names]
        return f"thread {tuple(numbers[:3])} of block {tuple(numbers[3:])}"
