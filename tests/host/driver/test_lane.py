from __future__ import annotations

import pytest

from tilewright.driver.lane import ISSUED, OVER, UNPUT, Lane


@pytest.fixture
def lane():
    lane = Lane()
    for number in range(1, 5):
        lane.flights[number] = object()
        lane.words[ISSUED] = number
        lane.words[UNPUT] += 1
    return lane


@pytest.mark.parametrize(
    ("ended", "over"),
    [((), 0), ((1,), 1), ((2,), 0), ((2, 1), 2), ((4, 3, 2), 0), ((3, 1, 2, 4), 4)],
)
def test_those_before_the_first_that_is_under_way_are_over(lane, ended, over):
    for number in ended:
        lane.end(number)
    assert lane.words[OVER] == over


def test_what_is_put_is_counted(lane):
    lane.put()
    assert lane.words[UNPUT] == 3


def test_what_is_over_when_it_is_put(lane):
    lane.land(1)
    assert lane.words[UNPUT] == 3 and lane.words[OVER] == 1
    lane.land(3)
    assert lane.words[UNPUT] == 2 and lane.words[OVER] == 1


def test_memory_finds_lanes_by_their_address(lane):
    assert Lane.by_address[lane.address] is lane
