from __future__ import annotations

import pytest

from rule_kit import Kit
from tilewright.base.dtypes import i32
from tilewright.base.errors import Code


@pytest.mark.parametrize("bounds", [(3,), (0,), (1, 4), (1, 9, 3), (5, 0, -2)])
def test_a_static_range_is_pythons(bounds):
    assert Kit()("static_range", *bounds) == range(*bounds)


def test_its_bounds_are_constants():
    kit = Kit()
    error = kit.refused(Code.NOT_STATIC, "static_range", kit.tile(i32))
    assert error.message == "the stop of static_range must be a compile-time constant"
    kit.refused(Code.CALL, "static_range", 0, 4, 0)
