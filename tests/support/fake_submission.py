"""How a CUDA driver in Python begins work and puts it on streams, as native code does."""

from __future__ import annotations

import ctypes
from typing import Any

from support.records import TENSOR_WORDS, TensorWord
from tilewright._core import CUDA_STATUS_BITS, note_passed, reborrow
from tilewright.devices.native_records import REPLAY_WORDS, TIMELINE_WORDS, ReplayWord, TimelineWord
from tilewright.devices.timeline import SUBMITTED, UNSUBMITTED
from tilewright.op.place import here
from tilewright.tensors.borrow import LOCK, Use


class FakeSubmission:
    """See `tilewright.devices.cuda.calls.Calls`."""

    native_driver = 0
    launch: Any
    launch_graph: Any
    drain: Any
    _launch: Any
    _status: Any

    def _seen(self, put: int, timeline: int, stream: int, budget: int) -> int:
        if put < 0:
            return put
        return put << CUDA_STATUS_BITS | (
            self._see_through(timeline, stream, budget) if budget else 0
        )

    def _see_through(self, timeline: int, stream: int, budget: int) -> int:
        words = (ctypes.c_int64 * TIMELINE_WORDS).from_address(timeline)
        unsubmitted, issued = words[TimelineWord.UNSUBMITTED], words[TimelineWord.ISSUED]
        status = self.drain(0, stream, budget)
        if not status and not unsubmitted:
            note_passed(timeline, issued)
        return status

    def submit_begun(self, record: int, timeline: int, stream: int, unsubmitted: int) -> int:
        return self._counted(timeline, self.launch(record, stream), unsubmitted)

    def replay(
        self, context: int, record: int, executable: int, memory: int, uses: list[Any] | None,
        user: str, up: int, built: Any, timeline: int, stream: int, budget: int,
    ) -> int:  # fmt: skip
        words = (ctypes.c_int64 * REPLAY_WORDS).from_address(memory)
        row, count, written = words[:3]
        with LOCK:
            if uses or reborrow(row, written, count, timeline) < 0:
                return 0
            for tensor in _words(row, written):
                state = _object(_words(tensor, TENSOR_WORDS)[TensorWord.STATE])
                state.last_write = Use(_object(words[ReplayWord.WHAT]), built)
        if uses is not None:
            uses.append((user, here(max(up, 1))))  # this function is not the program
        if record:
            put = self._counted(timeline, self.launch(record, stream))
        else:
            status = self._status("replay")
            if not status:
                self.launch_graph(executable, stream)
            put = self._counted(timeline, status)
        return self._seen(put, timeline, stream, budget)

    def _counted(self, timeline: int, status: int, unsubmitted: int = 0) -> int:
        """As native code does: no interrupt comes between one count and another."""
        words = (ctypes.c_int64 * TIMELINE_WORDS).from_address(timeline)
        begun = (ctypes.c_int64 * 1).from_address(unsubmitted) if unsubmitted else [0]
        words[UNSUBMITTED] -= 1
        begun[0] = 0
        if status:
            return -status
        words[SUBMITTED] += 1
        return words[SUBMITTED]


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address))


def _object(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value
