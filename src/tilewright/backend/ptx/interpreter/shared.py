"""Memory of a block, and a detector of races in it.

Two accesses to a byte by different threads, one of them a write and not both of them atomic, race
unless a barrier of the block lies between them, or one of their warp. The record of a byte is its
last write and its last read since the last barrier; a byte that several threads have read is known
as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .layout import SHARED_START
from .memory import FIRST, LINE, bytes_in
from .values import BITS, Array, UndefinedError, first

if TYPE_CHECKING:
    from .threads import Threads

NOBODY, SEVERAL = -1, -2


class _Last:
    """The last access of a kind to each byte: by whom, and after how many barriers."""

    def __init__(self, nbytes: int) -> None:
        self.thread = np.full(nbytes, NOBODY, np.int64)
        self.warp = np.full(nbytes, NOBODY, np.int64)
        self.epoch = np.zeros(nbytes, np.int64)
        self.warp_epoch = np.zeros(nbytes, np.int64)
        self.atomic = np.zeros(nbytes, np.bool_)


class SharedMemory:
    """The memory of some blocks, side by side."""

    def __init__(self, blocks: int, nbytes: int, threads: Threads) -> None:
        self.nbytes = nbytes
        self.room = -(-nbytes // LINE) * LINE
        self.threads = threads
        total = blocks * self.room
        self.data = np.zeros(total, np.uint8)
        self.written = np.zeros(total, np.bool_)
        self.writes, self.reads = _Last(total), _Last(total)

    def _at(self, threads: Array, addresses: Array, bytes_of: Array, what: str) -> Array:
        nbytes = int(bytes_of[-1]) + 1
        offsets = addresses - SHARED_START
        wrong = (offsets < 0) | (offsets + nbytes > self.nbytes)
        if wrong.any():
            which = first(wrong)
            raise UndefinedError(
                f"{what} of {nbytes} bytes at byte {int(offsets[which])} of the shared memory "
                f"of a block, which has {self.nbytes}", which
            )  # fmt: skip
        start = self.threads.block[threads] * self.room + offsets
        at: Array = start[:, None] + bytes_of
        return at

    def load(self, threads: Array, addresses: Array, size: int, columns: Array = FIRST) -> Array:
        """Read elements: for each address a row of some of those that follow it."""
        at = self._at(threads, addresses, bytes_in(size, columns), "a load")
        known = np.asarray(self.written[at].all(1))
        if not known.all():
            raise UndefinedError("shared memory is read, but was never written", first(~known))
        self._judge(threads, at, self.writes, "a read of what", "wrote", atomic=False)
        self._note_reads(threads, at)
        return self.data[at].view(BITS[8 * size])

    def store(self, threads: Array, addresses: Array, values: Array) -> None:
        """Write rows of elements."""
        raw = np.ascontiguousarray(values).view(np.uint8)
        at = self._at(threads, addresses, np.arange(int(raw.shape[1])), "a store")
        self._judge(threads, at, self.writes, "a write to what", "wrote", atomic=False)
        self._judge(threads, at, self.reads, "a write to what", "read", atomic=False)
        self.data[at] = raw
        wrong = (self.data[at] != raw).any(1)
        if wrong.any():
            raise UndefinedError("a race in shared memory: two threads write at once", first(wrong))
        self.written[at] = True
        self._note_writes(threads, at, atomic=False)

    def update(self, threads: Array, addresses: Array, size: int) -> tuple[Array, Array]:
        """Return the bytes, by address, that atomic updates of elements change."""
        at = self._at(threads, addresses, np.arange(size), "an atomic update")
        known = np.asarray(self.written[at].all(1))
        if not known.all():
            raise UndefinedError("shared memory is updated, but was never written", first(~known))
        self._judge(threads, at, self.writes, "an atomic update of what", "wrote", atomic=True)
        self._judge(threads, at, self.reads, "an atomic update of what", "read", atomic=True)
        self._note_writes(threads, at, atomic=True)
        return self.data.view(BITS[8 * size]), at[:, 0] // size

    # --- races ---------------------------------------------------------------------------------

    def _judge(
        self, threads: Array, at: Array, last: _Last, what: str, did: str, *, atomic: bool
    ) -> None:
        """Raise for accesses that nothing orders after earlier ones."""
        state = self.threads
        who = threads[:, None]
        earlier = last.thread[at]
        race = (earlier != NOBODY) & (earlier != who)
        race &= last.epoch[at] == state.epoch[state.block[threads]][:, None]
        if not race.any():
            return
        ordered = last.warp[at] == state.warp[who]
        ordered &= last.warp_epoch[at] < state.warp_epoch[who]
        race &= ~ordered
        if atomic:
            race &= ~last.atomic[at]
        if race.any():
            which = first(race.any(1))
            other = int(earlier[which][first(race[which])])
            name = state.described(other) if other != SEVERAL else "several threads"
            raise UndefinedError(
                f"a race in shared memory: {what} {name} {did}, with no barrier between", which
            )

    def _note_writes(self, threads: Array, at: Array, *, atomic: bool) -> None:
        state, who = self.threads, threads[:, None]
        # A plain write of this barrier's time stays on record when atomic updates follow it.
        self.writes.atomic[at] = atomic
        self.writes.thread[at] = who
        self.writes.warp[at] = state.warp[who]
        self.writes.epoch[at] = state.epoch[state.block[threads]][:, None]
        self.writes.warp_epoch[at] = state.warp_epoch[who]

    def _note_reads(self, threads: Array, at: Array) -> None:
        state, who, last = self.threads, threads[:, None], self.reads
        epoch = state.epoch[state.block[threads]][:, None]
        others = (last.thread[at] != NOBODY) & (last.epoch[at] == epoch)
        before, before_warp = last.thread[at], last.warp[at]
        last.thread[at] = np.where(others & (before != who), SEVERAL, who)
        last.warp[at] = np.where(
            others & (before_warp != state.warp[who]), SEVERAL, state.warp[who]
        )
        # Of threads that read the same byte at once, the last one is on record by now.
        several = last.thread[at] != who
        last.thread[at[several]] = SEVERAL
        mixed = (last.warp[at] != state.warp[who]) & (last.warp[at] != SEVERAL)
        last.warp[at[mixed]] = SEVERAL
        last.warp_epoch[at] = np.where(
            others, np.maximum(last.warp_epoch[at], state.warp_epoch[who]), state.warp_epoch[who]
        )
        last.epoch[at] = np.broadcast_to(epoch, at.shape)
