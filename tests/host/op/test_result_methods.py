"""An op's methods that are its result's: what they call, with what, and what they are called."""

from __future__ import annotations

import pytest

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
