"""The corpus of bad indices: where forced checks stop a launch placed ones do, and only there.

The one thing that may be refused for nothing is index arithmetic that wraps around and comes back.
"""

from __future__ import annotations

import random

import pytest

import tilewright as tw
from support import tiers
from support.corpus import BODIES, LAUNCHES, kernel, launches, outcome

WRAPS = "wraps around"

ALWAYS = "index out of range in every launch"
"""What the compiler says where no block could do without failing, also if there is none."""

CATEGORIES = {
    "negative indices": ("index: negated block", "index: negated number", "loop: shifted below"),
    "wrapped indices": ("index: wrapped product", "index: wrapped sum", "threads: wrapped"),
    "zero divisors": ("index: divided by zero", "index: remainder by zero",
                      "index: zero divisor, moved"),
    "permuted axes, the wrong equality declared": ("view: permuted, wrong equality",
                                                   "view: permuted, wrong axis"),
    "stepped loops": ("loop: steps of 2", "loop: steps of 2, and beside",
                      "loop: steps of a number", "threads: in turn"),
    "conditional accesses": ("branch: data", "branch: number", "branch: early return",
                             "branch: both in words", "mapped: tile below number"),
    "reassigned index or partition": ("loop: reassigned", "view: swapped", "view: reassigned"),
    "indices from data": ("index: data", "loop: while data", "threads: data", "nested: at data"),
    "prefix grids": ("prefix: block", "prefix: past the grid", "prefix: like"),
    "mapped schedules": ("mapped: tile", "rows: tile, turned", "within: tile less first"),
    "permuted partitions": ("view: permuted", "view: permuted, right equality"),
    "nested partitions": ("nested: own parts", "nested: at a number", "nested: read back"),
    "gather and scatter": ("picked: rows of data", "picked: rows of a number",
                           "chosen: rows of data", "chosen: rows in a loop"),
    "elements of slices": ("threads: own", "threads: next", "threads: promised wrongly"),
}  # fmt: skip
"""What there are probes for. Empty and ragged extents are among the launches of each of them."""


def test_there_are_enough_probes_of_every_kind():
    assert len(BODIES) >= 80
    assert all(name in BODIES for names in CATEGORIES.values() for name in names)
    assert any(a.x == 0 for a in LAUNCHES)
    assert any(a.z == 0 for a in LAUNCHES)
    assert any(a.x % 4 for a in LAUNCHES)


@pytest.mark.thinned(12)
@pytest.mark.parametrize("name", BODIES)
def test_placed_checks_stop_what_forced_ones_stop(device, name):
    probe = kernel(name)
    with tw.device(device):
        for arguments in launches(name)[:: 1 if device == "cpu" else 3]:
            forced = outcome(name, probe, arguments, checks="forced")
            for checks in ("placed", "pinned"):
                found = outcome(name, probe, arguments, checks=checks)
                if forced.error:
                    assert found.error, (checks, arguments)
                elif ALWAYS in found.error:
                    assert arguments.z == 0, (checks, arguments)
                elif WRAPS not in found.error:
                    assert found == forced, (checks, arguments)


def test_a_kernel_launched_before_ends_as_a_new_one_does():
    """What was compiled and found out for other extents says nothing of these."""
    names = random.sample([*BODIES], tiers.count(quick=5, full=12))
    for name in names:
        known = kernel(name)
        several = [*launches(name)]
        random.shuffle(several)
        with tw.device("reference"):
            for arguments in several:
                again, new = (outcome(name, k, arguments) for k in (known, kernel(name)))
                assert again.written == new.written, (name, arguments)
                # Which block is the first to fail is for nobody to say.
                assert bool(again.error) == bool(new.error), (name, arguments)


def test_where_checks_go(golden):
    lines = []
    for name in BODIES:
        probe = kernel(name)
        with tw.device("reference"):
            found = outcome(name, probe, LAUNCHES[0], checks="placed")
        counts = "refused by the compiler" if ALWAYS in found.error else probe.checks()
        lines.append(f"{name:38} {counts}")
    golden("\n".join(lines))
