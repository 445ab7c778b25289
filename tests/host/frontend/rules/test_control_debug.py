from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from rule_kit import Kit
from support.kernels import ir_of, out, run, scalar, tensor
from tilewright.backend.reference import interpreter as reference
from tilewright.base.dtypes import bool_, f32, i32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.rules.control import assert_condition
from tilewright.frontend.semantics.values import FormatString
from tilewright.ir.launch_expr import show


def printed(*args, **keywords):
    """The template of a print of these constants."""
    kit = Kit()
    kit("builtins.print", *args, **keywords)
    return kit.ops[-1].attrs["template"]


def test_constants_become_text():
    assert printed("a", 1, 2.5, True, None, f32) == ("a 1 2.5 True None f32\n",)
    assert printed() == ("\n",)
    assert printed("a", "b", sep="-", end="") == ("a-b",)
    assert printed("a", "b", sep=None, end=None) == ("a b\n",)
    assert printed("", end="") == ()


def test_values_are_numbered():
    kit = Kit()
    kit("builtins.print", "x", kit.tile(i32), kit.tile(f32, 4))
    assert kit.ops[-1].attrs["template"] == ("x ", (0, ""), " ", (1, ""), "\n")


def test_tuples_are_shown_as_python_shows_them():
    x = (1, "a", (2,), [3, 4])
    assert printed(x) == (f"{x}\n",)
    kit = Kit()
    kit("builtins.print", (kit.tile(i32), 2))
    assert kit.ops[-1].attrs["template"] == ("(", (0, ""), ", 2)\n")


def test_format_strings():
    kit = Kit()
    kit("builtins.print", FormatString(("n=", (kit.tile(i32), "04d"), "!")), 7)
    assert kit.ops[-1].attrs["template"] == ("n=", (0, "04d"), "! 7\n")


@pytest.mark.parametrize(
    ("dtype", "shape", "spec"),
    [(i32, (), "q"), (f32, (), "d"), (f32, (4,), "d"), (bool_, (4,), "s")],
)
def test_formats_that_do_not_fit(dtype, shape, spec):
    kit = Kit()
    kit.refused(Code.CALL, "builtins.print", FormatString(((kit.tile(dtype, *shape), spec),)))


def test_what_cannot_be_printed():
    kit = Kit()
    error = kit.refused(Code.TYPE, "builtins.print", kit.pointers(f32))
    assert error.hint == "print its address: tl.ptr_to_int(p)"
    kit.refused(Code.TYPE, "builtins.print", FormatString(((kit.pointers(f32), ""),)))
    kit.refused(Code.NOT_STATIC, "builtins.print", 1, sep=2)

    def kernel(z: tl.TensorMut) -> None:
        print(z)

    def formatting(z: tl.TensorMut) -> None:
        print(f"z = {z}")

    for wrong in (kernel, formatting):
        with pytest.raises(CompileError, match="output `z` cannot be printed"):
            ir_of(wrong, out((4,)))


def test_a_format_is_of_the_value_not_of_its_text():
    def kernel(z: tl.TensorMut, n: i32) -> None:
        print(f"{n!r} {n!s} {n=}")

    def wrong(z: tl.TensorMut, n: i32) -> None:
        print(f"{n!r:>8}")

    ops = ir_of(kernel, out((4,)), scalar(i32)).body.ops
    assert ops[0].attrs["template"] == ((0, ""), " ", (1, ""), " n=", (2, ""), "\n")
    with pytest.raises(CompileError) as caught:
        ir_of(wrong, out((4,)), scalar(i32))
    assert caught.value.hint == "leave out !r"


def test_a_format_of_a_tile_is_that_of_its_elements():
    kit = Kit()
    kit("builtins.print", FormatString(((kit.tile(f32, 4), ".3f"),)))
    assert kit.ops[-1].attrs["template"] == ((0, ".3f"), "\n")


def test_templates():
    kit = Kit()
    x, y = kit.tile(i32), kit.tile(f32)
    kit("cuda_tile_print", "<{}, {:.2f}> {{{}}}\n", x, y, "c")
    assert kit.ops[-1].attrs["template"] == ("<", (0, ""), ", ", (1, ".2f"), "> {c}\n")
    kit("cuda_tile_print", "{1} {0}{1}", x, y)
    assert kit.ops[-1].operands == (y, x, y)


@pytest.mark.parametrize(
    ("template", "count"), [("{}", 0), ("{} {}", 1), ("{", 1), ("{x}", 1), ("{}", 2), ("{!r}", 1)]
)
def test_templates_that_do_not_fit(template, count):
    kit = Kit()
    kit.refused(Code.CALL, "cuda_tile_print", template, *[1] * count)


