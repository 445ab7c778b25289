"""The NumPy interpreter that defines the language: it runs blocks and their threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from ...base.dtypes import round_tf32, tf32
from ...base.errors import ShapeError
from ...base.stage import Stage
from ...ir.artifact import Artifact, Failure, Printed, reporting_ops, sites_of
from ...ir.attrs import WARP_SIZE
from ...ir.core import Func, Op, Value
from ...ir.opdef import Effect, merged
from ...ir.ops.simt import DYNAMIC_SHARED, SHARED, SYNC_THREADS
from ...ir.types import TensorType, TileType
from . import control, elementwise, layout, matmul, memory, reduction, simt
from .floating import Array
from .machine import (
    Data,
    Debugger,
    Frame,
    Jump,
    ReferenceLaunch,
    Results,
    Rule,
    Steps,
    TensorData,
    hearing,
)
from .simt import TOGETHER
from .storage import LaunchMemory, Member, SharedMemory
from .watch import Actor, EnoughError, Recorder, Watch, place_of

# -------------------------------------------------------------------------------------------------
# Arguments of a launch as data of parameters and their memory.


def bind(func: Func, arguments: Sequence[Any]) -> tuple[dict[Value, Data], list[Member]]:
    """Return the data of each parameter, and the arrays among the arguments."""
    if len(arguments) != len(func.params):
        raise ShapeError(
            f"{func.name}: wrong number of arguments",
            expected=str(len(func.params)),
            got=str(len(arguments)),
        )
    data: dict[Value, Data] = {}
    members: list[Member] = []
    for spec, param, argument in zip(func.signature.params, func.params, arguments, strict=True):
        data[param] = _datum(spec.name, param, argument)
        if _is_array(argument) and not _is_scalar(param):
            members.append(Member(spec.name, argument))
    return data, members


def _is_array(argument: object) -> TypeGuard[Array]:
    return isinstance(argument, np.ndarray)


def _is_scalar(param: Value) -> bool:
    return isinstance(param.type, TileType) and not param.type.is_pointer


def _datum(name: str, param: Value, argument: Any) -> Data:
    if isinstance(param.type, TensorType):
        return _tensor(name, param.type, argument)
    if _is_scalar(param):
        return _scalar(param.tile, argument)
    # An array given for a pointer stands for the address of its first element.
    address = argument.ctypes.data if _is_array(argument) else int(argument)
    return np.asarray(address, np.int64)


def _scalar(kind: TileType, argument: Any) -> Array:
    scalar = np.asarray(argument, kind.dtype.np).reshape(())
    return round_tf32(scalar) if kind.dtype is tf32 else scalar


def _tensor(name: str, kind: TensorType, argument: Any) -> TensorData:
    if not _is_array(argument):
        raise ShapeError(f"{name}: expected an array", got=type(argument).__name__)
    _need(argument.dtype == kind.dtype.np, name, f"elements {kind.dtype.np}", f"{argument.dtype}")
    _need(_fits(kind, argument), name, str(kind), _show(argument))
    _need(argument.flags.writeable or not kind.mutable, name, "a writable array", "a read-only one")
    return TensorData(argument.ctypes.data, argument.shape, argument.strides)


def _fits(kind: TensorType, array: Array) -> bool:
    """Return whether an array has the rank, the static extents and the static strides of a type."""
    if array.ndim != kind.rank:
        return False
    extents = zip(array.shape, kind.shape, strict=True)
    # The stride of an axis of one element may be any number in NumPy.
    walked = zip(array.shape, array.strides, kind.strides, strict=True) if array.size else ()
    return all(known in (None, n) for n, known in extents) and all(
        n == 1 or known is None or known * array.itemsize == stride for n, stride, known in walked
    )


def _show(array: Array) -> str:
    return f"shape {array.shape}, strides {array.strides} bytes"


def _need(ok: bool, name: str, expected: str, got: str) -> None:
    if not ok:
        raise ShapeError(f"argument {name} does not fit its parameter", expected=expected, got=got)


# -------------------------------------------------------------------------------------------------
# Scheduling of a block's threads from barrier to barrier, in a random order.
#
# A thread runs to the next op at which threads synchronize. Once all threads are there, or have
# returned, the waiting lanes of a warp go on, or the block does. If none can go on, not all threads
# reach the barrier; that is reported, and the block is abandoned.


def has_teams(launch: ReferenceLaunch) -> bool:
    """Return whether the threads of a block have anything to do with each other."""
    return any(
        op.defn.effects & Effect.SYNC or op.is_a(SHARED, DYNAMIC_SHARED)
        for op in launch.func.walk()
    )


@dataclass(eq=False, slots=True)
class _Thread:
    """A thread: what it does, the op it waits at, and what it gets there."""

    number: int
    frame: Frame
    steps: Generator[Op, Results, Jump]
    waits: Op | None = None
    answer: Results | None = None
    done: bool = False
    hears: Callable[[Op, Steps], bool] | None = None
    """What a debugger makes of each step."""

    @property
    def lane(self) -> int:
        return self.number % WARP_SIZE

    def go(self, team: _Team) -> None:
        """Run to the next op at which threads synchronize, or to the end.

        If a debugger takes over it runs to the end, and at such an op the others run above it.
        """
        self.frame.launch.memory.watch.resume(self.frame.actor)
        if self.hears is None and self.frame.launch.debugger is not None:
            self.hears = hearing(self.frame, partial(team.wait, self))
        try:
            answer, self.answer, self.waits = self.answer, None, None
            op = next(self.steps) if answer is None else self.steps.send(answer)
            while self.hears is not None and self.hears(op, self.steps):
                op = next(self.steps)
            self.waits = op
        except StopIteration:
            self.done = True


def run_team(
    launch: ReferenceLaunch,
    number: int,
    place: tuple[int, ...],
    values: Mapping[Value, Data],
    rng: np.random.Generator,
) -> None:
    """Run one block; its threads are numbered from `number` on, x fastest."""
    team = _Team(launch, number, place, values, rng)
    team.ready = team.shuffled(team.threads)
    team.run(None)


@dataclass(slots=True)
class _Team:
    """The threads of a block."""

    launch: ReferenceLaunch
    number: int
    place: tuple[int, ...]
    values: Mapping[Value, Data]
    rng: np.random.Generator
    threads: list[_Thread] = field(default_factory=list[_Thread])
    ready: list[_Thread] = field(default_factory=list[_Thread])
    """Those that can go on; the last one is next."""

    def __post_init__(self) -> None:
        dims, shared = self.launch.func.signature.block_dims, SharedMemory()
        for k in range(prod(dims)):
            thread = (k % dims[0], k // dims[0] % dims[1], k // (dims[0] * dims[1]))
            actor = Actor(self.place, thread, k // WARP_SIZE)
            frame = Frame(
                self.launch, self.number + k, self.place, dict(self.values), thread, shared, actor
            )
            steps = frame.steps(self.launch.func.body)
            self.threads.append(_Thread(k, frame, steps))

    def run(self, until: _Thread | None) -> None:
        """Run threads until one of them can go on, or until all is over."""
        while self.launch.failure is None:
            if not self.ready:
                self.ready = self.shuffled(self.meet())
            if not self.ready:
                return
            if until in self.ready:
                self.ready.remove(until)
                return
            self.ready.pop().go(self)

    def shuffled(self, threads: Sequence[_Thread]) -> list[_Thread]:
        """Return threads in a random order."""
        return [threads[k] for k in self.rng.permutation(len(threads)).tolist()]

    def wait(self, thread: _Thread, op: Op) -> Results | None:
        """Let others run until a thread can go on behind an op; return its results."""
        thread.waits = op
        self.run(thread)
        answer, thread.answer, thread.waits = thread.answer, None, None
        self.launch.memory.watch.resume(thread.frame.actor)
        return answer

    def meet(self) -> list[_Thread]:
        """Return the threads that can continue, with their results; none if all have ended."""
        waiting = [t for t in self.threads if not t.done]
        going = self.warps(waiting)
        if going or not waiting:
            return going
        if len({t.waits for t in waiting}) > 1 or not _is_barrier(waiting[0]):
            self.stuck(waiting)
            return []
        for thread in waiting:
            blocks, warps = thread.frame.actor.epoch
            thread.frame.actor.epoch = blocks + 1, warps
            thread.answer = ()
        return waiting

    def warps(self, waiting: Sequence[_Thread]) -> list[_Thread]:
        """Return the lanes that can continue because their whole warp waits at the same op."""
        groups: dict[tuple[int, Op], list[_Thread]] = defaultdict(list)
        alive: dict[int, set[int]] = defaultdict(set)
        for t in waiting:
            assert t.waits is not None, "a thread that goes on waits for something"
            groups[t.number // WARP_SIZE, t.waits].append(t)
            alive[t.number // WARP_SIZE].add(t.lane)
        going: list[_Thread] = []
        for (warp, op), group in groups.items():
            if op.name in TOGETHER and self.is_complete(op, group, alive[warp]):
                answers = TOGETHER[op.name](op, {t.lane: t.frame for t in group})
                for t in group:
                    t.answer = answers[t.lane]
                going += group
        return going

    def is_complete(self, op: Op, group: Sequence[_Thread], alive: set[int]) -> bool:
        """Return whether all lanes are here that each of these waits for."""
        mask, here = op.maybe("mask"), {t.lane for t in group}
        if mask is None:
            return alive <= here
        masks = {t.frame.integer(mask) for t in group}
        for t in group:
            if not t.frame.integer(mask) >> t.lane & 1:
                t.frame.launch.memory.watch.resume(t.frame.actor)
                text = "a warp operation by a lane that its mask excludes, by"
                t.frame.launch.memory.watch.complain("mask", op, text)
        return all(k in here for m in masks for k in alive if m >> k & 1)

    def stuck(self, waiting: Sequence[_Thread]) -> None:
        """Report that threads wait for each other at different places."""
        first = waiting[0]
        assert first.waits is not None, "it waits"
        other = next((t for t in waiting if t.waits is not first.waits), None)
        watch = self.launch.memory.watch
        watch.resume(first.frame.actor)
        rest = "others are not there"
        if other is not None and other.waits is not None:
            rest = f"{other.frame.actor.text} waits at {place_of(other.waits)}"
        watch.complain(
            "stuck",
            first.waits,
            f"threads that never reach the same barrier: {rest}; waited for by",
        )


def _is_barrier(thread: _Thread) -> bool:
    return thread.waits is not None and thread.waits.is_a(SYNC_THREADS)


# -------------------------------------------------------------------------------------------------
# The interpreter: it runs IR as it is, one small rule per op.

FAMILIES: dict[str, dict[str, Rule]] = {
    "elementwise": elementwise.RULES,
    "layout": layout.RULES,
    "reduction": reduction.RULES,
    "matmul": matmul.RULES,
    "memory": memory.RULES,
    "control": control.RULES,
    "simt": simt.RULES,
}

RULES: dict[str, Rule] = merged(FAMILIES)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report of a run: the first failure, prints in block order, problems found.

    A problem is a mistake that a compiled kernel need not notice: an access outside the arguments,
    a race between blocks, a read of unwritten memory. `seed` repeats a block order.
    """

    failure: Failure | None
    printed: tuple[Printed, ...]
    problems: tuple[str, ...]
    seed: int


