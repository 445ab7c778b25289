"""Bits of functions: noted where a rounding hides the rest, and formulas that keep them."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from ir_text import apply, expect, kernel, unchanged
from tilewright import CompileOptions, bf16, f16, f32
from tilewright.passes.needed_precision import needed_precision

END = "\n%r = ftof %{} {{to=bf16}}\nprint %r\nreturn"


def body(*lines, last="e"):
    return "\n".join(lines) + END.format(last)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("exp %f", "exp %f {bits=10}"),
        ("tanh %f {rounding=full}", "tanh %f {bits=10}"),
        ("divf %f, %g {rounding=full}", "divf %f, %g {rounding=full, bits=10}"),
        ("sqrt %f {rounding=approx}", "sqrt %f {rounding=approx, bits=10}"),
    ],
)
def test_bits_are_noted(before, after):
    expect(needed_precision, body(f"%e = {before}"), body(f"%e = {after}"))


@pytest.mark.parametrize(
    "made",
    [
        "divf %f, %g",  # rounded to nearest: asked for with precise=True
        "sqrt %f",
        "exp %f {bits=64}",
        "mulf %f, %g",
        "floor %f",
    ],
)
def test_what_is_exact_stays(made):
    unchanged(needed_precision, body(f"%e = {made}"))


def test_what_is_kept_in_full_stays():
    unchanged(needed_precision, "%e = exp %f\nprint %e\nreturn")


def test_divisors_that_are_normal():
    """The reciprocal of 1 and more is not beyond the numbers; that of 0 and more may be."""
    power, one = "%p = exp %f {}", "%one = constant {value=1.0, dtype=f32}"
    sum_ = "%s = addf %p, %one"
    quotient = "%e = divf %g, %s {{rounding={}{}}}"
    expect(
        needed_precision,
        body(power.replace(" {}", ""), one, sum_, quotient.format("full", "")),
        body(power.format("{bits=11}"), one, sum_, quotient.format("approx", ", bits=11")),
    )
    expect(
        needed_precision,
        body(power.replace(" {}", ""), quotient.format("full", "").replace("%s", "%p")),
        body(power.format("{bits=11}"), quotient.format("full", ", bits=11").replace("%s", "%p")),
    )


SMALLEST, LARGEST = "1.1754943508222875e-38", "8.507059173023462e+37"
"""The least normal f32, and its reciprocal."""


@pytest.mark.parametrize(
    ("divisor", "factor"),
    [
        ("3.0", "0.3333333432674408"),
        ("-0.5", "-2.0"),
        (SMALLEST, LARGEST),
        (LARGEST, SMALLEST),
    ],
)
def test_constant_divisors(divisor, factor):
    constant = f"%c = constant {{value={divisor}, dtype=f32}}"
    expect(
        needed_precision,
        body(constant, "%e = divf %f, %c {rounding=full}"),
        body(constant, f"%k = constant {{value={factor}, dtype=f32}}", "%e = mulf %f, %k"),
    )
    unchanged(needed_precision, body(constant, "%e = divf %f, %c"))


@pytest.mark.parametrize("divisor", ["1e-38", "1.7014118346046923e+38", "inf", "0.0"])
def test_divisors_whose_reciprocal_is_not_normal(divisor):
    constant = f"%c = constant {{value={divisor}, dtype=f32}}"
    made = apply(needed_precision, kernel(body(constant, "%e = divf %f, %c {rounding=full}")))
    assert "divf %f, %c {rounding=full, bits=10}" in made


@pytest.mark.parametrize("function", ["sqrt", "rsqrt"])
def test_roots_of_what_is_normal(function):
    mode = "rounding=approx, " if function == "sqrt" else ""
    sum_ = ("%a = absf %f", "%c = constant {value=1e-05, dtype=f32}", "%s = addf %a, %c")
    before = f"%e = {function} %s" + (" {rounding=approx}" if mode else "")
    after = f"%e = {function} %s {{{mode}ftz=True, bits=10}}"
    expect(needed_precision, body(*sum_, before), body(*sum_, after))
    rest = ("%c = constant {value=1e-05, dtype=f32}", "%s = addf %f, %c")
    kept = f"%e = {function} %s {{{mode}bits=10}}"
    expect(needed_precision, body(*rest, before), body(*rest, kept))


@pytest.mark.parametrize(
    ("op", "start"), [("addf %one, %t", ""), ("addf %t, %one", ""), ("subf %one, %t", "negf")]
)
def test_a_tangent_beside_one(op, start):
    x = "%n" if start else "%f"
    expect(
        needed_precision,
        body("%one = constant {value=1.0, dtype=f32}", "%t = tanh %f", f"%e = {op}"),
        body(
            "%one = constant {value=1.0, dtype=f32}",
            "%t = tanh %f",
            *(["%n = negf %f"] if start else []),
            "%c1 = constant {value=-2.0, dtype=f32}",
            f"%u = mulf {x}, %c1",
            "%c2 = constant {value=-2.885390043258667, dtype=f32}",
            f"%v = mulf {x}, %c2",
            "%p = exp2 %v {bits=11}",
            "%c3 = constant {value=1.0, dtype=f32}",
            "%s = addf %p, %c3",
            "%c4 = constant {value=1.0, dtype=f32}",
            "%q = divf %c4, %s {rounding=approx, bits=11}",
            "%c5 = constant {value=2.0, dtype=f32}",
            "%e = mulf %q, %c5",
        ),
    )


def test_erf_beside_one():
    lines = ("%one = constant {value=1.0, dtype=f32}", "%t = erf %f", "%e = addf %t, %one")
    made = apply(needed_precision, kernel(body(*lines)))
    assert "exp2" in made and "select" in made
    # A tolerance below that of f16 is too little for the polynomial.
    product = body(*lines, "%k = exp %g", "%h_ = mulf %e, %k", last="h_").replace("bf16", "f16")
    assert "select" not in apply(needed_precision, kernel(product))


def test_a_tangent_that_is_used_elsewhere_stays():
    one, end = "%one = constant {value=1.0, dtype=f32}", ("%s = addf %one, %t", "%e = mulf %s, %t")
    expect(
        needed_precision,
        body(one, "%t = tanh %f", *end),
        body(one, "%t = tanh %f {bits=21}", *end),
    )


@pytest.mark.parametrize("operands", ["%f, %c", "%c, %f"])
def test_a_scaled_argument(operands):
    expect(
        needed_precision,
        body("%c = constant {value=3.0, dtype=f32}", f"%u = mulf {operands}", "%e = exp %u"),
        body(
            "%c = constant {value=3.0, dtype=f32}",
            f"%u = mulf {operands}",
            "%k = constant {value=4.3280849456787109, dtype=f32}",
            "%v = mulf %f, %k",
            "%e = exp2 %v {bits=10}",
        ),
    )


@tw.entry
def logistic(out: tl.TensorMut, x: tl.Tensor, *, PRECISE: tl.Const[bool] = False) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((1.0 / (1.0 + tl.exp(-tile, precise=PRECISE))).astype(out.dtype))


@tw.entry
def power(out: tl.TensorMut, x: tl.Tensor, *, PRECISE: tl.Const[bool] = False) -> None:
    out.store(tl.exp(tl.load_tile_like(x, out), precise=PRECISE))


def ir(entry, dtype, options=None, **constants):
    out, x = tw.meta((64,), dtype).partition_mut((16,)), tw.meta((64,), dtype)
    return entry.inspect(out, x, device="cpu", options=options, **constants)["passes"]


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("entry", [logistic, power], ids=lambda k: k.kernel.name)
def test_options_and_precise(entry, dtype):
    def noted(*given, **constants):
        return re.findall(r"exp .*bits=(\d+)", ir(entry, *given, **constants))

    assert noted(dtype) not in ([], ["64"])
    assert noted(dtype, CompileOptions(needed_precision=False)) == []
    assert noted(dtype, PRECISE=True) == (["64"] if entry is power else [])
    assert noted(f32) == []
