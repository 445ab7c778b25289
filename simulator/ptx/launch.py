"""A launch: the steps of a kernel, parameters as the driver has them, blocks a few at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from tilewright.ir.opdef import merged

from . import accesses, arithmetic, control
from .control import End
from .memory import MemorySegment, PtxLayout, PtxMemory
from .program import BRANCHES, Guard, PtxError, PtxFunction, PtxInstr, PtxModule
from .threads import Index, PtxLaunch, PtxThreads
from .values import Action, Array, Lanes, Maker, UndefinedPtxError, unknown

# --- the steps of a kernel ---------------------------------------------------------------------

RULES: Mapping[str, Maker] = MappingProxyType(
    merged({"arithmetic": arithmetic.RULES, "accesses": accesses.RULES})
)
"""Instructions by the first word of their names."""
ENDS = re.compile(r"(bra|brx|ret|exit|trap|call|bar|barrier|shfl|vote|match|redux)\b.*")
"""Instructions after which a step ends: threads go elsewhere, or wait for others."""


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction, and what it does."""

    instr: PtxInstr
    act: Action

    def run(self, threads: PtxThreads, lanes: Lanes) -> None:
        """Run it on threads, those that its guard chooses."""
        guard = self.instr.guard
        if guard is not None:
            lanes = chosen(threads, lanes, guard)
            if not len(lanes):
                return
        self.act(threads, lanes)


def chosen(threads: PtxThreads, lanes: Lanes, guard: Guard) -> Array:
    """Return the threads for which a guard holds."""
    holds = threads.read(guard.register, lanes) != guard.negated
    taken: Array = threads.numbers(lanes)[holds]
    return taken


@dataclass(slots=True)
class PtxStep:
    """Instructions that run one after the other."""

    number: int
    lines: list[Line] = field(default_factory=list[Line])
    last: PtxInstr | None = None
    end: End | None = None

    def run(self, threads: PtxThreads, lanes: Lanes) -> None:
        """Run the step on the threads that are at it, and advance them."""
        instr = None
        try:
            for line in self.lines:
                instr = line.instr
                line.run(threads, lanes)
        except UndefinedPtxError as error:
            raise _explained(error, threads, lanes, instr) from None
        self.finish(threads, lanes)

    def finish(self, threads: PtxThreads, lanes: Lanes) -> None:
        """Let threads that have run all instructions continue, or wait."""
        assert self.end is not None, "a step has an end"
        try:
            self.end(threads, lanes)
        except UndefinedPtxError as error:
            raise _explained(error, threads, lanes, self.last) from None


def _explained(
    error: UndefinedPtxError, threads: PtxThreads, lanes: Lanes, instr: PtxInstr | None
) -> PtxError:
    guarded = instr is not None and instr.guard is not None
    if error.which is None or guarded:
        return PtxError(f"{instr}: {error}")
    thread = int(threads.numbers(lanes)[error.which])
    return PtxError(f"{instr}, {threads.described(thread)}: {error}")


class PtxCode:
    """A kernel and the functions that it calls, as steps that are numbered through."""

    def __init__(self, module: PtxModule, entry: str) -> None:
        found = module.functions.get(entry)
        if found is None or not found.is_entry:
            raise PtxError(f"there is no kernel {entry}")
        self.entry = found
        self.layout = PtxLayout(module, found)
        self.steps: list[PtxStep] = []
        self.starts: dict[str, int] = {}
        self._labels: dict[tuple[str, str], int] = {}
        functions = [f for f in module.functions.values() if not f.is_entry or f is found]
        for function in functions:
            self._split(function)
        for function in functions:
            self.layout.function = function
            self._join(function)
        self.start = self.starts[entry]
        self.registers = module.registers

    def _split(self, function: PtxFunction) -> None:
        """Number the steps of a function, and find which one each label names."""
        self.starts[function.name] = len(self.steps)
        at = set(function.labels.values())
        step = self._new_step()
        for number, instr in enumerate(function.code):
            if number in at and step.lines:
                step = self._new_step()
            for label, place in function.labels.items():
                if place == number:
                    self._labels[function.name, label] = step.number
            step.lines.append(Line(instr, _nothing))
            if ENDS.fullmatch(instr.opcode):
                step = self._new_step()
        for label, place in function.labels.items():
            if place == len(function.code):
                self._labels[function.name, label] = step.number

    def _new_step(self) -> PtxStep:
        made = PtxStep(len(self.steps))
        self.steps.append(made)
        return made

    def _join(self, function: PtxFunction) -> None:
        """Build the steps of instructions."""
        later = [start for start in self.starts.values() if start > self.starts[function.name]]
        stop = min(later, default=len(self.steps))
        for step in self.steps[self.starts[function.name] : stop]:
            lines, step.lines = step.lines, []
            for line in lines:
                if ENDS.fullmatch(line.instr.opcode):
                    step.last = line.instr
                    step.end = self._end(function, step.number, line.instr)
                else:
                    step.lines.append(Line(line.instr, self._action(line.instr)))
            if step.end is None:
                is_last = step.number + 1 == stop
                step.end = control.falls_off() if is_last else control.jump(step.number + 1)

    def _action(self, instr: PtxInstr) -> Action:
        make = RULES.get(instr.opcode.split(".")[0])
        if make is None:
            unknown(instr)
        return make(self.layout, instr)

    def _end(self, function: PtxFunction, number: int, instr: PtxInstr) -> End:
        word = instr.opcode.split(".")[0]
        if instr.opcode in BRANCHES:
            return control.branch(instr, self._step(function, instr.targets[0]), number + 1)
        if instr.opcode == "brx.idx":
            table = function.tables[instr.targets[0]]
            steps = [self._step(function, label) for label in table]
            return control.indexed(self.layout, instr, steps)
        if word == "call":
            called = self.layout.module.functions.get(instr.targets[0])
            if called is None:
                raise PtxError(f"{instr}: {instr.targets[0]} is not there")
            return control.call(self.layout, instr, called, self.starts[called.name], number)
        if instr.opcode == "ret":
            return control.leave(function, instr, number + 1)
        if instr.opcode in ("exit", "trap"):
            return control.stop(instr, number + 1)
        make = control.ENDS.get(word)
        if make is None or instr.guard is not None:
            unknown(instr)
        return make(self.layout, instr, number)

    def call_at(self, number: int) -> tuple[str, PtxInstr]:
        """Return the call that ends a step, and the function that it is in."""
        last = self.steps[number].last
        assert last is not None, "a step that calls ends in the call"
        return max((s, name) for name, s in self.starts.items() if s <= number)[1], last

    def _step(self, function: PtxFunction, label: str) -> int:
        if (function.name, label) not in self._labels:
            raise PtxError(f"{function.name} has no label {label}")
        return self._labels[function.name, label]


