"""Fetching ahead changes no result, and asks for no more than one line at a time."""

from __future__ import annotations

import numpy as np
import pytest

from support import plans
from support.ir import poisoned
from support.native import Native
from support.numbers import fresh_rng
from support.plans import AVX2
from tilewright.backend.cpu.emit import emit_module
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.base.dtypes import f32


def test_one_request_per_line():
    text = emit_module(build_plan(plans.softmax(), AVX2), AVX2)
    calls = [line for line in text.splitlines() if "call void @llvm.prefetch" in line]
    assert len(calls) == 3  # 16 lanes of f32: in whole tiles, inside edge tiles, and at the edge
    assert "llvm.prefetch" not in emit_module(build_plan(plans.add(), AVX2), AVX2)


@pytest.mark.parametrize("shape", [(1, 1), (7, 1023), (8, 1024), (9, 1000), (64, 1024)])
def test_the_last_block_has_no_next_one(shape):
    x = fresh_rng().standard_normal(shape).astype("f4")
    z = poisoned(f32, shape)
    Native(plans.softmax())([x, z], (-(-shape[0] // 8),))
    p = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(z, p / p.sum(axis=1, keepdims=True), rtol=2e-6)
