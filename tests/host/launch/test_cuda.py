"""Grids of tile kernels as the driver launches them, and what these report."""

from __future__ import annotations

import pytest

from support.interrupts import MOST_POINTS, raise_at, raise_behind
from tilewright.base.cuda_abi import MAX_GRID
from tilewright.base.errors import LaunchError
from tilewright.base.shapes import size
from tilewright.launch.cuda import AskedLater, hardware_grid
from tilewright.launch.grid import is_folded
from tilewright.launch.report import Report

LONG = (1 << 31) - 1


@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 7, 3), MAX_GRID])
def test_a_grid_within_the_limits_is_launched_as_it_is(grid):
    assert not is_folded(grid)
    assert hardware_grid("k", grid, folded=False) == grid


@pytest.mark.parametrize(
    "grid", [(1, 65536, 1), (LONG, 1, 1), (2, 3, 4, 5), (1, 1, LONG), (LONG, 1000, 1000)]
)
def test_a_larger_one_is_folded_into_one_with_as_many_blocks(grid):
    assert is_folded(grid)
    found = hardware_grid("k", grid, folded=True)
    assert all(1 <= n <= most for n, most in zip(found, MAX_GRID, strict=True))
    assert size(found) >= size(grid)


def test_more_blocks_than_the_hardware_counts_are_refused():
    with pytest.raises(LaunchError, match="the grid of `k` is too large for this device") as caught:
        hardware_grid("k", (LONG, LONG, 1), folded=True)
    assert caught.value.expected == f"at most {size(MAX_GRID)} blocks in all"
    assert caught.value.got == str((LONG, LONG, 1))
    assert "larger tiles" in caught.value.hint


class Run:
    """Reads a record, which says something until it is used again."""

    def __init__(self):
        self.left, self.idle = "said", []

    def read(self, record):
        len(record)
        return Report(printed=(self.left,))

    def recycle(self, record):
        self.left = ""
        self.idle.append(record)


@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
def test_a_report_is_the_same_when_it_is_asked_for_again(interrupt):
    """Wherever an interrupt came; its record is used again at most once."""
    for point in range(1, MOST_POINTS):
        run = Run()
        asked = AskedLater(run, "record")
        is_over = not interrupt(point, asked)
        assert [asked().printed for _ in range(2)] == [("said",)] * 2, point
        assert run.idle in ([], ["record"]), point
        if is_over:
            break
    assert run.idle == ["record"] and 1 < point < MOST_POINTS - 1
