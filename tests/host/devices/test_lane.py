from __future__ import annotations

import pytest

from tilewright._core import note_submitted, reserve
from tilewright.devices.lane import ISSUED, LATEST, LISTED, OVER, UNPUT, Lane, Lanes


@pytest.fixture
def lane():
    lane = Lane()
    for number in range(1, 5):
        lane.flights[number] = object()
        lane.words[ISSUED] = number
        lane.words[UNPUT] += 1
    lane.words[LISTED] = 1
    return lane


@pytest.mark.parametrize(
    ("ended", "over"),
    [((), 0), ((1,), 1), ((2,), 0), ((2, 1), 2), ((4, 3, 2), 0), ((3, 1, 2, 4), 4)],
)
def test_those_before_the_first_that_is_under_way_are_over(lane, ended, over):
    for number in ended:
        lane.end(number)
    assert lane.words[OVER] == over


def put(lane):
    note_submitted(lane.address)


def test_what_is_put_is_counted(lane):
    put(lane)
    assert lane.words[UNPUT] == 3


def test_what_was_ended_before_is_no_error(lane):
    lane.end(1)
    lane.end(1)
    assert lane.words[OVER] == 1


def test_the_last_one_that_is_listed_is_known():
    lane = Lane()
    issued(lane, False)
    assert lane.words[LATEST] == 0
    issued(lane, True, True, False)
    assert lane.words[LATEST] == 3


def test_memory_finds_lanes_by_their_address(lane):
    assert Lane.by_address[lane.address] is lane


def issued(lane, *listed):
    """Give numbers out, to work that is listed or not."""
    for is_listed in listed:
        number = reserve(b"", 0, 0, lane.address, is_listed)
        if is_listed:
            lane.flights[number] = object()


def test_what_is_not_listed_is_over_when_the_stream_has_passed_it():
    lane = Lane()
    issued(lane, False, False, True, False)
    assert lane.all_put() is None
    for _ in range(4):
        put(lane)
    assert lane.all_put() == 4 and lane.words[OVER] == 0
    lane.passed(1)
    assert lane.words[OVER] == 1
    lane.passed(4)
    assert lane.words[OVER] == 2, "the third is listed"
    lane.end(3)
    assert lane.words[OVER] == 4
    issued(lane, False)
    lane.passed(4)
    assert lane.words[OVER] == 4


def test_what_is_listed_says_by_itself_that_it_is_over():
    lane = Lane()
    issued(lane, True, False)
    put(lane)
    lane.end(1)
    assert lane.words[OVER] == 1
    lane.passed(2)
    assert lane.words[OVER] == 2


def test_a_lane_whose_stream_is_gone():
    assert Lane().stream is None


def test_a_new_stream_goes_on_with_the_lane_of_one_that_is_gone():
    lanes = Lanes()
    first = lanes.take()
    issued(first, False, False)
    first.words[UNPUT] = 0
    lanes.give_back(first)
    second = lanes.take()
    assert second is first
    assert second.words[OVER] == second.words[ISSUED] == 2  # what memory has noted is over
    issued(second, False)
    assert second.words[ISSUED] == 3 and second.words[OVER] == 2
    assert lanes.take() is not second


def test_a_lane_with_work_that_somebody_must_know_of_is_not_taken(lane):
    lanes = Lanes()
    for ended in ((1, 2, 3), (4,)):
        lanes.give_back(lane)
        assert lanes.take() is not lane
        for number in ended:
            lane.end(number)
    for _ in range(4):
        put(lane)
    lanes.give_back(lane)
    assert lanes.take() is lane
