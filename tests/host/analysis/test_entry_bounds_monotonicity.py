"""Loops that are longer in later blocks, and those of which that is not known."""

from __future__ import annotations

import pytest

from ir_text import kernel, parse
from tilewright.analysis.entry_bounds import axis_of_growing_loops

KERNEL = """
%i = block_id {{axis=0}}
%j = block_id {{axis=1}}
%one = constant {{value=1, dtype=i32}}
%two = constant {{value=2, dtype=i32}}
{text}
for %one, %u, %one {{ (%k: tile<i32>)
  print %k
  continue
}}
return
"""


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("%u = addi %j, %one", 1),
        ("%u = muli %two, %i", 0),
        ("%a = addi %j, %one\n%b = muli %a, %two\n%d = divi %b, %two\n%u = mini %d, %n", 1),
        ("%a = subi %j, %n\n%u = maxi %a, %one", 1),
        ("%u = divi %j, %one", 1),
        ("%z = constant {value=0, dtype=i32}\n%u = divi %j, %z", None),
        ("%z = constant {value=0, dtype=i32}\n%u = muli %j, %z", 1),
        ("%z = constant {value=-1, dtype=i32}\n%u = muli %j, %z", None),
        ("%u = addi %n, %one", None),
        ("%u = subi %n, %j", None),
        ("%u = muli %j, %n", None),
        ("%u = divi %j, %n", None),
        ("%u = remi %j, %two", None),
        ("%u = addi %i, %j", None),
    ],
)
def test_monotonicity(text, axis):
    assert axis_of_growing_loops(parse(kernel(KERNEL.format(text=text)))) == axis


def test_what_a_loop_carries_is_not_known():
    carried = """%u = for %one, %two, %one, %j {{ (%k: tile<i32>, %a: tile<i32>)
  continue %a
}}"""
    text = KERNEL.replace("{text}", carried).format()
    assert axis_of_growing_loops(parse(kernel(text))) is None


@pytest.mark.parametrize(("lower", "axis"), [("%one", 0), ("%n", 0), ("%first", None)])
def test_loops_that_also_begin_later_are_not_longer(lower, axis):
    found = "%first = muli %i, %two\n%u = addi %first, %two"
    text = KERNEL.replace("for %one, %u", f"for {lower}, %u")
    assert axis_of_growing_loops(parse(kernel(text.format(text=found)))) == axis
