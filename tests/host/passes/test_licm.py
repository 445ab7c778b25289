"""Loop-invariant code: pure ops move out, everything else stays where it is."""

from __future__ import annotations

from ir_text import expect, unchanged
from support.programs import same_meaning_always
from tilewright.passes.licm import licm


def test_invariant_ops_leave_all_loops_they_can():
    expect(
        licm,
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          for %n, %m, %one { (%j: tile<i32>)
            %a = addi %n, %m
            %b = addi %a, %i
            %e = addi %b, %j
            print %e
            continue
          }
          continue
        }
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %a = addi %n, %m
        for %n, %m, %one { (%i: tile<i32>)
          %b = addi %a, %i
          for %n, %m, %one { (%j: tile<i32>)
            %e = addi %b, %j
            print %e
            continue
          }
          continue
        }
        return
        """,
    )


def test_carried_values_are_not_invariant_but_the_outer_ones_are():
    expect(
        licm,
        """
        %r = loop %f { (%a: tile<f32>)
          %b = addf %a, %f
          %e = addf %f, %g
          %q = mulf %b, %e
          %stop = cmpf %q, %g {predicate=gt}
          if %stop {
            %late = negf %g
            break %late
          } else {
            yield
          }
          continue %q
        }
        print %r
        return
        """,
        """
        %e = addf %f, %g
        %r = loop %f { (%a: tile<f32>)
          %b = addf %a, %f
          %q = mulf %b, %e
          %stop = cmpf %q, %g {predicate=gt}
          if %stop {
            %late = negf %g
            break %late
          } else {
            yield
          }
          continue %q
        }
        print %r
        return
        """,
    )


def test_effects_and_loads_stay():
    unchanged(
        licm,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %ok = check %n, %m
          %a = load_view %v, %n, %ok
          %b = load_view %v, %n
          print %a, %b
          continue
        }
        return
        """,
    )


def test_what_is_free_to_make_again_moves_only_with_what_needs_it():
    expect(
        licm,
        """
        %r0 = iota {size=4, dtype=i32}
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %stays = constant {value=2, dtype=i32, shape=(8, 4)}
          %moves = constant {value=3, dtype=i32, shape=(4)}
          %a = muli %r0, %moves
          %b = reshape %a {shape=(1, 4)}
          %e = broadcast %b {shape=(8, 4)}
          print %stays, %e
          continue
        }
        return
        """,
        """
        %r0 = iota {size=4, dtype=i32}
        %one = constant {value=1, dtype=i32}
        %moves = constant {value=3, dtype=i32, shape=(4)}
        %a = muli %r0, %moves
        for %n, %m, %one { (%i: tile<i32>)
          %stays = constant {value=2, dtype=i32, shape=(8, 4)}
          %b = reshape %a {shape=(1, 4)}
          %e = broadcast %b {shape=(8, 4)}
          print %stays, %e
          continue
        }
        return
        """,
    )


def test_a_reduction_moves_unless_its_body_uses_the_loop():
    expect(
        licm,
        """
        %r0 = iota {size=4, dtype=i32}
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %a = reduce %r0 {identities=(0)} { (%e: tile<i32>, %acc: tile<i32>)
            %t = addi %e, %acc
            yield %t
          }
          %b = reduce %r0 {identities=(0)} { (%e2: tile<i32>, %acc2: tile<i32>)
            %t2 = maxi %e2, %i
            yield %t2
          }
          print %a, %b
          continue
        }
        return
        """,
        """
        %r0 = iota {size=4, dtype=i32}
        %one = constant {value=1, dtype=i32}
        %a = reduce %r0 {identities=(0)} { (%e: tile<i32>, %acc: tile<i32>)
          %t = addi %e, %acc
          yield %t
        }
        for %n, %m, %one { (%i: tile<i32>)
          %b = reduce %r0 {identities=(0)} { (%e2: tile<i32>, %acc2: tile<i32>)
            %t2 = maxi %e2, %i
            yield %t2
          }
          print %a, %b
          continue
        }
        return
        """,
    )


def test_random_programs_keep_their_meaning():
    same_meaning_always(licm, 80)
