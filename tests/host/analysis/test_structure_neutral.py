"""What reductions begin with: what is neutral for their body, whatever was named."""

from __future__ import annotations

import math

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir
from support.ir import Kernel
from tilewright.analysis.structure import identities_of
from tilewright.frontend.capture.sources import execute

TEXT = """
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    a = x.load_tile((4, 8), (0, 0))
    z.store(tl.reduce(a, 1, {named}, lambda p, q: {body}))
"""


def found(body, named, dtype):
    kernel = tw.entry(execute(TEXT.format(body=body, named=named), {"tl": tl})["kernel"])
    z, x = tw.meta((4,), dtype), tw.meta((4, 8), dtype)
    (op,) = (op for op in cuda_ir(kernel, z.partition_mut((4,)), x).walk() if op.name == "reduce")
    (number,) = identities_of(op)
    return number


@pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")
@pytest.mark.parametrize(
    ("body", "named", "dtype", "number"),
    [
        ("p + q", "0.0", tw.f32, -0.0),
        ("q + p", "0.0", tw.f16, -0.0),
        ("p * q", "1.0", tw.f64, 1.0),
        ("tl.maximum(p, q)", "0.0", tw.f32, -math.inf),
        ("tl.minimum(p, q)", "0.0", tw.f32, math.inf),
        ("p + q", "0", tw.i32, 0),
        ("p * q", "1", tw.u8, 1),
        ("p & q", "-1", tw.i16, -1),
        ("p | q", "0", tw.u32, 0),
        ("p ^ q", "0", tw.i64, 0),
        ("tl.maximum(p, q)", "0", tw.i8, -128),
        ("tl.minimum(p, q)", "0", tw.u8, 255),
        ("p & q", "255", tw.u8, 255),
        ("p & q", "True", tw.bool_, True),
        ("p | q", "False", tw.bool_, False),
        ("p ^ q", "False", tw.bool_, False),
        ("p + q + 1.0", "-1.0", tw.f32, -1.0),
        ("p + p", "0.0", tw.f32, 0.0),
    ],
)
def test_neutral_numbers(body, named, dtype, number):
    assert repr(found(body, named, dtype)) == repr(number)


@pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")
def test_where_nan_loses_everything_else_wins():
    assert math.isnan(found("tl.maxf(p, q, nan=False)", "tl.neg_inf", tw.f32))


def test_each_input_has_its_own_neutral_number():
    k = Kernel()
    x = k.tensor("x", tw.i32, 1)
    inputs = [k.load(x, (4,)), k.load(x, (4,))]
    with k.region(*[inputs[0].tile.with_shape(())] * 4) as body:
        a, b, c, d = body.args
        k.op("yield", [k.emit("maxi", a, b), k.emit("mini", c, d)])
    op = k.op("reduce", inputs, regions=(body,), axis=0, identities=(7, 8))
    assert identities_of(op) == (-(2**31), 2**31 - 1)