def stages() -> tuple[Stage, ...]:
    """Return the step from typed IR to an artifact, which is the IR itself."""
    return (Stage("interpret", _interpretable, lambda artifact: f"{artifact.name}\n"),)


def _interpretable(func: Func) -> Artifact:
    return Artifact(
        func.name, "reference", func.signature, func, func.launch_checks, sites_of(func),
        decisions=(f"interpreted with {len(RULES)} rules",),
    )  # fmt: skip


def run(
    func: Func,
    arguments: Sequence[Any],
    grid: Sequence[int],
    *,
    seed: int | None = None,
    uninitialized: frozenset[str] = frozenset(),
    reachable: Sequence[Array] = (),
    blocks: Iterable[int] | None = None,
    recorder: Recorder | None = None,
    debugger: Debugger | None = None,
) -> Outcome:
    """Run a kernel on arrays (written in place), scalars and addresses, in parameter order.

    Blocks, or the threads of a SIMT kernel, run in an order drawn from `seed`: one after the other,
    or, where threads synchronize, from one barrier to the next.
    The grid of a SIMT kernel is given with its x axis last. `uninitialized` names parameters
    whose elements must be written before they are read, and are poisoned if they never are;
    `reachable` are arrays that pointers may reach besides the arguments. An array may be given for
    a pointer. With `blocks`, only those run, in that order; `recorder` receives all accesses, and
    may end the run; `debugger` runs the blocks, or the threads, which come in order then.
    """
    values, members = bind(func, arguments)
    if unknown := uninitialized - {spec.name for spec in func.signature.params}:
        raise ShapeError(f"{func.name} has no parameter {', '.join(sorted(unknown))}")
    extra = [Member(f"reachable[{i}]", array) for i, array in enumerate(reachable)]
    watch = Watch()
    storage = LaunchMemory([*members, *extra], watch, recorder)
    storage.forget(uninitialized)
    sites = dict(zip(reporting_ops(func), sites_of(func), strict=True))
    launch = ReferenceLaunch(func, _full_grid(func, grid), storage, RULES, sites, debugger)
    if debugger is not None and blocks is None:
        blocks = range(prod(launch.grid))
    seed = _fresh_seed() if seed is None else seed
    # Overflow, division by zero and NaN are ordinary results here.
    with np.errstate(all="ignore"), suppress(EnoughError):
        run_all = _run_blocks if func.signature.block is None else _run_threads
        run_all(launch, values, np.random.default_rng(seed), blocks)
    storage.poison(uninitialized)
    printed = sorted(launch.printed, key=lambda record: record[0])
    return Outcome(
        launch.failure, tuple(p for _, p in printed), tuple(watch.problems.values()), seed
    )


