"""Runs random programs on a device beside the model, and shrinks those that fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

import tilewright as tw
from order.drawing import LAUNCHES, LENGTHS, TENSORS, Draw
from order.kernels import Array, Kernel, new_kernels
from order.steps import LENGTH, Step, World

RENEWED = 400
"""Programs after which kernels are made anew: how a launch is made may depend on how often."""
TRACED = 25
"""One program in so many is traced, which takes other paths."""
ATTEMPTS = 25
"""Runs after which a program that failed once counts as one that does not."""


class Bench:
    """Runs programs on one device."""

    def __init__(
        self,
        device: Any,
        lengths: tuple[int, ...] = LENGTHS,
        drawn: tuple[str, ...] = LAUNCHES,
    ) -> None:
        """`drawn` are the kernels that programs launch, the more often the more often named."""
        self.device, self.lengths, self.drawn = device, lengths, drawn
        self.devices = 1
        """How many devices programs use; more than one only where there are so many."""
        self.kernels: dict[str, Kernel] = {}
        self._run = 0

    def draw(self, seed: int) -> list[Step]:
        """The program of a seed."""
        return Draw(seed, self.lengths, self.drawn, self.devices).program()

    def run(self, steps: Sequence[Step]) -> Exception | None:
        """Run a program; what went wrong, if anything did."""
        if self._run % RENEWED == 0:
            self.kernels = new_kernels()
        self._run += 1
        traced = tw.trace() if self._run % TRACED == 0 else nullcontext()
        with tw.device(self.device) as device, traced:
            world = World(device, self.kernels, start_values())
            try:
                for step in steps:
                    step.run(world)
                    step.model(world.model, world.kernels)
                world.check_all()
            except Exception as error:
                return error
        return None

    def shrunk(self, steps: Sequence[Step], error: Exception) -> list[Step]:
        """The fewest steps found that still fail in the same way."""
        kind = type(error)

        def fails(candidate: Sequence[Step]) -> bool:
            return any(type(self.run(candidate)) is kind for _ in range(ATTEMPTS))

        return minimized(list(steps), fails)

    def told(self, seed: int, steps: Sequence[Step], error: Exception) -> str:
        """A failure in words, with the shortest program that shows it."""
        lines = [f"seed {seed}: {type(error).__name__}: {error}"]
        lines += [f"  {step}" for step in self.shrunk(steps, error)]
        return "\n".join(lines)

    def try_all(self, seeds: Iterable[int], passed: Callable[[], None] = lambda: None) -> list[str]:
        """Run the programs of some seeds; what failed, in words."""
        failures: list[str] = []
        for seed in seeds:
            steps = self.draw(seed)
            error = self.run(steps)
            if error is not None:
                failures.append(self.told(seed, steps, error))
                if len(failures) >= 5:
                    break
            passed()
        return failures


def minimized(steps: list[Step], fails: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """Delta debugging: leave out halves, quarters, ... single steps, as long as it still fails."""
    size = max(len(steps) // 2, 1)
    while True:
        start = 0
        while start < len(steps):
            candidate = steps[:start] + steps[start + size :]
            if candidate and fails(candidate):
                steps = candidate
            else:
                start += size
        if size == 1:
            return steps
        size //= 2


def start_values() -> list[Array]:
    """What the tensors hold at first: numbers that no step gives by chance."""
    rng = np.random.default_rng(random.Random(LENGTH).randrange(1 << 30))
    return [rng.integers(-(1 << 31), 1 << 31, LENGTH).astype(np.int32) for _ in range(TENSORS)]
