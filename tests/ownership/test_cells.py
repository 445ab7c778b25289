"""What may be done to memory in each state, by each ending: one test per cell of a table.

The expectations are the table `ACCEPTED`; it is written from the rules of ownership, and knows
nothing of how they are kept.
"""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import tilewright as tw
from ownership.kernels import neg
from support.lending import lent
from tilewright.tensors.putting import read_now

TILE = (2, 2)
VALUES = np.arange(16, dtype="f4").reshape(4, 4)
OTHER = VALUES + 100


# The states. Each gives what a kernel may be given to read and to write, and the memory itself.
# Reading and writing are asked for one by one, since asking may already be refused.


class State:
    """A tensor that nobody else has anything to do with."""

    rows_read = rows_written = slice(None)

    def __init__(self):
        self.tensor = tw.from_numpy(VALUES).sync()
        self.region = self.tensor.region
        self.prepare()

    def prepare(self):
        pass

    def writer(self):
        return self.tensor.partition_mut(TILE)

    def reader(self):
        return self.tensor

    def memory(self):
        tw.synchronize()
        return read_now(self.region)


class OverlappingView(State):
    rows_read, rows_written = slice(1, 3), slice(0, 2)

    def writer(self):
        return self.tensor.borrow_mut()[0:2].partition(TILE)

    def reader(self):
        return self.tensor[1:3]


class DisjointView(OverlappingView):
    rows_read = slice(2, 4)

    def reader(self):
        return self.tensor[2:4]


class Partition(State):
    def writer(self):
        self.taken = self.tensor.partition(TILE)
        return self.taken

    def reader(self):
        return self.tensor.partition(TILE)


class PartitionOfView(State):
    rows_read = rows_written = slice(1, 3)

    def writer(self):
        return self.tensor[1:3].partition(TILE)

    reader = writer


class PartitionOfPart(OverlappingView):
    rows_read = slice(2, 4)

    def prepare(self):
        self.borrow = self.tensor.borrow_mut()

    def writer(self):
        return self.borrow[0:2].partition(TILE)

    def reader(self):
        return self.borrow[2:4].partition(TILE).unpartition()


class ArcOfOne(State):
    def prepare(self):
        self.arc = tw.Arc(self.tensor)

    def writer(self):
        return self.arc.try_partition(TILE)

    def reader(self):
        return self.arc


class ArcOfTwo(ArcOfOne):
    def prepare(self):
        super().prepare()
        self.clone = self.arc.clone()


class Moved(State):
    def prepare(self):
        self.kept = tw.move(self.tensor)


class ExportedByDLPack(State):
    def prepare(self):
        on_gpu = self.tensor.device.name.startswith("cuda")
        self.kept = lent(self.tensor) if on_gpu else np.from_dlpack(self.tensor)


class ExportedByArrayInterface(State):
    def prepare(self):
        self.kept = self.tensor.__array_interface__


class Import(State):
    """An alias of an array of the host, which is memory of the CPU."""


class ReadOnlyImport(Import):
    def prepare(self):
        self.array = VALUES.copy()
        self.array.flags.writeable = False
        self.tensor = tw.asarray(self.array)
        self.region = self.tensor.region


class TwoImports(Import):
    def prepare(self):
        self.array = VALUES.copy()
        self.tensor, self.twin = tw.asarray(self.array), tw.asarray(self.array[:])
        self.region = self.tensor.region

    def reader(self):
        return self.twin


class TwoDisjointImports(TwoImports):
    rows_read, rows_written = slice(2, 4), slice(0, 2)

    def prepare(self):
        super().prepare()
        self.twin = tw.asarray(self.array[2:4])

    def writer(self):
        self.low = tw.asarray(self.array[0:2])
        return self.low.partition_mut(TILE)


# The rules. What is accepted, by state: r read, w written, b both by one kernel.

ACCEPTED = {
    # many readers or one writer; never both in one launch
    State: "rw",
    OverlappingView: "rw",
    # disjoint regions do not touch each other
    DisjointView: "rwb",
    PartitionOfPart: "rwb",
    # a partition is for writing; it takes the tensor over, so there is nothing left to read
    Partition: "w",
    # a view is a shared borrow: nobody takes it over
    PartitionOfView: "",
    # shared owners read; the only one may take the tensor out, and has nothing left to read then
    ArcOfOne: "rw",
    ArcOfTwo: "r",
    Moved: "",
    # what others see is not written
    ExportedByDLPack: "r",
    ExportedByArrayInterface: "r",
    ReadOnlyImport: "r",
    # aliases share one state
    TwoImports: "rw",
    TwoDisjointImports: "rwb",
}


# The endings. Each runs an op and waits until it is done.


async def awaited(op):
    return await op


def scheduled(op):
    return op.schedule(tw.StreamPoolRoundRobin(tw.default_device())).result()


ENDINGS = {
    "sync": lambda op: op.sync(),
    "await": lambda op: asyncio.run(awaited(op)),
    "scheduled": scheduled,
    "shared": lambda op: op.shared().sync(),
    "zip": lambda op: tw.zip(tw.value(None), op).sync(),
    "graph": lambda op: op.graph().launch().sync(),
}


@pytest.fixture(params=ENDINGS)
def end(request):
    return ENDINGS[request.param]


def _cell(state):
    of_the_host = issubclass(state, Import | ExportedByArrayInterface)
    marks = [pytest.mark.cpu_alone] if of_the_host else []
    return pytest.param(state, id=state.__name__, marks=marks)


@pytest.fixture(params=map(_cell, ACCEPTED))
def state(request):
    return request.param()


def verdict(state, use, work):
    """Do it, and say whether it was done; what is refused must have changed nothing."""
    try:
        work()
    except (tw.BorrowError, TypeError):
        assert use not in ACCEPTED[type(state)], "refused, but the rules accept it"
        np.testing.assert_array_equal(state.memory(), VALUES)
        return False
    assert use in ACCEPTED[type(state)], "accepted, but the rules refuse it"
    return True


def test_read(state, end):
    shape = VALUES[state.rows_read].shape
    out = tw.from_numpy(np.full(shape, np.nan, "f4")).sync()
    if verdict(state, "r", lambda: end(neg(out.partition_mut(TILE), state.reader()))):
        np.testing.assert_array_equal(out.to_numpy(), -VALUES[state.rows_read])


def test_write(state, end):
    source, expected = tw.from_numpy(OTHER[state.rows_written]).sync(), VALUES.copy()
    expected[state.rows_written] = -OTHER[state.rows_written]
    if verdict(state, "w", lambda: end(neg(state.writer(), source))):
        np.testing.assert_array_equal(state.memory(), expected)


def test_read_and_write(state, end):
    expected = VALUES.copy()
    expected[state.rows_written] = -VALUES[state.rows_read]
    if verdict(state, "b", lambda: end(neg(state.writer(), state.reader()))):
        np.testing.assert_array_equal(state.memory(), expected)
