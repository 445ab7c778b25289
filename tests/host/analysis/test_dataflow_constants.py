"""Known numbers: where they come from and how far they reach."""

from __future__ import annotations

from hypothesis import given

from ir_text import kernel, parse
from support.straight import PROGRAMS, RUNS, program
from tilewright.analysis.dataflow import constants
from tilewright.ir.semantics import same


def known(body, **options):
    """The known values with names."""
    found = constants(parse(kernel(body), **options))
    return {value.name: number for value, number in found.items() if value.name}


def test_constants_fold_through_elementwise_and_layout_ops():
    assert known(
        """
        %a = constant {value=3, dtype=i32, shape=(1, 4)}
        %b = addi %a, %a
        %e = broadcast %b {shape=(2, 4)}
        %j = cat %e, %e
        %l = negi %n
        %q = cmpi %b, %a {predicate=gt}
        return
        """
    ) == {"a": 3, "b": 6, "e": 6, "j": 6, "q": True}


def test_a_tile_of_two_numbers_is_not_known():
    found = known(
        """
        %a = constant {value=0.0, dtype=f32, shape=(4)}
        %b = constant {value=-0.0, dtype=f32, shape=(4)}
        %e = cat %a, %b
        return
        """
    )
    assert "e" not in found


def test_extents_tile_counts_and_grid():
    assert known(
        """
        %e = extent %s
        %q = extent %x
        %v = make_view %s {tile=(16), dim_map=(0), step=(8)}
        %t = num_tiles %v
        %v2 = make_view %z {tile=(16), dim_map=(0), frame=(40)}
        %t2 = num_tiles %v2
        %g = num_blocks
        %b = block_id
        %b1 = block_id {axis=1}
        return
        """,
        grid=(5, 1),
    ) == {"e": 100, "t": 13, "t2": 3, "g": 5, "b1": 0}


def test_results_of_branches():
    found = known(
        """
        %yes = constant {value=True, dtype=bool}
        %one = constant {value=1, dtype=i32}
        %two = constant {value=2, dtype=i32}
        %a = if %yes : tile<i32> {
          yield %one
        } else {
          yield %n
        }
        %b, %e = if %c : tile<i32>, tile<i32> {
          yield %one, %one
        } else {
          yield %one, %two
        }
        %q = if %c : tile<i32> {
          return
        } else {
          yield %two
        }
        return
        """
    )
    assert (found["a"], found["b"], found["q"]) == (1, 1, 2)
    assert "e" not in found


def test_carried_values_are_not_known():
    found = known(
        """
        %one = constant {value=1, dtype=i32}
        %r = for %n, %m, %one, %one { (%i: tile<i32>, %a: tile<i32>)
          %b = addi %a, %one
          continue %b
        }
        return
        """
    )
    assert found == {"one": 1}


def test_the_same_to_the_bit():
    nan = float("nan")
    assert same(nan, -nan)
    assert not same(0.0, -0.0)
    assert not same(1, True)
    assert not same(1, 1.0)


@given(PROGRAMS)
def test_known_numbers_are_what_the_reference_computes(steps):
    done = program(steps)
    found = constants(done.func)
    for value, computed in zip(done.values, done.computed, strict=True):
        same_everywhere = bool((computed[RUNS] == computed[0, 0]).all())
        assert value not in found or (same_everywhere and found[value] == computed[0, 0])
