"""Plans that break their own rules are refused."""

from __future__ import annotations

import pytest

from support.plans import AVX2, gemm, softmax
from tilewright.backend.cpu.loopnest import InvalidPlan, build_plan, verify_plan
from tilewright.backend.cpu.loopnest.nodes import Matmul, Nest, ReadBuffer, buffers_of, walk
from tilewright.base.dtypes import f16, f64


def nests(plan):
    return [s for s in walk(plan.body) if isinstance(s, Nest)]


def test_good_plans_pass():
    verify_plan(build_plan(softmax(), AVX2))
    verify_plan(build_plan(gemm(f16), AVX2))


def test_lanes_must_divide():
    plan = build_plan(softmax(), AVX2)
    nests(plan)[0].lanes = 3
    with pytest.raises(InvalidPlan, match="lanes"):
        verify_plan(plan)


def test_registers_must_be_set_first():
    plan = build_plan(softmax(), AVX2)
    nests(plan)[1].reads.reverse()
    with pytest.raises(InvalidPlan, match="before it is set"):
        verify_plan(plan)


def test_loops_must_be_the_nest_s_own():
    plan = build_plan(softmax(), AVX2)
    first, second, *_ = nests(plan)
    second.loops = first.loops
    with pytest.raises(InvalidPlan, match="foreign"):
        verify_plan(plan)


def test_indices_must_fit_their_buffers():
    plan = build_plan(softmax(), AVX2)
    read = next(r for n in nests(plan) for r in n.reads if isinstance(r, ReadBuffer))
    read.index = (*read.index, ())
    with pytest.raises(InvalidPlan):
        verify_plan(plan)


def test_live_buffers_must_not_overlap():
    plan = build_plan(softmax(), AVX2)
    for buffer in buffers_of(plan):
        plan.offsets[buffer] = 0
    with pytest.raises(InvalidPlan, match="overlap"):
        verify_plan(plan)


def test_products_must_fit():
    plan = build_plan(gemm(f16), AVX2)
    step = next(s for s in walk(plan.body) if isinstance(s, Matmul))
    step.lhs, step.result = step.result, step.lhs
    with pytest.raises(InvalidPlan, match="inner extents"):
        verify_plan(plan)
    step.lhs.elem = f64
    with pytest.raises(InvalidPlan, match="mixed"):
        verify_plan(plan)
