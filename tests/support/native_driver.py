"""Functions of the CUDA driver that answer as told, and launches as native code takes them."""

# ruff: noqa: N802 - functions of the driver have its names
from __future__ import annotations

import ctypes
from functools import partial
from operator import getitem
from struct import pack

from support.records import ALL_BYTES, TENSOR_WORDS, storage_words
from tilewright.devices.cuda.record import Record
from tilewright.devices.cuda.results import NOT_READY
from tilewright.devices.native_records import PLAN_WORDS
from tilewright.devices.timeline import Timeline
from tilewright.tensors.borrow import BorrowState


class Driver:
    """The few functions that native code calls, in Python."""

    def __init__(self):
        self.current, self.log, self.answers = 0, [], {}
        self.passed = set()
        self.parameters, self.read = 0, []

    def cuCtxGetCurrent(self, place):
        place[0] = self.current or None
        return self.answers.get("cuCtxGetCurrent", 0)

    def cuCtxPushCurrent(self, context):
        self.log.append(("push", context))
        return self.answers.get("cuCtxPushCurrent", 0)

    def cuCtxPopCurrent(self, place):
        self.log.append(("pop",))
        return 0

    def cuLaunchKernel(self, *arguments):
        self.log.append(("launch", *arguments))
        if self.parameters:
            places = ctypes.cast(arguments[9], ctypes.POINTER(ctypes.c_int64))
            found = [places[i] for i in range(self.parameters + 1)]
            self.read = [ctypes.c_int64.from_address(place).value for place in found[:-1]]
            assert found[-1] == 0, "a zero ends them"
        return self.answers.get("cuLaunchKernel", 0)

    def cuGraphLaunch(self, executable, stream):
        self.log.append(("graph", executable, stream))
        return self.answers.get("cuGraphLaunch", 0)

    def cuEventRecord(self, event, stream):
        self.log.append(("record", event, stream))
        return self.answers.get("cuEventRecord", 0)

    def cuEventQuery(self, event):
        return self.answers.get("cuEventQuery", 0 if event in self.passed else NOT_READY)

    def cuStreamQuery(self, stream):
        return self.cuEventQuery(stream)

    def cuStreamWaitEvent(self, stream, event, flags):
        self.log.append(("wait", stream, event))
        return self.answers.get("cuStreamWaitEvent", 0)

    def cuEventCreate(self, place, flags):
        self.log.append(("create", flags))
        place[0] = 4000 + len(self.log)
        return self.answers.get("cuEventCreate", 0)

    def cuEventDestroy(self, event):
        self.log.append(("destroy", event))
        return 0

    def cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        self.log.append(("copy_in", target, source, nbytes, stream))
        return self.answers.get("cuMemcpyHtoDAsync", 0)


class Plain:
    """A launch of a kernel with two tensors, a number, and a parameter that is always 6."""

    def __init__(self):
        self.record = Record(77, 88, (1, 1, 1), (1, 1, 1), 0, (0, 6, 0, 0))
        first = self.record.slots
        self.states = [BorrowState() for _ in range(2)]
        self.memory = [storage_words(state) for state in self.states]
        self.tensors = [
            (ctypes.c_int64 * TENSOR_WORDS)(0, 4096 * (i + 1), state.record, id(state), *ALL_BYTES)
            for i, state in enumerate(self.states)
        ]
        self.row = pack("6q", *map(ctypes.addressof, self.tensors), 0, 0, 0, 0)  # epochs, owners
        self.places = (ctypes.c_int64 * 2)(first, first + 3), (ctypes.c_int64 * 1)(first + 2)
        tensors, numbers = map(ctypes.addressof, self.places)
        self.world = {"one": object(), "other": object()}
        self.read, (one, other) = partial(getitem, self.world, "one"), self.world.items()
        self.other = other[0]
        self.watches = (ctypes.c_int64 * 6)(
            id(self.read), 0, id(one[1]), id(self.world), id(self.other), id(other[1])
        )
        self.plan = (ctypes.c_int64 * PLAN_WORDS)(
            self.record.address, 4, 2, tensors, 1, numbers, 1,
            2, ctypes.addressof(self.watches), 0,
        )  # fmt: skip
        self.timeline, self.uses = Timeline(), []

    def submit(self, native, budget=0):
        self.uses = []
        return self.submit_again(native, budget)

    def submit_again(self, native, budget=0):
        plan, timeline = ctypes.addressof(self.plan), self.timeline.address
        row, numbers = self.row, pack("q", -5)
        return native.submit_launch(
            plan, self.uses, "submit()", 0, row, numbers, timeline, 11, budget
        )
