from __future__ import annotations

import pytest

import tilewright as tw
from op_kit import Effect, Failing, Give, HostData
from tilewright.base.errors import BorrowError
from tilewright.devices.host import REFERENCE
from tilewright.op.core import DeviceOp, as_op, value
from tilewright.op.zipping import zip


def test_ops_and_values_together():
    assert zip(Give(1), 2, value("c")).sync() == (1, 2, "c")
    assert zip().sync() == ()
    assert zip(zip(1, 2), 3).sync() == ((1, 2), 3)


def test_results_arrive_as_separate_arguments():
    assert zip(1, Give(2)).map(lambda a, b: a + b).sync() == 3
    assert zip(1, zip(2, 3)).map(lambda a, b: (a, b)).sync() == (1, (2, 3))


def test_parts_run_in_order_and_an_error_stops_them():
    last = Give(1)
    with pytest.raises(ValueError, match="no"):
        zip(Give(1), Failing(), last).sync()
    assert last.ran == []


def test_zipping_uses_its_parts():
    op = Give(1)
    zip(op, 2).close()
    with pytest.raises(BorrowError, match="already used by `zip`"):
        op.sync()


def test_one_op_cannot_be_two_parts():
    op = Give(1)
    with pytest.raises(BorrowError, match="already used by `zip`"):
        zip(op, op)


def test_what_a_zip_has_of_its_parts():
    class Home(Give):
        home = REFERENCE

    assert zip(1, Home()).home is REFERENCE
    assert zip(1, HostData()).host_data
    op = zip(1, Effect())
    assert op.effect
    op.close()


def test_as_op():
    op = Give(1)
    assert as_op(op) is op
    assert isinstance(as_op(3), DeviceOp)
    assert as_op([3]).sync() == [3]


def test_the_word():
    assert tw.zip.__wrapped__ is zip
    assert "zip" not in tw.__all__