def test_blocks_print_in_order():
    def hello(z: tl.TensorMut[i32]) -> None:
        i, j, k = tl.get_tile_block_id()
        n, m, o = tl.get_num_tile_blocks()
        tl.cuda_tile_print(
            "Hello, I am tile <{}, {}, {}> in a kernel with <{}, {}, {}> tiles.\n", i, j, k, n, m, o
        )

    outcome = run(ir_of(hello, out((1,), i32)), np.zeros(2, np.int32), grid=(2, 1, 1))
    assert [tuple(int(v) for v in p.values) for p in outcome.printed] == [
        (0, 0, 0, 2, 1, 1), (1, 0, 0, 2, 1, 1)
    ]  # fmt: skip


# --- assert ----------------------------------------------------------------------------------


def test_a_constant_is_judged_while_compiling():
    kit = Kit()
    assert_condition(kit.em, True, "")
    assert_condition(kit.em, (1, 2), "")
    assert kit.ops == []
    with pytest.raises(CompileError) as caught:
        assert_condition(kit.em, 1 > 2, "1 > 2")
    assert caught.value.code is Code.ASSERTION
    assert caught.value.message == "this assertion is false: 1 > 2"


def test_a_value_that_is_surely_false_is_refused_too():
    kit = Kit()
    with pytest.raises(CompileError, match="never"):
        assert_condition(kit.em, kit.em.constant(False, bool_), "never")


def test_extents_are_checked_at_launch_on_the_way_every_block_goes():
    def always(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert x.shape[0] > 3, "too short"
        assert x.shape[0] > 3, "too short"

    def sometimes(z: tl.TensorMut, x: tl.Tensor) -> None:
        if tl.block_id(0) > 0:
            assert x.shape[0] > 3, "too short"

    func = ir_of(always, out((4,)), tensor(1))
    (check,) = func.launch_checks
    assert check.message == "too short"
    assert check.span is not None
    func = ir_of(sometimes, out((4,)), tensor(1))
    assert func.launch_checks == ()
    assert [op.attrs["message"] for op in func.walk() if op.name == "assert"] == ["too short"]


def test_each_part_of_a_conjunction_is_checked_where_it_is_known():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert x.shape[0] > 3 and (tl.block_id(0) < 2 and x.shape[0] % 4 == 0)

    func = ir_of(kernel, out((4,)), tensor(1))
    checks = {show(check.expr): check.message for check in func.launch_checks}
    assert checks == {
        "x.shape[0] > 3": "x.shape[0] > 3",
        "(x.shape[0] % 4) == 0": "x.shape[0] % 4 == 0",
    }
    (left,) = (op for op in func.walk() if op.name == "assert")
    assert left.attrs["message"] == "tl.block_id(0) < 2"


def test_a_message_is_that_of_every_part():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert x.shape[0] > 3 and tl.block_id(0) < 2, "too much"

    func = ir_of(kernel, out((4,)), tensor(1))
    assert [check.message for check in func.launch_checks] == ["too much"]
    assert [op.attrs["message"] for op in func.walk() if op.name == "assert"] == ["too much"]


def test_a_tile_of_conditions_must_hold_everywhere():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert tl.load_tile_like(x, z) >= 0.0, "negative"
        z.store(z.load())

    func = ir_of(kernel, out((4,)), tensor(1))
    x = np.ones(8, np.float32)
    assert reference.run(func, (x.copy(), x), (2, 1, 1)).failure is None
    x[6] = -1
    failure = reference.run(func, (x.copy(), x), (2, 1, 1)).failure
    assert (failure.site.message, failure.block) == ("negative", (1, 0, 0))


def test_the_function_is_the_statement():
    def kernel(z: tl.TensorMut, n: i32) -> None:
        tl.cuda_tile_assert(n > 0, "empty")
        tl.cuda_tile_assert(tl.block_id(0) < n)

    func = ir_of(kernel, out((4,)), scalar(i32))
    assert [c.message for c in func.launch_checks] == ["empty"]
    assert [op.attrs["message"] for op in func.walk() if op.name == "assert"] == [
        "assertion failed"
    ]


def test_an_assertion_needs_a_condition():
    kit = Kit()
    error = kit.refused(Code.TYPE, "cuda_tile_assert", kit.tile(i32), "n")
    assert error.hint == "compare: x != 0"
    kit.refused(Code.NOT_STATIC, "cuda_tile_assert", True, 3)