def _nothing(threads: PtxThreads, lanes: Lanes) -> None:
    raise AssertionError("an instruction that was not decoded")


# --- A launch ----------------------------------------------------------------------------------

AT_ONCE = 1 << 13
"""Threads that run together; more take longer for each instruction, fewer run it more often."""
MOST_THREADS = 1024
MOST_BYTES = 1 << 26
"""Of the memory that blocks share, in all blocks that run together."""
POISONED = 0xCB


def run(
    code: PtxCode,
    parameters: Sequence[int],
    grid: Index,
    block: Index,
    memory: PtxMemory,
    *,
    dynamic: int = 0,
    seed: int = 0,
) -> None:
    """Run all blocks of a grid, in an order drawn from `seed`.

    A parameter is the 64-bit word at its address, of which it takes as many bytes as it has.
    `dynamic` bytes of shared memory were asked for. Behaviour that PTX leaves undefined raises
    PtxError, as do races in shared memory.
    """
    entry = code.entry
    if entry.required_block not in (None, block):
        raise PtxError(f"{entry.name} has blocks of {entry.required_block}, not {block}")
    if not 0 < int(np.prod(block)) <= MOST_THREADS:
        raise PtxError(f"a block of {block} threads")
    params = _packed(code, parameters)
    whole = memory.with_statics(_statics(code))
    rng = np.random.default_rng(seed)
    launch = PtxLaunch(code, whole, params, grid, block, dynamic, rng)
    order = rng.permutation(int(np.prod(grid)))
    together = _together(launch)
    # Overflow, division by zero and NaN are ordinary results here.
    with np.errstate(all="ignore"):
        for start in range(0, len(order), together):
            PtxThreads(launch, _places(order[start : start + together], grid)).run()


def _together(launch: PtxLaunch) -> int:
    """Return the number of blocks that run together."""
    shared = launch.layout.shared_end + launch.dynamic
    return max(1, min(AT_ONCE // int(np.prod(launch.block)), MOST_BYTES // shared))


def _packed(code: PtxCode, parameters: Sequence[int]) -> bytes:
    """Return the parameters of a kernel in memory, each at its place."""
    params = code.entry.params
    if len(parameters) != len(params):
        raise PtxError(
            f"{code.entry.name} has {len(params)} parameters, {len(parameters)} were given"
        )
    places = [code.layout.kernel_params[each.name] for each in params]
    made = bytearray(places[-1].start + places[-1].nbytes if places else 0)
    for word, place in zip(parameters, places, strict=True):
        raw = (word & ((1 << 64) - 1)).to_bytes(8, "little")
        made[place.start : place.start + place.nbytes] = raw[: place.nbytes]
    return bytes(made)


def _statics(code: PtxCode) -> list[MemorySegment]:
    """Return the variables of a module."""
    found: list[MemorySegment] = []
    for address, variable in code.layout.statics:
        initial = variable.initial or bytes(variable.nbytes)
        room = -(-len(initial) // 16) * 16
        data = np.frombuffer(initial.ljust(room, bytes([POISONED])), np.uint8).copy()
        found.append(MemorySegment(address, data[: len(initial)]))
    return found


def _places(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], grid: Index) -> np.ndarray[
    tuple[int, int], np.dtype[np.int64]
]:  # fmt: skip
    """Return the indices of blocks from their numbers; x runs fastest."""
    x, y, _ = grid
    return np.stack([numbers % x, numbers // x % y, numbers // (x * y)], axis=1)
