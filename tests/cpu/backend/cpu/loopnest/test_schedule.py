"""Schedules keep the meaning of programs: random ones over tiles, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from support import tiers
from support.ir import Kernel, checked
from support.native import Dense, Native, narrowed
from support.numbers import fresh_rng
from support.products import GRID, PRODUCTS, product_program
from support.tiles import tile_arguments, tile_program
from tilewright.backend.reference.interpreter import run
from tilewright.ir.printer import print_func


@pytest.mark.parametrize("kernel", [Dense, Kernel])
def test_random_programs_over_tiles(kernel):
    for seed in map(int, fresh_rng().integers(0, 2**31, tiers.count(quick=10, full=40))):
        func = tile_program(seed, kernel)
        ours, theirs = tile_arguments(seed), tile_arguments(seed)
        report, expected = Native(func)(ours, (1, 1, 1)), run(func, theirs, (1, 1, 1))
        same = all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
        assert same, f"seed {seed}\n{print_func(func)}"
        assert shown(report) == shown(expected), f"seed {seed}"


@pytest.mark.thinned(4)
@pytest.mark.parametrize(("element", "sums"), PRODUCTS, ids=str)
def test_random_chains_of_products(element, sums):
    """In wide vectors and narrow ones, which have panels of other widths."""
    for seed in map(int, fresh_rng().integers(0, 2**31, tiers.count(quick=2, full=24))):
        func, ours = product_program(seed, element, sums)
        theirs = [a.copy() for a in ours]
        assert Native(func, narrowed() if seed % 2 else None)(ours, GRID).failure is None
        checked(func, theirs, GRID)
        same = all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
        assert same, f"seed {seed}\n{print_func(func)}"


def shown(report):
    return [[v.tolist() for v in record.values] for record in report.printed]
