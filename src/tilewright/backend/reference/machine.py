"""The state of a run: a launch, and within it one block of the grid at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from ...base.dtypes import AnyDType, f8e8m0fnu
from ...ir.artifact import Failure, Printed, Site
from ...ir.core import Block, Func, Op, Value
from ...ir.ops.control import BREAKPOINT
from ...ir.types import PtrType, TileType, Type
from .floating import Array
from .storage import LaunchMemory, SharedMemory
from .watch import Actor


@dataclass(frozen=True, slots=True)
class TensorData:
    """A tensor, and any view of it: an address, extents, and strides in bytes."""

    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenData:
    """A token: program order is all the order there is, so it holds nothing."""


@dataclass(frozen=True, slots=True)
class SharedData:
    """An array in a block's memory, or what a launch asked for from a byte on."""

    number: int
    extents: tuple[int, ...]
    offset: int = 0


Data: TypeAlias = Array | TensorData | TokenData | SharedData


@dataclass(frozen=True, slots=True)
class Jump:
    """The end of a region: the name of its terminator, and the values that it passes on."""

    kind: str
    values: tuple[Data, ...]


Results: TypeAlias = tuple[Data, ...]
Steps: TypeAlias = "Generator[Op, Results, Results | Jump]"
"""A suspended thread: it yields the ops at which threads synchronize, and gets results."""
Rule: TypeAlias = "Callable[[Frame, Op], Results | Jump | Steps]"
"""The implementation of an op: return its results, or end its region."""


Meet: TypeAlias = Callable[[Op], "Results | None"]
"""From an op at which threads synchronize to its results; None: it is all over."""


class Followed(Protocol):
    """A block, or a thread, as a debugger knows it."""

    def hear(self, op: Op) -> bool:
        """Take note of an event; return whether to take over from here."""
        ...

    def drive(self, steps: Steps, meet: Meet) -> None:
        """Run the rest. A step gives an event, or an op at which threads synchronize.

        Of the latter `meet` returns the results, once the other threads are there.
        """
        ...


class Debugger(Protocol):
    """Follows blocks and threads, and stops in them."""

    def begin(self, frame: Frame) -> Followed:
        """Return a block, or a thread, that is about to run."""
        ...


def hearing(frame: Frame, meet: Meet) -> Callable[[Op, Steps], bool] | None:
    """Return what to do with each step of a block or thread; None without a debugger.

    It returns whether the step was an event: if the debugger has taken over, the steps are at
    their end then.
    """
    if frame.launch.debugger is None:
        return None
    followed = frame.launch.debugger.begin(frame)

    def hears(op: Op, steps: Steps) -> bool:
        if not op.is_a(BREAKPOINT):
            return False
        if followed.hear(op):
            followed.drive(steps, meet)
        return True

    return hears


def _nobody(op: Op) -> Results:
    raise AssertionError(f"`{op.name}` outside a cooperative block")


@dataclass(slots=True)
class ReferenceLaunch:
    """The state that all blocks of one launch share."""

    func: Func
    grid: tuple[int, ...]
    memory: LaunchMemory
    rules: Mapping[str, Rule]
    sites: Mapping[Op, Site]
    debugger: Debugger | None = None
    failure: Failure | None = None
    printed: list[tuple[int, Printed]] = field(default_factory=list[tuple[int, Printed]])

    def fail(self, failure: Failure) -> None:
        """Keep a failure if it is the first."""
        self.failure = self.failure or failure


@dataclass(slots=True)
class Frame:
    """One running block of the grid, or one thread: its position and its values."""

    launch: ReferenceLaunch
    number: int
    block: tuple[int, ...]
    values: dict[Value, Data]
    thread: tuple[int, ...] | None = None
    """The place of a thread of a SIMT kernel in its block; axes are x, y and z, as in `block`."""
    shared: SharedMemory = field(default_factory=SharedMemory)
    """The memory of its block."""
    actor: Actor = field(default_factory=lambda: Actor(()))
    """Who it is for the watch."""

    def run(self, block: Block) -> None:
        """Run the kernel's body to its end, without other threads to wait for."""
        steps, hears = self.steps(block), hearing(self, _nobody)
        for op in steps:
            if hears is None or not hears(op, steps):
                _nobody(op)

    def steps(self, block: Block) -> Generator[Op, Results, Jump]:
        """Run a region to its terminator, giving each op at which threads synchronize."""
        for op in block.ops:
            outcome = self.launch.rules[op.name](self, op)
            # Ops with regions, and barriers, are generators: a thread is a coroutine, which is
            # suspended where threads synchronize. No operating-system threads are needed.
            if not isinstance(outcome, tuple | Jump):
                outcome = yield from outcome
            if isinstance(outcome, Jump):
                return outcome
            self.bind(op.results, outcome)
        raise AssertionError("a block must end in a terminator")

    def bind(self, values: Sequence[Value], data: Sequence[Data]) -> None:
        """Bind values to their data."""
        for value, datum in zip(values, data, strict=True):
            self.values[value] = _settled(value.type, datum)

    def data(self, values: Sequence[Value]) -> Results:
        """Return the data of several values."""
        return tuple(self.values[v] for v in values)

    def array(self, value: Value) -> Array:
        """Return the elements of a tile."""
        data = self.values[value]
        assert isinstance(data, np.ndarray), f"expected a tile, got {data}"
        return data

    def fail(self, op: Op, index: int = 0, extent: int = 0) -> None:
        """Report that a check or an assertion failed here."""
        self.launch.fail(Failure(self.launch.sites[op], self.block, index, extent, self.thread))

    def arrays(self, op: Op) -> list[Array]:
        """Return the elements of all operands of an op on tiles."""
        return [self.array(v) for v in op.operands]

    def integer(self, value: Value) -> int:
        """Return a scalar as a Python int."""
        return int(self.array(value))

    def tensor(self, value: Value) -> TensorData:
        """Return the memory of a tensor or a view."""
        data = self.values[value]
        assert isinstance(data, TensorData), f"expected a tensor, got {data}"
        return data


def _settled(kind: Type, data: Data) -> Data:
    """Hold results to their type; NumPy's scalars become arrays of rank 0."""
    if not isinstance(kind, TileType):
        return data
    array = np.asarray(data)
    # A rule that computes in a wider type would define another result than backends can have.
    expected = storage_type(kind)
    assert array.dtype == expected, f"expected elements of {expected}, got {array.dtype}"
    return array


def storage_type(kind: TileType) -> np.dtype[np.generic]:
    """Return the NumPy type that holds a tile's elements; pointers are 64-bit addresses."""
    return np.dtype(np.int64) if isinstance(kind.elem, PtrType) else kind.elem.np


def elementwise(compute: Callable[..., Array]) -> Rule:
    """Return the rule of an op that is a NumPy function of its operands."""

    def rule(frame: Frame, op: Op) -> Results:
        return (compute(*frame.arrays(op)),)

    return rule


def filled(dtype: AnyDType, shape: Sequence[int], value: float) -> Array:
    """Return a tile of one value; f8e8m0fnu has no zero and uses its least value instead."""
    # The NumPy type would round 0 to NaN.
    if dtype is f8e8m0fnu and value == 0:
        return np.zeros(tuple(shape), np.uint8).view(dtype.np)
    return np.full(tuple(shape), value, dtype.np)
