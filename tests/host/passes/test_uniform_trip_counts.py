"""Loops over a stride that get a uniform trip count, and the loops that stay as they are."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from tilewright.passes.uniform_trip_counts import uniform_trip_counts

STRIDED = """
{start}
%r = for %s, %n, %m, %f {{ (%i: tile<i32>, %a: tile<f32>)
  print %i
  %b = addf %a, %g
  continue %b
}}
print %r
return
"""
INDEX, PLACE = "%s = index_1d", "%s = place"

LEVEL = """
{start}
{first}
%away = subi %s, %first
%r = for %first, %n, %m, %f {{ (%j: tile<i32>, %a: tile<f32>)
  %i = addi %j, %away
  %below = cmpi %i, %n {{predicate=lt}}
  %zero = constant {{dtype=i32}}
  %whole = cmpi %i, %zero {{predicate=ge}}
  %both = andi %below, %whole
  %c = if %both : tile<f32> {{
    print %i
    %b = addf %a, %g
    yield %b
  }} else {{
    yield %a
  }}
  continue %c
}}
print %r
return
"""
OF_BLOCK = """
%block = place {what=block}
%size = place {what=block_size}
%first = muli %block, %size
"""
ZERO = "%first = constant {dtype=i32}"


@pytest.mark.parametrize(("start", "first"), [(INDEX, OF_BLOCK), (PLACE, ZERO)])
def test_a_loop_from_the_first_thread_of_the_block(start: str, first: str) -> None:
    text = STRIDED.format(start=start)
    expect(uniform_trip_counts, text, LEVEL.format(start=start, first=first.strip()))


@pytest.mark.parametrize(
    "text",
    [
        STRIDED.format(start="%s = addi %k, %k"),
        STRIDED.format(start="%s = place {what=block}"),
        STRIDED.format(start="%s = place {axis=1}"),
        STRIDED.format(start=f"%e = place\n{INDEX}").replace("%n, %m,", "%e, %m,"),
        STRIDED.format(start=f"%e = place\n{INDEX}").replace("%n, %m,", "%n, %e,"),
        STRIDED.format(start=INDEX).replace("continue %b", "break %b"),
        STRIDED.format(start=INDEX).replace(
            "  print %i\n", "  if %c {\n    continue %a\n  } else {\n    yield\n  }\n"
        ),
        STRIDED.format(start=INDEX).replace("  print %i\n", "  sync_threads\n"),
    ],
    ids=[
        "no thread", "a block", "along y", "uneven end", "uneven step", "break", "continue",
        "barrier",
    ],
)  # fmt: skip
def test_loops_that_stay(text: str) -> None:
    unchanged(uniform_trip_counts, text)
