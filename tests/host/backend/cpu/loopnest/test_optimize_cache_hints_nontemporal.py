"""Which stores may go past the caches."""

from __future__ import annotations

import pytest

from support import plans
from support.ir import Kernel
from support.native import Dense
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.optimize import nontemporal_stores
from tilewright.base.dtypes import f16, f32, i8, i32, i64
from tilewright.ir.attrs import Ordering


def streamed(func):
    return [write.access.view.tensor.param for write in nontemporal_stores(build_plan(func, AVX2))]


def copy(dtype, tile, kernel=Dense):
    k = kernel()
    x, z = k.tensor("x", dtype, len(tile)), k.output("z", dtype, len(tile))
    k.store(k.load(x, tile), z)
    return k


@pytest.mark.parametrize("name", ["add", "softmax", "gemm"])
def test_outputs_that_are_only_written(name):
    assert streamed(getattr(plans, name)()) == ["z"]


def test_every_output_for_itself():
    assert streamed(plans.several()) == ["y", "z"]


@pytest.mark.parametrize("name", ["in_place", "others"])
def test_not_what_the_kernel_reads(name):
    """By the output itself, or by a pointer to anywhere."""
    assert streamed(getattr(plans, name)()) == []


def test_not_what_is_read_through_another_view():
    k = copy(f32, (64,))
    y, z = k.output("y", f32, 1), k.output("w", f32, 1)
    k.store(k.load(y, (64,)), z)
    k.store(k.constant(0.0, f32, (128,)), y)
    assert streamed(k.finish()) == ["z", "w"]


@pytest.mark.parametrize("ordering", [Ordering.WEAK, Ordering.RELEASE])
def test_not_what_others_are_told_to_read(ordering):
    k = copy(f32, (64,))
    flag = k.pointer("flag", i32)
    k.op("store_ptr", flag, k.i32(1), ordering=ordering)
    assert streamed(k.finish()) == ["z"] * (ordering is Ordering.WEAK)


@pytest.mark.parametrize(
    ("dtype", "tile", "expected"),
    [
        (f32, (16,), True),
        (f32, (8,), False),
        (f32, (64, 8), False),
        (f32, (8, 64), True),
        (f16, (32,), True),
        (f16, (16,), False),
        (i8, (64,), True),
        (i8, (32,), False),
        (i64, (8,), True),
        (i32, (1,), False),
    ],
)
def test_only_whole_lines(dtype, tile, expected):
    assert streamed(copy(dtype, tile).finish()) == ["z"] * expected


def test_only_neighbours_in_memory():
    assert streamed(copy(f32, (64,), Kernel).finish()) == []


@pytest.mark.parametrize(("sparse", "expected"), [(0, ["z"]), (1, [])])
def test_rows_by_number_but_no_elements_by_number(sparse, expected):
    k = Dense()
    numbers = k.load(k.tensor("numbers", i32, 1), ((8, 64)[sparse],))
    view = k.view(k.output("z", f32, 2), (8, 64), sparse=sparse)
    where = [k.i32(0), k.i32(0)]
    where[sparse] = numbers
    k.op("store_view", k.constant(1.0, f32, (8, 64)), view, where, None)
    assert streamed(k.finish()) == expected


def test_plans_say_so():
    said, unsaid = (build_plan(func, AVX2).decisions for func in (plans.add(), plans.in_place()))
    assert "non-temporal stores to z if outputs are large" in said
    assert not any("stream" in line for line in unsaid)
