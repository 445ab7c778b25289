"""Use counts and captured values."""

from __future__ import annotations

from ir_text import kernel, parse
from tilewright.analysis.structure import captured, use_counts

BODY = """
%one = constant {value=1, dtype=i32}
%r = for %n, %m, %one, %f { (%i: tile<i32>, %a: tile<f32>)
  %b = addf %a, %g
  if %c {
    print %b, %one, %g
    yield
  } else {
    yield
  }
  continue %b
}
return
"""


def test_each_operand_counts():
    counts = {v.name: n for v, n in use_counts(parse(kernel(BODY))).items()}
    assert counts == {"one": 2, "n": 1, "m": 1, "f": 1, "a": 1, "g": 2, "c": 1, "b": 2}


def test_what_a_region_takes_from_outside_in_order_of_use():
    func = parse(kernel(BODY))
    loop = func.body.ops[1]
    assert [v.name for v in captured(*loop.regions)] == ["g", "c", "one"]
    branch = loop.regions[0].ops[1]
    assert [v.name for v in captured(*branch.regions)] == ["b", "one", "g"]
