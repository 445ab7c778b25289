"""How a CUDA driver in Python begins work and puts it on streams, as native code does."""

from __future__ import annotations

import ctypes
from struct import unpack
from typing import Any

from support.records import TENSOR_WORDS, StorageWord, TensorWord
from tilewright._core import CUDA_STATUS_BITS, note_passed, reborrow, reserve
from tilewright.devices.cuda.record import HEAD_WORDS
from tilewright.devices.native_records import (
    FUNCTION_KEYS,
    PLAN_WORDS,
    REPLAY_WORDS,
    TIMELINE_WORDS,
    PlanWord,
    ReplayWord,
    SlowPath,
    TimelineWord,
)
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

    def submit_launch(
        self, plan: int, uses: list[Any] | None, user: str, up: int, row: bytes, numbers: bytes,
        timeline: int, stream: int, budget: int,
    ) -> int:  # fmt: skip
        words = (ctypes.c_int64 * PLAN_WORDS).from_address(plan)
        if uses or not _unchanged(words):
            return 0
        with LOCK:
            begun = reserve(row, words[PlanWord.WRITTEN], words[PlanWord.TENSORS], timeline, 0)
        if begun < 0:
            return 0
        if uses is not None:
            uses.append((user, here(max(up, 1))))  # this function is not the program
        count = words[PlanWord.SLOTS]
        first = HEAD_WORDS + count + 1
        record = (ctypes.c_int64 * (first + count)).from_address(words[PlanWord.RECORD])
        values = list(record[first:])
        tensors, given = words[PlanWord.TENSORS], words[PlanWord.NUMBERS]
        for i, at in enumerate(_words(words[PlanWord.TENSOR_PLACES], tensors)):
            tensor = int.from_bytes(row[8 * i : 8 * i + 8], "little")
            values[at - first] = _words(tensor, TENSOR_WORDS)[TensorWord.ADDRESS]
        for number, at in zip(
            unpack(f"{given}q", numbers), _words(words[PlanWord.NUMBER_PLACES], given), strict=True
        ):
            values[at - first] = number
        put = self._counted(timeline, self._launch(record, values, stream))
        if put > 0:
            _mark_written(row, words[PlanWord.WRITTEN])
        return self._seen(put, timeline, stream, budget)

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


def _mark_written(row: bytes, written: int) -> None:
    for tensor in unpack(f"{written}q", row[: 8 * written]):
        storage = _words(tensor, TENSOR_WORDS)[TensorWord.STORAGE]
        slow_path = ctypes.c_int64.from_address(storage + 8 * StorageWord.LOOK)
        slow_path.value &= ~SlowPath.UNWRITTEN


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address))


def _unchanged(plan: Any) -> bool:
    """Whether all that a plan watches is what it was."""
    watches = _words(plan[PlanWord.WATCHES], 3 * plan[PlanWord.WATCHED])
    each = (watches[i : i + 3] for i in range(0, len(watches), 3))
    return all(_is_still(*watch) for watch in each)


def _is_still(where: int, key: int, value: int) -> bool:
    if not value:  # a name that must not be there
        return _object(key) not in _object(where)
    return _now(where, key) is _object(value)


def _now(where: int, key: int) -> Any:
    """What a dictionary has, a function gives, or an attribute of a function is."""
    for name, number in FUNCTION_KEYS.items():
        if key == number:
            return getattr(_object(where), name)
    return _object(where).get(_object(key)) if key else _object(where)()


def _object(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value
