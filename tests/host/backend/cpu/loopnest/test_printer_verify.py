"""Plans that break their own rules are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support import tiers
from support.numbers import fresh_rng
from support.plans import AVX2, AVX512, gemm, softmax
from support.products import PRODUCTS, product_program
from tilewright.backend.cpu.loopnest import InvalidPlan, build_plan, verify_plan
from tilewright.backend.cpu.loopnest.index import panels, row_major
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


def test_loops_must_end_where_panels_end():
    plan = build_plan(gemm(f16), AVX2)
    step = next(s for s in walk(plan.body) if isinstance(s, Matmul))
    step.lhs.layout = panels(step.lhs.shape, 16)
    with pytest.raises(InvalidPlan, match="split"):
        verify_plan(plan)


def test_live_buffers_must_not_overlap():
    plan = build_plan(softmax(), AVX2)
    for buffer in buffers_of(plan):
        plan.offsets[buffer] = 0
    with pytest.raises(InvalidPlan, match="overlap"):
        verify_plan(plan)


def test_buffers_must_be_inside_the_scratch_memory():
    plan = build_plan(gemm(f16), AVX2)
    plan.scratch_bytes -= 64
    with pytest.raises(InvalidPlan, match="inside the scratch memory"):
        verify_plan(plan)


@pytest.mark.parametrize(("element", "sums"), PRODUCTS, ids=str)
@pytest.mark.parametrize("cpu", [AVX2, AVX512], ids=["avx2", "avx512"])
def test_random_chains_of_products_pass(element, sums, cpu):
    for seed in map(int, fresh_rng().integers(0, 2**31, tiers.count(quick=4, full=40))):
        func, _ = product_program(seed, element, sums)
        build_plan(func, cpu)


@pytest.mark.parametrize("side", ["lhs", "result"])
def test_only_right_sides_are_in_panels(side):
    plan = build_plan(gemm(f16), AVX2)
    step = next(s for s in walk(plan.body) if isinstance(s, Matmul))
    buffer = getattr(step, side)
    setattr(step, side, replace(buffer, layout=panels(buffer.shape, 16)))
    with pytest.raises(InvalidPlan, match=f"{buffer.name} is not row-major"):
        verify_plan(plan)


def test_right_sides_are_in_panels_or_row_major():
    plan = build_plan(gemm(f16), AVX2)
    step = next(s for s in walk(plan.body) if isinstance(s, Matmul))
    step.rhs = replace(step.rhs, layout=row_major(step.rhs.shape[::-1])[::-1])
    with pytest.raises(InvalidPlan, match="neither row-major nor in panels"):
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
