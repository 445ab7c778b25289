from __future__ import annotations

import gc
import sys

import pytest

from tilewright.base.threads import NEVER, TURN, begin_lengthy_work, end_lengthy_work

MIDDLE, FULL, INTERVAL = 10, 7, 4e-3


def settings():
    return gc.get_threshold()[2], sys.getswitchinterval()


@pytest.fixture(autouse=True)
def before():
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(700, MIDDLE, FULL)
    sys.setswitchinterval(INTERVAL)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


def test_collections_are_deferred_and_turns_are_short_until_all_is_done():
    one, other = begin_lengthy_work(), begin_lengthy_work()
    assert settings() == (NEVER, TURN) and gc.isenabled()
    end_lengthy_work(one)
    assert settings() == (NEVER, TURN)
    end_lengthy_work(other)
    assert settings() == (FULL, INTERVAL)


def test_objects_do_not_age_while_there_are_temporaries():
    outer = begin_lengthy_work()
    assert gc.get_threshold() == (700, MIDDLE, NEVER)
    one, other = begin_lengthy_work(temporaries=True), begin_lengthy_work(temporaries=True)
    assert gc.get_threshold() == (700, NEVER, NEVER)
    end_lengthy_work(other)
    assert gc.get_threshold() == (700, NEVER, NEVER)
    end_lengthy_work(one)
    assert gc.get_threshold() == (700, MIDDLE, NEVER)
    end_lengthy_work(outer)
    assert gc.get_threshold() == (700, MIDDLE, FULL)


def test_work_that_was_dropped_is_done():
    begin_lengthy_work()
    end_lengthy_work(begin_lengthy_work())
    assert settings() == (FULL, INTERVAL)


def test_work_with_temporaries_that_was_dropped_is_done():
    begin_lengthy_work(temporaries=True)
    end_lengthy_work(begin_lengthy_work())
    assert gc.get_threshold() == (700, MIDDLE, FULL)


@pytest.mark.parametrize("temporaries", [False, True])
def test_what_a_program_sets_meanwhile_stays(temporaries):
    mine = begin_lengthy_work(temporaries=temporaries)
    gc.set_threshold(500, 5, 5)
    sys.setswitchinterval(2e-3)
    end_lengthy_work(mine)
    assert gc.get_threshold() == (500, 5, 5) and sys.getswitchinterval() == 2e-3
    end_lengthy_work(begin_lengthy_work())
    assert settings() == (5, 2e-3)


@pytest.mark.parametrize("interval", [TURN, TURN / 10])
def test_turns_as_short_as_that_stay(interval):
    sys.setswitchinterval(interval)
    interval = sys.getswitchinterval()  # rounded to what Python keeps
    mine = begin_lengthy_work()
    assert settings() == (NEVER, interval)
    end_lengthy_work(mine)
    assert settings() == (FULL, interval)
