"""An op's methods that are its result's: what they call, with what, and what they are called."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.op.core import DeviceOp, value


class Asked:
    """A result that tells which method was called, and with what."""

    def __init__(self, gives_ops):
        self.gives_ops = gives_ops

    def __getattr__(self, method):
        if method.startswith("_"):
            raise AttributeError(method)

        def called(*args):
            told = (method, args)
            return value(told) if self.gives_ops else told

        return called


FORWARDED = [
    ("unwrap_arc", (), "unwrap_arc", ()),
    ("partition", ((2, 3),), "partition", ((2, 3),)),
    ("try_partition", ((2, 3),), "try_partition", ((2, 3),)),
    ("unpartition", (), "unpartition", ()),
    ("reshape", ((6,),), "into_shape", ((6,),)),
    ("view", ((6,),), "view", ((6,),)),
    ("slice", (slice(1, 4), 2), "slice", (slice(1, 4), 2)),
    ("reinterpret", ("i32",), "into_type", ("i32", None)),
    ("reinterpret", ("i32", (7,)), "into_type", ("i32", (7,))),
]
FOLLOWED = [("dup", (), "dup", ()), ("to", ("cpu",), "to", ("cpu",))]
FETCHED = [
    ("to_numpy", (), "copy_to_host", ()),
    ("to_host_vec", (), "to_host_vec", ()),
    ("item", (), "copy_item", ()),
]


def made(gives_ops, name, args):
    return getattr(value(Asked(gives_ops)), name)(*args)


@pytest.mark.parametrize(("name", "args", "method", "given"), FORWARDED)
def test_what_the_method_returns_is_the_result(name, args, method, given):
    op = made(False, name, args)
    assert op.name == f"value.{name}"
    assert op.sync() == (method, given)


@pytest.mark.parametrize(("name", "args", "method", "given"), FOLLOWED + FETCHED)
def test_the_op_that_the_method_returns_is_run(name, args, method, given):
    op = made(True, name, args)
    assert op.name == f"value.{name}"
    assert op.sync() == (method, given)


@pytest.mark.parametrize("row", FORWARDED + FOLLOWED + FETCHED, ids=lambda row: row[0])
def test_what_is_fetched_is_host_data(row):
    assert made(True, *row[:2]).host_data is (row in FETCHED)


def test_users_write_execute_alone():
    assert DeviceOp.__abstractmethods__ == {"execute"}


@pytest.mark.parametrize("method", ["partition", "reshape", "dup", "to_numpy", "unwrap_arc"])
def test_a_result_that_has_no_such_method_is_named(method):
    args = {"partition": ((2,),), "reshape": ((2,),)}.get(method, ())
    with pytest.raises(
        TypeError, match=f"`{method}` does not apply to the result of this op, an int"
    ):
        getattr(value(1), method)(*args).sync()


def test_several_results_have_no_methods():
    with pytest.raises(TypeError, match="`dup` is called with the 2 results"):
        value((1, 2)).dup().sync()


def test_errors_of_the_method_are_its_own():
    class Failing:
        def dup(self):
            raise AttributeError("something else")

    with pytest.raises(AttributeError, match="something else"):
        value(Failing()).dup().sync()


def test_an_op_that_gives_a_partition_takes_a_map_shape():
    with tw.device("reference"):
        mapped = tw.zeros((8, 8)).partition((4, 2)).map((2, 1), 3)
        assert mapped.name == "zeros.partition.map"
        found = mapped.sync()
        assert (found.mapping.groups, found.mapping.num_tile_blocks) == ((2, 1), 3)
        again = tw.zeros((8,)).sync().partition((4,))
        assert value(again).map([1]).sync().mapping.groups == (1,)
    with pytest.raises(TypeError, match=r"an int; it takes a function, or a map shape where"):
        value(1).map((2, 1)).sync()


def test_one_of_several_results_is_unwrapped():
    with tw.device("reference"):
        one, other = tw.zip(tw.ones((2,)), tw.ones((3,)).shared()).unzip()
        assert one.unwrap_arc().sync().shape == (2,)
        with pytest.raises(tw.BorrowError, match="the only owner"):
            other.unwrap_arc().sync()
