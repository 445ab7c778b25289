from __future__ import annotations

import gc

import pytest

from tilewright.base.collecting import NEVER, put_off_collections, take_up_collections


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 7)
    yield
    gc.set_threshold(*before)


def test_full_collections_are_put_off_until_all_are_done():
    one, other = put_off_collections(), put_off_collections()
    assert gc.get_threshold() == (700, 10, NEVER) and gc.isenabled()
    take_up_collections(one)
    assert gc.get_threshold() == (700, 10, NEVER)
    take_up_collections(other)
    assert gc.get_threshold() == (700, 10, 7)


def test_who_is_gone_wants_nothing_any_more():
    put_off_collections()
    take_up_collections(put_off_collections())
    assert gc.get_threshold() == (700, 10, 7)


def test_what_a_program_sets_meanwhile_stays():
    mine = put_off_collections()
    gc.set_threshold(500, 5, 5)
    take_up_collections(mine)
    assert gc.get_threshold() == (500, 5, 5)
