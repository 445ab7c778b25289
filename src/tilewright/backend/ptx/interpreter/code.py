"""The steps of a kernel: instructions that run without a branch, and what ends them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ....base.tables import merged
from . import accesses, atomics, control, conversions, floats, integers, moves, warps
from .control import End
from .layout import Layout
from .parser import BRANCHES
from .program import Function, Guard, Instr, Module, PtxError
from .threads import Threads
from .values import Action, Array, Lanes, Maker, UndefinedError, unknown

RULES: Mapping[str, Maker] = MappingProxyType(
    merged({
        "integers": integers.RULES, "floats": floats.RULES, "conversions": conversions.RULES,
        "moves": moves.RULES, "accesses": accesses.RULES, "atomics": atomics.RULES,
    })
)  # fmt: skip
"""Instructions by the first word of their names."""
ENDS = re.compile(r"(bra|brx|ret|exit|trap|call|bar|barrier|shfl|vote|match|redux)\b.*")
"""Instructions after which a step ends: threads go elsewhere, or wait for others."""


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction, and what it does."""

    instr: Instr
    act: Action

    def run(self, threads: Threads, lanes: Lanes) -> None:
        """Run it on threads, those that its guard chooses."""
        guard = self.instr.guard
        if guard is not None:
            lanes = chosen(threads, lanes, guard)
            if not len(lanes):
                return
        self.act(threads, lanes)


def chosen(threads: Threads, lanes: Lanes, guard: Guard) -> Array:
    """Return the threads for which a guard holds."""
    holds = threads.read(guard.register, lanes) != guard.negated
    taken: Array = threads.numbers(lanes)[holds]
    return taken


@dataclass(slots=True)
class Step:
    """Instructions that run one after the other."""

    number: int
    lines: list[Line] = field(default_factory=list[Line])
    last: Instr | None = None
    end: End | None = None

    def run(self, threads: Threads, lanes: Lanes) -> None:
        """Run the step on the threads that are at it, and advance them."""
        instr = None
        try:
            for line in self.lines:
                instr = line.instr
                line.run(threads, lanes)
        except UndefinedError as error:
            raise _explained(error, threads, lanes, instr) from None
        self.finish(threads, lanes)

    def finish(self, threads: Threads, lanes: Lanes) -> None:
        """Let threads that have run all instructions continue, or wait."""
        assert self.end is not None, "a step has an end"
        try:
            self.end(threads, lanes)
        except UndefinedError as error:
            raise _explained(error, threads, lanes, self.last) from None


def _explained(
    error: UndefinedError, threads: Threads, lanes: Lanes, instr: Instr | None
) -> PtxError:
    guarded = instr is not None and instr.guard is not None
    if error.which is None or guarded:
        return PtxError(f"{instr}: {error}")
    thread = int(threads.numbers(lanes)[error.which])
    return PtxError(f"{instr}, {threads.described(thread)}: {error}")


class Code:
    """A kernel and the functions that it calls, as steps that are numbered through."""

    def __init__(self, module: Module, entry: str) -> None:
        found = module.functions.get(entry)
        if found is None or not found.is_entry:
            raise PtxError(f"there is no kernel {entry}")
        self.entry = found
        self.layout = Layout(module, found)
        self.steps: list[Step] = []
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

    def _split(self, function: Function) -> None:
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

    def _new_step(self) -> Step:
        made = Step(len(self.steps))
        self.steps.append(made)
        return made

    def _join(self, function: Function) -> None:
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

    def _action(self, instr: Instr) -> Action:
        make = RULES.get(instr.opcode.split(".")[0])
        if make is None:
            unknown(instr)
        return make(self.layout, instr)

    def _end(self, function: Function, number: int, instr: Instr) -> End:
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
        make = warps.ENDS.get(word)
        if make is None or instr.guard is not None:
            unknown(instr)
        return make(self.layout, instr, number)

    def call_at(self, number: int) -> tuple[str, Instr]:
        """Return the call that ends a step, and the function that it is in."""
        last = self.steps[number].last
        assert last is not None, "a step that calls ends in the call"
        return max((s, name) for name, s in self.starts.items() if s <= number)[1], last

    def _step(self, function: Function, label: str) -> int:
        if (function.name, label) not in self._labels:
            raise PtxError(f"{function.name} has no label {label}")
        return self._labels[function.name, label]


def _nothing(threads: Threads, lanes: Lanes) -> None:
    raise AssertionError("an instruction that was not decoded")
