"""Objects list in `dir` what users use, and every name of the list is there."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.base.showing import Listed


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


def objects():
    t = tw.zeros((4,)).sync()
    ops = tw.zeros((4,)), tw.ones((4,)).shared()
    return [t, t.borrow_mut(), t.partition_mut(2), t.partition_mut(2).map(1), tw.Arc(t), *ops]


def test_names_of_the_list_alone_are_listed():
    for each in objects():
        public = {name for name in dir(each) if not name.startswith("_")}
        bases = type(each).__mro__
        assert public == {n for base in bases for n in vars(base).get("LISTED", "").split()}
        assert "__class__" in dir(each)
        assert all(hasattr(each, name) for name in public - {"T"})
    assert "partition_mut" in dir(objects()[0])
    assert {"settle", "sum", "region"}.isdisjoint(dir(objects()[0]))
    assert {"sync", "then"} <= {*dir(tw.zeros((4,)))} and "execute" not in dir(tw.zeros((4,)))


def test_lists_of_bases_count():
    class One(Listed):
        LISTED = "b a"

    class Two(One):
        LISTED = "c"

        def other(self):
            """Is not in the list."""

    assert [name for name in dir(Two()) if name < "_" or name > "`"] == ["a", "b", "c"]