def _full_grid(func: Func, grid: Sequence[int]) -> tuple[int, ...]:
    """Return the grid with as many axes as the kernel knows of."""
    given = tuple(int(n) for n in grid)
    return given + (1,) * (func.signature.grid_rank - len(given))


def _fresh_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])


Blocks: TypeAlias = "Iterable[int] | None"
"""Numbers of blocks, in the order in which they run; None for all, in a random order."""


def _run_blocks(
    launch: ReferenceLaunch, values: dict[Value, Data], rng: np.random.Generator, blocks: Blocks
) -> None:
    for number in _shuffled(prod(launch.grid), rng) if blocks is None else blocks:
        if launch.failure is not None:
            return
        block = _logical(number, launch.grid)
        launch.memory.watch.resume(Actor(block))
        Frame(launch, number, block, dict(values)).run(launch.func.body)


def _shuffled(count: int, rng: np.random.Generator) -> list[int]:
    order: list[int] = rng.permutation(count).tolist()
    return order


def _run_threads(
    launch: ReferenceLaunch, values: dict[Value, Data], rng: np.random.Generator, blocks: Blocks
) -> None:
    """Run the threads of a SIMT kernel: in any order, or block by block with barriers."""
    run_all = _run_teams if has_teams(launch) else _run_apart
    run_all(launch, values, rng, blocks)


