"""Splitting loops at a branch on the induction variable, and the loops that must stay whole."""

from __future__ import annotations

import pytest

from ir_text import apply, expect, kernel, parse, unchanged
from support.programs import same_meaning_always
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import i32, int_range
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.split_loops import MAX_OPS, split_loops

LOOP = """
%one = constant {{value=1, dtype=i32}}
%r = for %n, %m, %one, %f {{ (%i: tile<i32>, %a: tile<f32>)
  %ask = cmpi {sides} {{predicate={predicate}}}
  %b = if %ask : tile<f32> {{
    %p1 = addf %a, %g
    yield %p1
  }} else {{
    print %i
    yield %a
  }}
  continue %b
}}
print %r
return
"""


def loop(predicate: str, sides: str = "%i, %k") -> str:
    return LOOP.format(predicate=predicate, sides=sides)


TRUE = """
  %5 = constant {value=True, dtype=bool}
  %6 = addf %4, %g
  continue %6
"""
FALSE = """
  %5 = constant {dtype=bool}
  print %3
  continue %4
"""


def two(change: str, first: str, second: str) -> str:
    return f"""
%one = constant {{value=1, dtype=i32}}
{change}
%10 = mini %b1, %m
%11 = maxi %n, %b1
%12 = for %n, %10, %one, %f {{ (%3: tile<i32>, %4: tile<f32>)
  {first.strip()}
}}
%13 = for %11, %m, %one, %12 {{ (%3: tile<i32>, %4: tile<f32>)
  {second.strip()}
}}
print %13
return
"""


AT = ""
AFTER = """
%7 = constant {value=1, dtype=i32}
%8 = subi %m, %7
%9 = mini %k, %8
%b1 = addi %9, %7
"""


@pytest.mark.parametrize(
    ("text", "change", "first", "second"),
    [
        (loop("lt"), AT, TRUE, FALSE),
        (loop("ge"), AT, FALSE, TRUE),
        (loop("le"), AFTER, TRUE, FALSE),
        (loop("gt"), AFTER, FALSE, TRUE),
        (loop("gt", "%k, %i"), AT, TRUE, FALSE),
        (loop("le", "%k, %i"), AT, FALSE, TRUE),
    ],
)
def test_two_loops_without_the_question(text, change, first, second):
    expected = two(change.strip(), first, second)
    if change == AT:
        expected = expected.replace("%b1", "%k")
    expect(split_loops, text, expected)


@pytest.mark.parametrize(
    "text",
    [
        loop("eq"),
        loop("lt", "%i, %i"),
        loop("lt").replace("value=1,", "value=2,"),
        loop("lt").replace("%one = constant {value=1, dtype=i32}\n", "").replace("%one", "%k"),
        loop("lt").replace("%ask = cmpi %i, %k", "%q = addi %i, %k\n  %ask = cmpi %i, %q"),
        loop("lt").replace("    print %i\n    yield %a", "    break %a"),
        loop("lt")
        .replace("    %p1 = addf %a, %g\n    yield %p1", "    yield %g")
        .replace("    print %i\n", ""),
    ],
)
def test_loops_that_stay_whole(text):
    unchanged(split_loops, text)


def test_a_large_body_stays_whole():
    many = "\n".join(f"  %e{k} = addf %a, %g" for k in range(MAX_OPS))
    unchanged(split_loops, loop("lt").replace("  %ask", f"{many}\n  %ask"))


def test_a_continue_in_an_arm_and_an_outer_exit_are_no_obstacle():
    text = apply(
        split_loops,
        kernel(
            """
            %one = constant {value=1, dtype=i32}
            for %n, %m, %one { (%i: tile<i32>)
              %ask = cmpi %i, %k {predicate=lt}
              if %ask {
                print %i
                continue
              } else {
                yield
              }
              if %c {
                return
              } else {
                yield
              }
              continue
            }
            return
            """
        ),
    )
    assert text.count("for ") == 2
    assert text.count("return") == 2


LOW, HIGH = int_range(i32)


@pytest.mark.parametrize("predicate", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 5), (0, 0), (3, 1), (LOW, LOW + 3), (HIGH - 3, HIGH), (LOW, LOW)]
)
def test_edges_of_the_integers(predicate, lower, upper):
    func = parse(kernel(loop(predicate)))
    names = [p.name for p in func.params]
    near = {lower, upper, lower + 1, upper - 1, 2, LOW, HIGH}
    for limit in sorted(n for n in near if LOW <= n <= HIGH):
        given = {"n": lower, "m": upper, "k": limit, "f": 1.0, "g": 2.0}
        arguments = [given[name] for name in names]
        results = []
        for run_pass in (lambda f: f, split_loops, lambda f: canonicalize(split_loops(f))):
            outcome = run(run_pass(func), arguments, (1, 1, 1))
            results.append([p.values[0].tolist() for p in outcome.printed])
        assert results[0] == results[1] == results[2], (limit, results)


def test_random_programs_keep_their_meaning():
    same_meaning_always(split_loops, 120)
    same_meaning_always(lambda func: canonicalize(split_loops(canonicalize(func))), 40)
