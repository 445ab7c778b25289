"""Random kernels: what check placement takes out of a kernel never lets a failure pass.

A check that was taken out is replayed with its index wherever control gets to it; it never fails.

Each kernel runs as it is, with all its checks, and again as check placement leaves it, alone and
with all other passes. Where the first fails the others fail too, at launch or in the kernel. Where
it does not, the launch is refused only if index arithmetic would wrap, and writes the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.indexing import TOO_LONG, Ended, Maker, arguments, launched
from support.ir import Kernel
from support.recipes import draw_tiles
from support.replay import campaign
from support.thread_recipes import draw_threads
from tilewright.analysis.bounds import check_placement
from tilewright.analysis.bounds.check_placement import decide
from tilewright.base.dtypes import f32
from tilewright.compile.pipeline import PASSES
from tilewright.ir.attrs import Predicate, ThreadCoordinate
from tilewright.ir.core import Func, Placement
from tilewright.ir.launch_expr import leaves
from tilewright.ir.printer import print_func
from tilewright.ir.signature import TensorSpec
from tilewright.ir.types import TensorType
from tilewright.ir.verify import verify
from tilewright.passes.bounds_checks import prove_checks

KERNELS = 120
LAUNCHES = 5


def passed(func: Func, passes: Sequence[object]) -> Func:
    for run_pass in passes:
        func = run_pass(func)
    verify(func, "passes")
    return func


def agree(forced: Ended, placed: Ended) -> bool:
    """Whether a launch ended as it must, given how it ended with all checks in the kernel."""
    if TOO_LONG in (forced.how, placed.how):
        return True
    if forced.how == "failed":
        return placed.how != "ok"
    return placed == forced or (forced.how == "ok" and "wraps around" in placed.how)


@pytest.mark.parametrize("passes", [(prove_checks,), PASSES], ids=["proofs", "all"])
def test_no_failure_passes_and_no_launch_is_refused_for_nothing(passes):
    seed = random.randrange(2**31)
    print(f"kernels from seed {seed}")
    for number in range(seed, seed + KERNELS):
        rng = random.Random(number)
        func = Maker(rng).func()
        placed = passed(func, passes)
        for args in [arguments(rng) for _ in range(LAUNCHES)]:
            forced, found = launched(func, args), launched(placed, args)
            assert agree(forced, found), (
                f"seed {number}: {args}: {forced.how}, then {found.how}\n{print_func(func)}"
            )


def test_the_kernels_drawn_use_every_stage_and_end_in_every_way():
    placements: set[Placement] = set()
    ends: set[str] = set()
    for number in range(60):
        rng = random.Random(number)
        func = Maker(rng).func()
        placements.update(o.placement for o in prove_checks(func).obligations)
        ends.add(launched(func, arguments(rng)).how)
    assert placements == {Placement.PROVED, Placement.AT_LAUNCH, Placement.IN_PLACE}
    assert ends == {"ok", "failed", "believed"}


@pytest.mark.parametrize("draw", [draw_tiles, draw_threads])
def test_no_check_that_was_taken_out_would_have_failed(draw, request):
    """`--proofs 20000 --seed fresh` looks longer."""
    kernels = request.config.getoption("--proofs")
    tally = campaign(draw, random.randrange(2**31), kernels, LAUNCHES)
    print(tally)
    assert set(tally.checks) == {Placement.PROVED, Placement.AT_LAUNCH, Placement.IN_PLACE}
    assert tally.checks[Placement.PROVED] > kernels / 10
    assert tally.replayed > kernels


# --- conditions on the grid -----------------------------------------------------------------------


def by_thread(*, guarded: bool):
    """The decision about x[block * size + thread], in a branch that keeps it below the length."""
    k = Kernel()
    k.specs.append(TensorSpec("x", f32, (None,), (1,)))
    x = k._param("x", TensorType(f32, (None,), (1,), False, "x"))
    block, size, thread = (
        k.emit("place", what=what, axis=0)
        for what in (ThreadCoordinate.BLOCK, ThreadCoordinate.BLOCK_SIZE, ThreadCoordinate.THREAD)
    )
    index = k.emit("addi", k.emit("muli", block, size), thread)
    length = k.emit("length", x)
    cond = k.emit("cmpi", index, length, predicate=Predicate.LT) if guarded else k.true()
    regions = []
    for arm in range(2):
        with k.region() as region:
            if not arm:
                k.emit("check_index", index, length, slice="x")
            k.op("yield")
        regions.append(region)
    k.op("if", cond, regions=tuple(regions), types=())
    func = k.finish()
    (found,) = decide(replace(func, signature=replace(func.signature, block=(128,))))
    return found


def test_numbers_of_threads_that_wrap_in_large_grids_alone_are_asked_of_the_launch():
    found = by_thread(guarded=True)
    assert found.placement is Placement.AT_LAUNCH
    fits = ("le", ("mul", ("grid_dim", 0), ("const", 128)), ("const", 2**31))
    assert [check.expr for check in found.launch] == [fits]
    assert all(check.of_blocks for check in found.launch)
    assert "wraps around" in found.launch[0].message


def test_too_many_conditions_on_the_grid_are_not_asked(monkeypatch):
    """Each is dropped in turn, which takes a decision of all checks; so their number is limited."""
    monkeypatch.setattr(check_placement, "MOST_ASKED", 0)
    assert by_thread(guarded=True).placement is Placement.IN_PLACE


def test_numbers_of_threads_without_a_guard_are_compared_with_the_length():
    found = by_thread(guarded=False)
    assert found.placement is Placement.AT_LAUNCH
    assert ("extent", "x", 0) not in [leaf for c in found.launch for leaf in leaves(c.expr)]
    assert ("length", "x") in [leaf for c in found.launch for leaf in leaves(c.expr)]
