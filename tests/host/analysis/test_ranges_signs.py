"""Which floats are known not to be below zero."""

from __future__ import annotations

import pytest

from ir_text import kernel, parse
from tilewright.analysis.ranges import signs

START = """
%a = absf %f
%e = exp %g
%n = negf %e
%two = constant {value=2.0, dtype=f32}
"""


@pytest.mark.parametrize(
    ("made", "sign"),
    [
        ("addf %a, %e", 1), ("addf %a, %n", None), ("addf %a, %f", None), ("addf %n, %n", -1),
        ("subf %a, %n", 1), ("subf %a, %e", None), ("subf %n, %a", -1),
        ("mulf %a, %n", -1), ("mulf %n, %n", 1), ("mulf %f, %f", 1), ("mulf %f, %a", None),
        ("divf %a, %n", -1), ("divf %two, %a", 1), ("divf %f, %a", None),
        ("fma %f, %f, %a", 1), ("fma %f, %g, %a", None), ("fma %n, %a, %n", -1),
        ("maxf %f, %a", 1), ("maxf %f, %n", None), ("minf %f, %n", -1), ("minf %a, %e", 1),
        ("select %c, %a, %e", 1), ("select %c, %a, %n", None), ("negf %f", None),
        ("sqrt %f", 1), ("cosh %f", 1), ("tanh %f", None),
    ],
)  # fmt: skip
def test_elementwise(made, sign):
    func = parse(kernel(f"{START}%r = {made}\nprint %r\nreturn"))
    (value,) = [op.operands[0] for op in func.walk() if op.name == "print"]
    assert signs(func).get(value) == sign


@pytest.mark.parametrize(
    ("start", "step", "sign"),
    [("%a", "addf %total, %e", 1), ("%f", "addf %total, %e", None), ("%a", "addf %total, %n", None),
     ("%a", "mulf %total, %e", 1)],
)  # fmt: skip
def test_loops(start, step, sign):
    text = f"""{START}%zero = constant {{value=0, dtype=i32}}
%one = constant {{value=1, dtype=i32}}
%r = for %zero, %m, %one, {start} {{ (%i: tile<i32>, %total: tile<f32>)
  %next = {step}
  continue %next
}}
print %r
return"""
    func = parse(kernel(text))
    (value,) = [op.operands[0] for op in func.walk() if op.name == "print"]
    assert signs(func).get(value) == sign
