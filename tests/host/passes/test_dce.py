"""Dead code: what is unused goes, with all that only it needed; effects stay."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from support.programs import same_meaning_always
from tilewright.passes.dce import dce


def test_unused_ops_and_what_only_they_used():
    expect(
        dce,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %a = load_view %v, %n
        %b = addf %a, %a
        %e = addi %n, %n
        print %n
        return
        """,
        "print %n\nreturn",
    )


@pytest.mark.parametrize(
    "op",
    [
        "%r = check %n, %m",
        "assert %c",
        "print",
        "store_ptr %p, %f",
        "%r = atomic_rmw %p, %f",
        "%r = atomic_cas %p, %f, %g",
    ],
)
def test_effects_stay_even_if_unused(op):
    unchanged(dce, f"{op}\nreturn")


def test_a_branch_and_a_bounded_loop_that_do_nothing_go():
    expect(
        dce,
        """
        %one = constant {value=1, dtype=i32}
        %r = for %n, %m, %one, %f { (%i: tile<i32>, %a: tile<f32>)
          %b = if %c : tile<f32> {
            break %a
          } else {
            %e = negf %a
            yield %e
          }
          continue %b
        }
        return
        """,
        "return",
    )


def test_an_unbounded_loop_stays():
    unchanged(
        dce,
        """
        loop {
          if %c {
            break
          } else {
            yield
          }
          continue
        }
        return
        """,
    )


def test_carried_values_that_only_feed_themselves_go():
    expect(
        dce,
        """
        %one = constant {value=1, dtype=i32}
        %r, %q = for %n, %m, %one, %f, %g { (%i: tile<i32>, %a: tile<f32>, %b: tile<f32>)
          %a2 = addf %a, %b
          %b2 = negf %b
          print %b2
          if %c {
            continue %a, %b2
          } else {
            yield
          }
          continue %a2, %b2
        }
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %q = for %n, %m, %one, %g { (%i: tile<i32>, %b: tile<f32>)
          %b2 = negf %b
          print %b2
          if %c {
            continue %b2
          } else {
            yield
          }
          continue %b2
        }
        return
        """,
    )


def test_a_carried_value_that_feeds_another_stays():
    unchanged(
        dce,
        """
        %one = constant {value=1, dtype=i32}
        %r, %q = for %n, %m, %one, %f, %g { (%i: tile<i32>, %a: tile<f32>, %b: tile<f32>)
          %b2 = negf %a
          %a2 = addf %b, %b
          continue %a2, %b2
        }
        print %q
        return
        """,
    )


def test_what_decides_control_stays():
    unchanged(
        dce,
        """
        %one = constant {value=1, dtype=i32}
        %r = for %n, %m, %one, %k { (%i: tile<i32>, %a: tile<i32>)
          %b = addi %a, %i
          %stop = cmpi %b, %m {predicate=gt}
          if %stop {
            break %b
          } else {
            yield
          }
          print %i
          continue %b
        }
        return
        """,
    )


def test_an_early_return_keeps_what_leads_to_it():
    unchanged(
        dce,
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %stop = cmpi %i, %k {predicate=gt}
          if %stop {
            return
          } else {
            yield
          }
          continue
        }
        print %n
        return
        """,
    )


def test_unused_results_of_branches_and_scopes():
    expect(
        dce,
        """
        %r, %q = if %c : tile<f32>, tile<f32> {
          %a = negf %f
          yield %a, %f
        } else {
          yield %f, %g
        }
        %s1, %s2 = scope : tile<i32>, tile<i32> {
          if %c {
            print %n
            leave %n, %m
          } else {
            yield
          }
          %e = addi %n, %m
          leave %e, %n
        }
        print %q, %s2
        return
        """,
        """
        %q = if %c : tile<f32> {
          yield %f
        } else {
          yield %g
        }
        %s2 = scope : tile<i32> {
          if %c {
            print %n
            leave %m
          } else {
            yield
          }
          leave %n
        }
        print %q, %s2
        return
        """,
    )


def test_bodies_of_combiners():
    expect(
        dce,
        """
        %i = iota {size=4, dtype=i32}
        %r = reduce %i {identities=(0)} { (%e: tile<i32>, %acc: tile<i32>)
          %unused = muli %e, %e
          %t = addi %e, %acc
          yield %t
        }
        print %r
        return
        """,
        """
        %i = iota {size=4, dtype=i32}
        %r = reduce %i {identities=(0)} { (%e: tile<i32>, %acc: tile<i32>)
          %t = addi %e, %acc
          yield %t
        }
        print %r
        return
        """,
    )


def test_a_token_keeps_its_load():
    unchanged(
        dce,
        """
        %v = make_view %z {tile=(4), dim_map=(0)}
        %t = make_token
        %a, %t2 = load_view_tko %v, %n, %t
        %b = constant {dtype=f32, shape=(4)}
        %t3 = store_view_tko %b, %v, %n, %t2
        return
        """,
    )


def test_random_programs_keep_their_meaning():
    same_meaning_always(dce, 80)


def test_what_a_dead_slot_of_a_loop_begins_with_goes():
    expect(
        dce,
        """
        %one = constant {value=1, dtype=i32}
        %e = negf %f
        %r = for %n, %m, %one, %e { (%i: tile<i32>, %a: tile<f32>)
          print %i
          continue %a
        }
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          print %i
          continue
        }
        return
        """,
    )
