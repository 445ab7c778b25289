"""Decided control flow: branches, loops, scopes, unchanging values, unreachable code."""

from __future__ import annotations

import pytest

from ir_text import expect, kernel, parse, unchanged
from support.canonical import canonical, constant
from tilewright.passes.canonicalize import canonicalize


def test_the_taken_branch_is_inlined():
    expect(
        canonical,
        """
        %yes = constant {value=True, dtype=bool}
        %r = if %yes : tile<i32> {
          print %n
          yield %n
        } else {
          print %m
          yield %m
        }
        print %r
        return
        """,
        """
        print %n
        print %n
        return
        """,
    )


def test_a_taken_branch_that_leaves_ends_its_block():
    expect(
        canonical,
        """
        %no = constant {dtype=bool}
        if %no {
          yield
        } else {
          print %n
          return
        }
        print %m
        return
        """,
        """
        print %n
        return
        """,
    )


def test_a_branch_of_scalars_is_a_select_and_equal_yields_are_one():
    expect(
        canonical,
        """
        %r, %q = if %c : tile<i32>, tile<f32> {
          yield %n, %f
        } else {
          yield %m, %f
        }
        print %r, %q
        return
        """,
        """
        %4 = select %c, %n, %m
        print %4, %f
        return
        """,
    )


def test_a_branch_of_tiles_stays_but_agreed_results_do_not():
    expect(
        canonical,
        """
        %a = iota {size=4, dtype=i32}
        %b = negi %a
        %r, %q = if %c : tile<4xi32>, tile<4xi32> {
          yield %a, %b
        } else {
          yield %b, %b
        }
        print %r, %q
        return
        """,
        """
        %a = iota {size=4, dtype=i32}
        %b = negi %a
        %r = if %c : tile<4xi32> {
          yield %a
        } else {
          yield %b
        }
        print %r, %b
        return
        """,
    )


def test_arms_that_yield_the_same_number():
    expect(
        canonical,
        """
        %r = if %c : tile<i32> {
          print %n
          %one = constant {value=1, dtype=i32}
          yield %one
        } else {
          %other = constant {value=1, dtype=i32}
          yield %other
        }
        print %r
        return
        """,
        """
        if %c {
          print %n
          yield
        } else {
          yield
        }
        %2 = constant {value=1, dtype=i32}
        print %2
        return
        """,
    )


BOUNDS = constant("zero", "0", "i32") + constant("one", "1", "i32") + constant("four", "4", "i32")


def test_a_loop_that_never_runs_gives_its_inits():
    expect(
        canonical,
        f"""
{BOUNDS}
%r = for %four, %four, %one, %f {{ (%i: tile<i32>, %a: tile<f32>)
  print %a
  continue %g
}}
print %r
return
""",
        "print %f\nreturn",
    )


def test_a_step_that_is_not_positive_gives_no_round():
    expect(
        canonical,
        f"""
{BOUNDS}
%r = for %zero, %four, %zero, %f {{ (%i: tile<i32>, %a: tile<f32>)
  continue %g
}}
print %r
return
""",
        "print %f\nreturn",
    )


def test_a_loop_that_runs_once_is_its_body():
    expect(
        canonical,
        f"""
{BOUNDS}
%r = for %zero, %four, %four, %f {{ (%i: tile<i32>, %a: tile<f32>)
  print %i
  %b = negf %a
  continue %b
}}
print %r
return
""",
        """
        %zero = constant {dtype=i32}
        print %zero
        %b = negf %f
        print %b
        return
        """,
    )


