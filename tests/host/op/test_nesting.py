from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.op.nesting import RECORDERS


def test_the_message_of_a_read_inside_a_capture(golden, places):
    with tw.device("reference"):
        x = tw.ones((4,)).sync()
        op = tw.value(1).map(lambda _: x.to_numpy())
        with pytest.raises(tw.DeviceError) as caught:
            op.graph()
    golden(places(caught.value))
    assert not RECORDERS
