"""Plans as text: what is fused, what is kept, in which loops."""

from __future__ import annotations

import pytest

from support import plans
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan, print_plan

NAMES = ("add", "softmax", "gemm", "layouts", "in_place", "several", "others")


@pytest.mark.parametrize("name", NAMES)
def test_plans(name, golden):
    golden(print_plan(build_plan(getattr(plans, name)(), AVX2)))