@pytest.mark.parametrize(
    ("lower", "upper", "step", "word"),
    [
        (0, 1, 1, ""), (0, 4, 4, ""), (0, 4, 5, ""), (3, 4, 1, ""), (-1, 0, 1, ""),
        (0, 2, 1, "for"), (0, 4, 3, "for"), (-2, 0, 1, "for"),
        (0, 0, 1, "never"), (1, 0, 1, "never"), (0, 4, 0, "never"), (0, 4, -1, "never"),
    ],
)  # fmt: skip
def test_loops_that_run_once_by_their_bounds(lower, upper, step, word):
    numbers = "".join(
        constant(name, str(n), "i32") for name, n in (("a", lower), ("b", upper), ("s", step))
    )
    text = f"{numbers}\nfor %a, %b, %s {{ (%i: tile<i32>)\nprint %i\ncontinue\n}}\nreturn"
    names = [op.name for op in canonical(parse(kernel(text))).walk()]
    assert ("for" in names) == (word == "for")
    assert ("print" in names) == (word != "never")


def test_a_loop_that_runs_once_but_leaves_in_several_places_stays():
    unchanged(
        canonicalize,
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        for %zero, %one, %one { (%i: tile<i32>)
          if %c {
            break
          } else {
            yield
          }
          print %i
          continue
        }
        return
        """,
    )


def test_a_loop_left_at_its_end_and_a_scope():
    expect(
        canonical,
        """
        %r = loop %n { (%a: tile<i32>)
          %s1 = scope : tile<i32> {
            %b = addi %a, %m
            leave %b
          }
          break %s1
        }
        print %r
        return
        """,
        """
        %b = addi %n, %m
        print %b
        return
        """,
    )


def test_a_scope_left_early_stays():
    unchanged(
        canonicalize,
        """
        scope {
          if %c {
            leave
          } else {
            yield
          }
          print %n
          leave
        }
        return
        """,
    )


def test_an_unchanging_carried_value_is_its_init():
    expect(
        canonical,
        """
        %one = constant {value=1, dtype=i32}
        %r, %q = for %n, %m, %one, %f, %g { (%i: tile<i32>, %a: tile<f32>, %b: tile<f32>)
          %s1 = addf %a, %b
          if %c {
            break %s1, %g
          } else {
            yield
          }
          continue %s1, %b
        }
        print %r, %q
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %r = for %n, %m, %one, %f { (%i: tile<i32>, %a: tile<f32>)
          %s1 = addf %a, %g
          if %c {
            break %s1
          } else {
            yield
          }
          continue %s1
        }
        print %r, %g
        return
        """,
    )


def test_a_value_changed_only_by_a_break_is_fixed_inside_but_not_after():
    expect(
        canonical,
        """
        %r = loop %f { (%a: tile<f32>)
          print %a
          if %c {
            break %g
          } else {
            yield
          }
          continue %a
        }
        print %r
        return
        """,
        """
        %r = loop %f { (%a: tile<f32>)
          print %f
          if %c {
            break %g
          } else {
            yield
          }
          continue %f
        }
        print %r
        return
        """,
    )


def test_code_after_a_branch_that_never_comes_back_is_dropped():
    expect(
        canonical,
        """
        %r = loop %f { (%a: tile<f32>)
          if %c {
            break %a
          } else {
            %b = negf %a
            continue %b
          }
          %e = addf %a, %a
          print %e
          continue %e
        }
        print %r
        return
        """,
        """
        %r = loop %f { (%a: tile<f32>)
          if %c {
            break %a
          } else {
            %b = negf %a
            continue %b
          }
          %5 = constant {dtype=f32}
          continue %5
        }
        print %r
        return
        """,
    )


def test_a_branch_that_never_comes_back_in_a_scope_that_is_flattened():
    """The end of the scope's own block is no end of the block it goes into."""
    expect(
        canonical,
        """
        loop {
          scope {
            if %c {
              break
            } else {
              continue
            }
            print %n
            leave
          }
          print %m
          continue
        }
        return
        """,
        """
        loop {
          if %c {
            break
          } else {
            continue
          }
          continue
        }
        return
        """,
    )


def test_a_branch_of_tiles_stays_a_branch():
    unchanged(
        canonical,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %a = load_view %v, %n
        %b = load_view %v, %m
        %r = if %c : tile<4xf32> {
          yield %a
        } else {
          yield %b
        }
        print %r
        return
        """,
    )
