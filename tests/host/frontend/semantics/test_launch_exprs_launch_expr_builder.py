"""Which values the host knows before a launch, and as what."""

from __future__ import annotations

import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, scalar, tensor
from tilewright.base.dtypes import f32, i32, u32
from tilewright.ir.launch_expr import LaunchFacts, evaluate, show

FACTS = LaunchFacts({"z": (10,), "x": (12, 7)}, {"n": 5, "m": 3}, (2, 1, 1))


def known(condition, expected=True):
    """Assert a condition over (z, x, n, m) in a kernel; how the launch check is shown."""

    def kernel(z: tl.TensorMut, x: tl.Tensor, n: i32, m: u32) -> None:
        assert condition(z, x, n, m)
        z.store(z.load())

    func = ir_of(kernel, out((4,)), tensor(2), scalar(i32), scalar(u32))
    if not func.launch_checks:
        return None
    (check,) = func.launch_checks
    assert "assert" not in [op.name for op in func.walk()]
    assert bool(evaluate(check.expr, FACTS)) is expected
    return show(check.expr)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (lambda z, x, n, m: x.shape[0] == 12, "x.shape[0] == 12"),
        (lambda z, x, n, m: z.shape[0] <= x.shape[1], "4 <= x.shape[1]"),
        (lambda z, x, n, m: n < x.shape[1], "n < x.shape[1]"),
        (lambda z, x, n, m: tl.num_blocks(0) > 1, "num_tile_blocks(0) > 1"),
        (lambda z, x, n, m: x.shape[0] % 4 == 0, "(x.shape[0] % 4) == 0"),
        (lambda z, x, n, m: x.shape[0] // 5 >= 2, "(x.shape[0] // 5) >= 2"),
        (lambda z, x, n, m: x.shape[0] * 2 + 1 - n != 0, None),
        (lambda z, x, n, m: -n < 0, None),
        (lambda z, x, n, m: tl.num_tiles(x.partition((4, 4)), 1) == 2,
         "ceil_div(x.shape[1], 4) == 2"),
        (lambda z, x, n, m: min(n, 4) == 4, "min(n, 4) == 4"),
        (lambda z, x, n, m: max(n, x.shape[0]) == 12, "max(n, x.shape[0]) == 12"),
        (lambda z, x, n, m: ~((n > 0) & (m > 9)), "not ((n > 0) and (m > 9))"),
        (lambda z, x, n, m: (n < 0) | (m > 2), "(n < 0) or (m > 2)"),
        (lambda z, x, n, m: ~(n < 0), "not (n < 0)"),
        (lambda z, x, n, m: tl.ceil_div(x.shape[0], 5) == 3, None),
    ],
)  # fmt: skip
def test_what_the_host_can_compute(condition, text):
    shown = known(condition)
    assert shown is not None
    assert text is None or shown == text


@pytest.mark.parametrize(
    "condition",
    [
        lambda z, x, n, m: tl.block_id(0) < 10,
        lambda z, x, n, m: z.extent[0] > 0,
        lambda z, x, n, m: m - 4 < 10,  # unsigned: wraps in the kernel, not on the host
        lambda z, x, n, m: (n & 1) == 1,
        lambda z, x, n, m: n.astype(f32) > 0.0,
        lambda z, x, n, m: tl.divi(n, 2) == 2,  # toward zero
        lambda z, x, n, m: tl.all(z.load() == z.load()),
    ],
)
def test_what_only_a_block_can_compute(condition):
    assert known(condition) is None


def test_an_expression_that_grows_without_end_is_left_to_the_kernel():
    def doubled(z, x, n, m):
        for _ in tl.static_range(40):
            n = n + n
        return n == 0

    assert known(doubled) is None


def test_a_false_check_is_false():
    assert known(lambda z, x, n, m: x.shape[0] < 12, expected=False) == "x.shape[0] < 12"
