"""Products become one op on converted operands, which stand where the operand was made."""

from __future__ import annotations

from support.ir import Kernel
from support.plans import gemm
from tilewright.backend.cpu.loopnest.legalize import legalize
from tilewright.base.dtypes import f4e2m1fn, f8e8m0fnu, f16, f32, i8, i32, u8
from tilewright.ir.artifact import reporting_ops
from tilewright.ir.printer import print_func


def names(func):
    return [op.name for op in func.walk()]


def test_half_operands_are_converted(golden):
    golden(print_func(legalize(gemm(f16))))


def test_f32_needs_no_conversion():
    assert "ftof" not in names(legalize(gemm(f32)))


def test_operands_from_outside_a_loop_are_converted_outside():
    k = Kernel()
    x, z = k.tensor("x", f16, 2), k.output("z", f32, 2)
    tile = k.load(x, (16, 16))
    zero = k.constant(0.0, f32, (16, 16))
    with k.region(k.i32(0).type, zero.type) as loop:
        k.op("continue", [k.emit("mmaf", tile, tile, loop.args[1])])
    (total,) = k.op("for", k.i32(0), k.i32(3), k.i32(1), [zero], regions=[loop]).results
    k.store(total, z)
    legal = legalize(k.finish())
    top = [op.name for op in legal.body.ops]
    assert top.index("ftof") < top.index("for")
    assert names(legal).count("ftof") == 1


def test_integers_are_widened_by_their_sign():
    k = Kernel()
    a, b = k.tensor("a", i8, 2), k.tensor("b", u8, 2)
    zero = k.constant(0, i32, (8, 8))
    k.store(k.emit("mmai", k.load(a, (8, 8)), k.load(b, (8, 8)), zero), k.output("z", i32, 2))
    assert names(legalize(k.finish())).count("exti") == 2


def test_scales_become_factors():
    k = Kernel()
    a, b = k.constant(1.0, f4e2m1fn, (16, 32)), k.constant(1.0, f4e2m1fn, (32, 16))
    sa, sb = k.constant(1.0, f8e8m0fnu, (16, 2)), k.constant(1.0, f8e8m0fnu, (2, 16))
    zero = k.constant(0.0, f32, (16, 16))
    k.store(k.emit("mmaf_scaled", a, b, zero, sa, sb), k.output("z", f32, 2))
    found = names(legalize(k.finish()))
    assert found.count("mulf") == 2
    assert "matmul" in found


def test_half_accumulators_round_at_the_end_of_each_product():
    k = Kernel()
    a = k.load(k.tensor("a", f16, 2), (16, 16))
    zero = k.constant(0.0, f16, (16, 16))
    k.store(k.emit("mmaf", a, a, zero), k.output("z", f16, 2))
    ops = names(legalize(k.finish()))
    assert ops[ops.index("matmul") + 1] == "ftof"


def test_reporting_ops_keep_their_numbers():
    k = Kernel()
    n = k.scalar("n", i32)
    k.emit("check", n, n, tensor="t", axis=0)
    k.op("print", [n], template=((0, ""),))
    func = k.finish()
    before, after = ([op.name for op in reporting_ops(f)] for f in (func, legalize(func)))
    assert before == after == ["check", "print"]
