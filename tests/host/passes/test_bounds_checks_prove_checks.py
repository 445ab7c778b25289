"""Checks leave kernels: those that are proved, and those that the host makes at launch."""

from __future__ import annotations

import pytest

import tilewright.lang as tl
from ir_text import apply, expect, kernel, parse
from support.kernels import ir_of, out, scalar, tensor
from tilewright.analysis.bounds.check_placement import shown
from tilewright.base.dtypes import f32, i32
from tilewright.ir.core import Func, Placement
from tilewright.passes.bounds_checks import prove_checks
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.dce import dce


def proved(func: Func) -> Func:
    return dce(canonicalize(prove_checks(func)))


def test_a_check_that_constants_prove_is_true_and_its_guard_goes():
    expect(
        proved,
        """
        %v = make_view %s {tile=(16), dim_map=(0)}
        %t = num_tiles %v
        %i = constant {value=6, dtype=i32}
        %ok = check %i, %t {tensor='s'}
        %a = load_view %v, %i, %ok
        print %a
        return
        """,
        """
        %v = make_view %s {tile=(16), dim_map=(0)}
        %i = constant {value=6, dtype=i32}
        %3 = load_view %v, %i
        print %3
        return
        """,
    )


def test_a_check_of_a_loop_variable_is_proved_by_its_bounds():
    expect(
        proved,
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %seven = constant {value=7, dtype=i32}
        for %zero, %seven, %one { (%i: tile<i32>)
          %ok = check %i, %seven
          print %ok
          continue
        }
        return
        """,
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %seven = constant {value=7, dtype=i32}
        for %zero, %seven, %one { (%i: tile<i32>)
          %4 = constant {value=True, dtype=bool}
          print %4
          continue
        }
        return
        """,
    )


COUNTED = """
%v = make_view %x {{tile=(4), dim_map=(0)}}
%t = num_tiles %v
%q = num_tiles %v
%zero = constant {{dtype=i32}}
%one = constant {{value=1, dtype=i32}}
for {bounds}, %one {{ (%i: tile<i32>)
  %ok = check %i, {extent}
  print %ok
  continue
}}
return
"""


def test_a_loop_up_to_the_extent_proves_its_checks():
    text = apply(prove_checks, kernel(COUNTED.format(bounds="%zero, %t", extent="%t")))
    assert "check" not in text


@pytest.mark.parametrize(
    ("bounds", "asked"),
    [
        ("%zero, %q", []),
        ("%n, %t", ["n >= 0"]),
        ("%zero, %n", ["n <= ceil_div(x.shape[0], 4)"]),
    ],
)
def test_other_bounds_are_the_hosts_affair(bounds, asked):
    func = prove_checks(parse(kernel(COUNTED.format(bounds=bounds, extent="%t"))))
    assert [shown(check) for check in func.launch_checks] == asked
    assert "check" not in [op.name for op in func.walk()]


# --- kernels -------------------------------------------------------------------------------------


def placements(function, *specs, **constants):
    """Where the checks of a kernel go, by tensor and axis, and what the host checks."""
    func = prove_checks(ir_of(function, *specs, **constants))
    found = [(o.tensor, o.axis, o.placement) for o in func.obligations]
    return found, [shown(check) for check in func.launch_checks]


P, L, K = Placement.PROVED, Placement.AT_LAUNCH, Placement.IN_PLACE


def test_what_the_launch_asserts_is_believed():
    def product(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
        assert x.shape[1] == y.shape[0]
        i, j, _ = tl.get_tile_block_id()
        xs, ys = x.partition((4, 8)), y.partition((8, 4))
        total = tl.zeros((4, 4), f32)
        for k in range(tl.num_tiles(xs, 1)):
            total = tl.mma(xs.load([i, k]), ys.load([k, j]), total)
        z.store(total)

    found, asked = placements(product, out((4, 4)), tensor(2), tensor(2))
    assert found == [("x", 0, L), ("x", 1, P), ("y", 0, P), ("y", 1, L)]
    assert asked == [
        "x.shape[1] == y.shape[0]",
        "ceil_div(z.shape[0], 4) <= ceil_div(x.shape[0], 4), where y.shape[0] > 0",
        "ceil_div(z.shape[1], 4) <= ceil_div(y.shape[1], 4), where y.shape[0] > 0",
    ]


def test_the_least_of_anything_and_the_tile_count_keeps_inside():
    def load(z: tl.TensorMut, x: tl.Tensor, limits: tl.Tensor[i32]) -> None:
        limit = limits.load_tile((1,), [0]).item()
        xs = x.partition((4,))
        total = tl.zeros((4,), f32)
        for k in range(min(limit, tl.num_tiles(xs))):
            total = total + xs.load([k])
        z.store(total)

    found, asked = placements(load, out((4,)), tensor(1), tensor(1, i32))
    assert found == [("limits", 0, L), ("x", 0, P)]
    assert asked == ["limits.shape[0] > 0"]


def test_an_index_brought_inside_needs_a_tile_to_be_there():
    def load(z: tl.TensorMut, x: tl.Tensor, where: tl.Tensor[i32]) -> None:
        xs = x.partition((4,))
        i = where.load_tile((1,), [0]).item()
        z.store(xs.load([min(max(i, 0), tl.num_tiles(xs) - 1)]))

    found, asked = placements(load, out((4,)), tensor(1), tensor(1, i32))
    assert found == [("where", 0, L), ("x", 0, L)]
    assert asked == ["where.shape[0] > 0", "x.shape[0] > 0"]


def test_grouped_heads():
    def load(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
        head = tl.block_id(0)
        z.store(y.load_tile((1, 4), [head // (x.shape[0] // y.shape[0]), tl.block_id(1)]))

    found, asked = placements(load, out((1, 4)), tensor(2), tensor(2))
    assert found == [("y", 0, L), ("y", 1, L)]
    assert asked == [
        "((z.shape[0] - 1) // (x.shape[0] // y.shape[0])) < y.shape[0]",
        "ceil_div(z.shape[1], 4) <= ceil_div(y.shape[1], 4)",
    ]


def test_a_branch_on_the_index_lets_the_host_say_when_it_is_taken():
    def load(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
        i = tl.block_id(0)
        if i < n:
            z.store(x.load_tile((4,), [i]))

    found, asked = placements(load, out((4,)), tensor(1), scalar(i32))
    assert found == [("x", 0, L)]
    assert asked == ["min(ceil_div(z.shape[0], 4) - 1, n - 1) < ceil_div(x.shape[0], 4)"]


def test_under_a_condition_of_the_data_the_kernel_checks():
    def load(z: tl.TensorMut, x: tl.Tensor, flags: tl.Tensor[i32]) -> None:
        i = tl.block_id(0)
        if flags.load_tile((1,), [0]).item() > 0:
            z.store(x.load_tile((4,), [i]))

    found, _ = placements(load, out((4,)), tensor(1), tensor(1, i32))
    assert found == [("flags", 0, L), ("x", 0, K)]
