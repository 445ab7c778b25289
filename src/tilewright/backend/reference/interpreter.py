"""The NumPy interpreter that defines the language: runs IR as it is, one small rule per op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...base.errors import ShapeError
from ...base.stage import Stage
from ...base.tables import merged
from ...ir.artifact import Artifact, Failure, Printed
from ...ir.core import Func, Value
from ...ir.sites import reporting_ops, sites_of
from . import (
    arithmetic,
    atomics,
    bitwise,
    comparison,
    control,
    conversion,
    creation,
    debug,
    layout,
    math,
    matmul,
    memory,
    pointer,
    reduction,
    shared,
    slices,
    threads,
    token,
    warps,
)  # fmt: skip
from . import grid as grid_family
from .arguments import bind
from .exact import Array
from .machine import Data, Frame, Launch, Rule
from .storage import Member, Memory
from .teams import has_teams, run_team
from .watch import Actor, Watch

FAMILIES: dict[str, dict[str, Rule]] = {
    "control": control.RULES, "grid": grid_family.RULES, "creation": creation.RULES,
    "arithmetic": arithmetic.RULES, "math": math.RULES, "comparison": comparison.RULES,
    "bitwise": bitwise.RULES, "conversion": conversion.RULES, "layout": layout.RULES,
    "reduction": reduction.RULES, "matmul": matmul.RULES, "memory": memory.RULES,
    "pointer": pointer.RULES, "atomics": atomics.RULES, "debug": debug.RULES,
    "token": token.RULES, "threads": threads.RULES, "slices": slices.RULES,
    "shared": shared.RULES, "warps": warps.RULES,
}  # fmt: skip

RULES: dict[str, Rule] = merged(FAMILIES)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run reports: the first failure, the prints in block order, problems found.

    A problem is a mistake that a compiled kernel need not notice: an access outside the arguments,
    a race between blocks, a read of memory nobody wrote. `seed` gives the same block order again.
    """

    failure: Failure | None
    printed: tuple[Printed, ...]
    problems: tuple[str, ...]
    seed: int


def stages() -> tuple[Stage, ...]:
    """The step from typed IR to an artifact, which is the IR itself."""
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
) -> Outcome:
    """Run a kernel on arrays (written in place), scalars and addresses, in parameter order.

    Blocks, or the threads of a SIMT kernel, run in an order drawn from `seed`: one after the other,
    or, where threads meet, from one barrier to the next.
    The grid of a SIMT kernel is given with its x axis last. `uninitialized` names parameters
    whose elements must be written before they are read, and are poisoned if they never are;
    `reachable` are arrays that pointers may reach besides the arguments. An array may be given for
    a pointer.
    """
    values, members = bind(func, arguments)
    if unknown := uninitialized - {spec.name for spec in func.signature.params}:
        raise ShapeError(f"{func.name} has no parameter {', '.join(sorted(unknown))}")
    extra = [Member(f"reachable[{i}]", array) for i, array in enumerate(reachable)]
    watch = Watch()
    storage = Memory([*members, *extra], watch)
    storage.forget(uninitialized)
    sites = dict(zip(reporting_ops(func), sites_of(func), strict=True))
    launch = Launch(func, _full_grid(func, grid), storage, RULES, sites)
    seed = _fresh_seed() if seed is None else seed
    # Overflow, division by zero and NaN are ordinary results here.
    with np.errstate(all="ignore"):
        run_all = _run_blocks if func.signature.block is None else _run_threads
        run_all(launch, values, seed)
    storage.poison(uninitialized)
    printed = sorted(launch.printed, key=lambda record: record[0])
    return Outcome(
        launch.failure, tuple(p for _, p in printed), tuple(watch.problems.values()), seed
    )


def _full_grid(func: Func, grid: Sequence[int]) -> tuple[int, ...]:
    """The grid with as many axes as the kernel knows of."""
    given = tuple(int(n) for n in grid)
    return given + (1,) * (func.signature.grid_rank - len(given))


def _fresh_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])


def _run_blocks(launch: Launch, values: dict[Value, Data], seed: int) -> None:
    order: list[int] = np.random.default_rng(seed).permutation(prod(launch.grid)).tolist()
    for number in order:
        if launch.failure is not None:
            return
        block = _logical(number, launch.grid)
        launch.memory.watch.resume(Actor(block))
        Frame(launch, number, block, dict(values)).run(launch.func.body)


def _run_threads(launch: Launch, values: dict[Value, Data], seed: int) -> None:
    """The threads of a SIMT kernel: in any order at all, or block by block where they meet."""
    run_all = _run_teams if has_teams(launch) else _run_apart
    run_all(launch, values, np.random.default_rng(seed))


def _run_teams(launch: Launch, values: dict[Value, Data], rng: np.random.Generator) -> None:
    threads = prod(launch.func.signature.block_dims)
    for number in rng.permutation(prod(launch.grid)).tolist():
        if launch.failure is not None:
            return
        place = tuple(reversed(_logical(number, launch.grid)))
        run_team(launch, number * threads, place, values, rng)


def _run_apart(launch: Launch, values: dict[Value, Data], rng: np.random.Generator) -> None:
    whole = (*launch.grid, *reversed(launch.func.signature.block_dims))
    for number in rng.permutation(prod(whole)).tolist():
        if launch.failure is not None:
            return
        x_first = tuple(reversed(_logical(number, whole)))
        thread, place = x_first[:3], x_first[3:]
        actor = Actor(place, thread)
        launch.memory.watch.resume(actor)
        Frame(launch, number, place, dict(values), thread, actor=actor).run(launch.func.body)


def _logical(number: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a block from its linear number; the last axis varies fastest."""
    index: list[int] = []
    for n in reversed(grid):
        number, i = divmod(number, n)
        index.append(i)
    return tuple(reversed(index))