def _run_teams(
    launch: ReferenceLaunch, values: dict[Value, Data], rng: np.random.Generator, blocks: Blocks
) -> None:
    simt = prod(launch.func.signature.block_dims)
    for number in _shuffled(prod(launch.grid), rng) if blocks is None else blocks:
        if launch.failure is not None:
            return
        place = tuple(reversed(_logical(number, launch.grid)))
        run_team(launch, number * simt, place, values, rng)


def _run_apart(
    launch: ReferenceLaunch, values: dict[Value, Data], rng: np.random.Generator, blocks: Blocks
) -> None:
    whole = (*launch.grid, *reversed(launch.func.signature.block_dims))
    simt = prod(launch.func.signature.block_dims)
    numbers: Iterable[int] = (
        _shuffled(prod(whole), rng)
        if blocks is None
        else (block * simt + k for block in blocks for k in range(simt))
    )
    for number in numbers:
        if launch.failure is not None:
            return
        x_first = tuple(reversed(_logical(number, whole)))
        thread, place = x_first[:3], x_first[3:]
        actor = Actor(place, thread)
        launch.memory.watch.resume(actor)
        Frame(launch, number, place, dict(values), thread, actor=actor).run(launch.func.body)


def _logical(number: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of a block from its linear number; the last axis varies fastest."""
    index: list[int] = []
    for n in reversed(grid):
        number, i = divmod(number, n)
        index.append(i)
    return tuple(reversed(index))
