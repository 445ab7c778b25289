"""The order of mapped tiles: every tile once, whatever the counts and the groups."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

from support import tiers
from tilewright.base.shapes import INTEGERS, OWNED, Numbers, grid_of, largest_step, tile_index

ARRAYS: Numbers[np.ndarray] = Numbers(
    constant=np.asarray,
    add=np.add,
    subtract=np.subtract,
    multiply=np.multiply,
    divide=np.floor_divide,
    least=np.minimum,
)
"""All numbers of a launch at once."""

LONGEST = tiers.count(quick=4, full=6)
WIDEST = tiers.count(quick=3, full=4)


def grids(rank):
    """The numbers of tiles of every shape up to LONGEST along each axis in tiles up to WIDEST."""
    shapes = product(range(1, LONGEST + 1), repeat=rank)
    tiles = list(product(range(1, WIDEST + 1), repeat=rank))
    return sorted({grid_of(shape, tile) for shape in shapes for tile in tiles})


def maps(rank):
    """Every map shape: owned axes, and groups from one tile to more than there are."""
    return [m for m in product(range(LONGEST + 2), repeat=rank) if any(m)]


def in_order(counts, groups):
    """The tiles as the definition says: groups in rows, and the tiles of each in rows."""
    firsts = product(*[range(0, n, g) for n, g in zip(counts, groups, strict=True)])
    return [
        index
        for first in firsts
        for index in product(*[range(f, min(f + g, n))
                               for f, g, n in zip(first, groups, counts, strict=True)])
    ]  # fmt: skip


def indices(counts, groups):
    numbers = np.arange(prod(counts))
    found = tile_index(numbers, [np.asarray(n) for n in counts], groups, ARRAYS)
    return np.stack([np.broadcast_to(part, numbers.shape) for part in found], 1)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_tile_is_visited_once_and_in_order(rank):
    for grid in grids(rank):
        for groups in maps(rank):
            walked = [k for k, group in enumerate(groups) if group != OWNED]
            counts = tuple(grid[k] for k in walked)
            wide = tuple(groups[k] for k in walked)
            found = [tuple(index) for index in indices(counts, wide).tolist()]
            assert found == in_order(counts, wide), (counts, wide)


@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 216, 300])
def test_every_tile_has_one_block(blocks):
    """Block b visits the numbers b, b + blocks, ...; more blocks than tiles leave some idle."""
    for counts in [(1, 1, 1), (2, 3, 5), (6, 6, 6), (6, 1, 4)]:
        total = prod(counts)
        for groups in product((1, 2, 4, 7), repeat=3):
            owners = np.full(counts, -1)
            for block in range(min(blocks, total)):
                for number in range(block, total, blocks):
                    at = tile_index(number, counts, groups, INTEGERS)
                    assert owners[at] == -1, f"{at} belongs to {owners[at]} and {block}"
                    owners[at] = block
            assert (owners >= 0).all()


def test_four_axes():
    counts, groups = (3, 2, 5, 4), (2, 1, 3, 3)
    assert [tuple(i) for i in indices(counts, groups).tolist()] == in_order(counts, groups)


def test_groups_of_rows_go_column_by_column():
    found = indices((5, 3), (2, 1)).tolist()
    assert found[:6] == [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]
    assert found[-3:] == [[4, 0], [4, 1], [4, 2]]


def test_no_number_on_the_way_is_larger_than_said():
    seen: list[int] = []

    def noted(a, b):
        seen.append(int(np.max(np.multiply(a, b))))
        return np.multiply(a, b)

    watched = Numbers(np.asarray, np.add, np.subtract, noted, np.floor_divide, np.minimum)
    for counts in product((1, 3, 5), repeat=3):
        for groups in product((1, 2, 4, 9), repeat=3):
            seen.clear()
            numbers = np.arange(prod(counts))
            tile_index(numbers, [np.asarray(n) for n in counts], groups, watched)
            assert max(seen, default=0) <= largest_step(counts, groups)
