"""Blocks whose threads meet, against the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from support.teams import PLANES, TEAMS, Team, run_on
from tilewright import i32, simt

BLOCKS = (1, 31, 32, 33, 64, 1000, 1024)
FLAT = ((1, 1), (5, 3), (8, 8), (16, 16), (32, 4), (33, 2), (3, 33))


def same_as_reference(team: Team, n: int, block: int | tuple[int, int]) -> None:
    args = team.given(fresh_rng(), n)
    got, expected = (run_on(device, team, args, block) for device in ("cpu", "reference"))
    if team.tolerance:
        np.testing.assert_allclose(got, expected, rtol=team.tolerance, atol=team.tolerance)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("name", TEAMS)
def test_same_as_the_reference(name: str, block: int) -> None:
    # Of the largest blocks one is enough: the reference takes its time.
    same_as_reference(TEAMS[name], block + min(block, 40) if block < 100 else block - 3, block)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("block", FLAT)
@pytest.mark.parametrize("name", PLANES)
def test_same_as_the_reference_in_planes(name: str, block: tuple[int, int]) -> None:
    same_as_reference(PLANES[name], 11 * 7, block)


@simt.kernel(unsafe=True)
def own_lane(out: simt.DisjointSlice[i32]) -> None:
    """Each thread asks its own lane: the value that is shuffled is the lane number too."""
    i, t = simt.index_1d(), simt.thread_idx()
    found = simt.shuffle(t, t)
    if i < len(out):
        out[i] = found


def test_a_shuffle_by_its_own_value():
    with tw.device("cpu"), tw.unsafe():
        out = tw.full((32,), -1, i32).sync()
        own_lane(out.borrow_mut()).launch_config(block=32).sync()
        assert out.to_numpy().tolist() == list(range(32))
