from __future__ import annotations

import pytest

from tilewright._core import note_submitted, reserve
from tilewright.devices.timeline import (
    ISSUED,
    LATEST,
    LISTED,
    OVER,
    UNSUBMITTED,
    Timeline,
    Timelines,
)


@pytest.fixture
def timeline():
    timeline = Timeline()
    for number in range(1, 5):
        timeline.pending[number] = object()
        timeline.words[ISSUED] = number
        timeline.words[UNSUBMITTED] += 1
    timeline.words[LISTED] = 1
    return timeline


@pytest.mark.parametrize(
    ("ended", "over"),
    [((), 0), ((1,), 1), ((2,), 0), ((2, 1), 2), ((4, 3, 2), 0), ((3, 1, 2, 4), 4)],
)
def test_those_before_the_first_that_is_under_way_are_over(timeline, ended, over):
    for number in ended:
        timeline.end(number)
    assert timeline.words[OVER] == over


def put(timeline):
    note_submitted(timeline.address)


def test_what_is_put_is_counted(timeline):
    put(timeline)
    assert timeline.words[UNSUBMITTED] == 3


def test_what_was_ended_before_is_no_error(timeline):
    timeline.end(1)
    timeline.end(1)
    assert timeline.words[OVER] == 1


def test_the_last_one_that_is_listed_is_known():
    timeline = Timeline()
    issued(timeline, False)
    assert timeline.words[LATEST] == 0
    issued(timeline, True, True, False)
    assert timeline.words[LATEST] == 3


def test_memory_finds_lanes_by_their_address(timeline):
    assert Timeline.by_address[timeline.address] is timeline


def issued(timeline, *listed):
    """Give numbers out, to work that is listed or not."""
    for is_listed in listed:
        number = reserve(b"", 0, 0, timeline.address, is_listed)
        if is_listed:
            timeline.pending[number] = object()


def test_what_is_not_listed_is_over_when_the_stream_has_passed_it():
    timeline = Timeline()
    issued(timeline, False, False, True, False)
    assert timeline.all_submitted() is None
    for _ in range(4):
        put(timeline)
    assert timeline.all_submitted() == 4 and timeline.words[OVER] == 0
    timeline.passed(1)
    assert timeline.words[OVER] == 1
    timeline.passed(4)
    assert timeline.words[OVER] == 2, "the third is listed"
    timeline.end(3)
    assert timeline.words[OVER] == 4
    issued(timeline, False)
    timeline.passed(4)
    assert timeline.words[OVER] == 4


def test_what_is_listed_says_by_itself_that_it_is_over():
    timeline = Timeline()
    issued(timeline, True, False)
    put(timeline)
    timeline.end(1)
    assert timeline.words[OVER] == 1
    timeline.passed(2)
    assert timeline.words[OVER] == 2


def test_a_lane_whose_stream_is_gone():
    assert Timeline().stream is None


def test_a_new_stream_goes_on_with_the_lane_of_one_that_is_gone():
    timelines = Timelines()
    first = timelines.take()
    issued(first, False, False)
    first.words[UNSUBMITTED] = 0
    timelines.give_back(first)
    second = timelines.take()
    assert second is first
    assert second.words[OVER] == second.words[ISSUED] == 2  # what memory has noted is over
    issued(second, False)
    assert second.words[ISSUED] == 3 and second.words[OVER] == 2
    assert timelines.take() is not second


def test_a_lane_with_work_that_somebody_must_know_of_is_not_taken(timeline):
    timelines = Timelines()
    for ended in ((1, 2, 3), (4,)):
        timelines.give_back(timeline)
        assert timelines.take() is not timeline
        for number in ended:
            timeline.end(number)
    for _ in range(4):
        put(timeline)
    timelines.give_back(timeline)
    assert timelines.take() is timeline
