"""Runs kernels with every check that was taken out of them put back, to see whether one would fail.

A check that is proved, or made at launch, must hold in each launch that is not refused, in every
block, iteration and thread: whatever else fails there, and whether or not anything is accessed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any
from unittest.mock import patch

import numpy as np

from support.indexing import TooLongError, counting
from tilewright.analysis.bounds.check_placement import OUTSIDE, decide
from tilewright.backend.reference.interpreter import RULES, run
from tilewright.backend.reference.machine import Frame, Rule
from tilewright.ir.core import Func, Op, Placement
from tilewright.ir.launch_expr import LaunchCheck, LaunchFacts
from tilewright.ir.printer import print_func
from tilewright.launch.report import refusal


@dataclass
class Launch:
    """One launch: arrays and scalars in parameter order, and the grid as launches give it."""

    arguments: Sequence[Any]
    facts: LaunchFacts
    grid: tuple[int, ...]


@dataclass
class Tally:
    """What was replayed: launches, those that were refused, and checks by where they went."""

    kernels: int = 0
    launches: int = 0
    refused: int = 0
    checks: dict[Placement, int] = field(default_factory=dict[Placement, int])
    replayed: int = 0


def _replaying(outside: Collection[Op], wrong: list[str], tally: Tally) -> Rule:
    def rule(frame: Frame, op: Op) -> tuple[Any, ...]:
        index, extent = (int(a) for a in frame.arrays(op))
        inside = 0 <= index < extent
        if op in outside:
            tally.replayed += 1
            if not inside:
                wrong.append(f"line {op.span.line if op.span else 0}: {index} of {extent}"
                             f" in block {frame.block}")  # fmt: skip
        return (np.asarray(inside),)

    return rule


def replay(func: Func, launches: Sequence[Launch], tally: Tally) -> None:
    """Fail if a check that was taken out of a kernel fails in a launch that is accepted."""
    decisions = decide(func)
    tally.kernels += 1
    for d in decisions:
        tally.checks[d.placement] = tally.checks.get(d.placement, 0) + 1
    outside = {d.op for d in decisions if d.placement in OUTSIDE}
    asked: list[LaunchCheck] = [*func.launch_checks, *(c for d in decisions for c in d.launch)]
    for launch in launches:
        tally.launches += 1
        if not prod(launch.grid) or refusal(asked, launch.facts) is not None:
            tally.refused += 1
            continue
        wrong: list[str] = []
        rule = _replaying(outside, wrong, tally)
        patched = {"check": rule, "check_index": rule, "continue": counting(RULES["continue"])}
        try:
            with patch.dict(RULES, patched):
                run(func, launch.arguments, launch.grid, seed=0)
        except TooLongError:
            pass  # what was run is replayed
        assert not wrong, f"{wrong[0]}, with {launch.facts}\n{print_func(func)}"


Draw = Callable[[random.Random], tuple[Func, Callable[[random.Random], Launch]]]


def campaign(draw: Draw, seed: int, kernels: int, launches: int) -> Tally:
    """Replay many kernels, each in many launches."""
    tally = Tally()
    for number in range(seed, seed + kernels):
        rng = random.Random(number)
        func, launch = draw(rng)
        try:
            replay(func, _accepted(func, rng, launch, launches), tally)
        except AssertionError as error:
            raise AssertionError(f"seed {number}: {error}") from error
    return tally


def _accepted(
    func: Func, rng: random.Random, launch: Callable[[random.Random], Launch], count: int
) -> list[Launch]:
    """Launches that meet what the kernel asks for, where that is not too rare."""
    drawn = [launch(rng) for _ in range(12 * count)]
    met = [each for each in drawn if refusal(func.launch_checks, each.facts) is None]
    return met[:count]
