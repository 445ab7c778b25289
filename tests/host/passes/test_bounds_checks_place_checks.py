"""Checks leave loops, and a launch fails as before: at the same check, index and block."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from ir_text import expect, unchanged
from support.kernels import ir_of, out, scalar, tensor
from support.programs import same_meaning_always
from tilewright.backend.reference import interpreter as reference
from tilewright.base.dtypes import f32, i32
from tilewright.ir.core import Func
from tilewright.passes.bounds_checks import place_checks
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.cse import cse
from tilewright.passes.licm import licm


def test_what_does_not_change_is_checked_once():
    expect(
        place_checks,
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %ok = check %n, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %runs = cmpi %n, %m {predicate=lt}
        %ok = if %runs : tile<bool> {
          %a = check %n, %m {tensor='x', hoisted=True}
          yield %a
        } else {
          %b = constant {value=True, dtype=bool}
          yield %b
        }
        for %n, %m, %one { (%i: tile<i32>)
          print %ok
          continue
        }
        return
        """,
    )


def test_a_counted_index_is_checked_at_the_round_that_fails():
    expect(
        place_checks,
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %ok = check %i, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %runs = cmpi %n, %m {predicate=lt}
        %ok = if %runs : tile<bool> {
          %c = constant {value=1, dtype=i32}
          %last = subi %m, %c
          %least = mini %last, %m
          %most = maxi %n, %least
          %zero = constant {value=0, dtype=i32}
          %below = cmpi %n, %zero {predicate=lt}
          %first = select %below, %n, %most
          %a = check %first, %m {tensor='x', hoisted=True}
          yield %a
        } else {
          %b = constant {value=True, dtype=bool}
          yield %b
        }
        for %n, %m, %one { (%i: tile<i32>)
          print %ok
          continue
        }
        return
        """,
    )


def test_a_step_that_is_not_known_may_be_none():
    expect(
        place_checks,
        """
        for %n, %m, %n { (%i: tile<i32>)
          %ok = check %n, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
        """
        %less = cmpi %n, %m {predicate=lt}
        %zero = constant {value=0, dtype=i32}
        %forward = cmpi %zero, %n {predicate=lt}
        %runs = andi %less, %forward
        %ok = if %runs : tile<bool> {
          %a = check %n, %m {tensor='x', hoisted=True}
          yield %a
        } else {
          %b = constant {value=True, dtype=bool}
          yield %b
        }
        for %n, %m, %n { (%i: tile<i32>)
          print %ok
          continue
        }
        return
        """,
    )


def test_what_has_left_an_inner_loop_leaves_the_outer_one_too():
    expect(
        place_checks,
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          for %one, %m, %one { (%j: tile<i32>)
            %ok = check %n, %m {tensor='x'}
            print %ok
            continue
          }
          continue
        }
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %inner = cmpi %one, %m {predicate=lt}
        %outer = cmpi %n, %m {predicate=lt}
        %ok = if %outer : tile<bool> {
          %c = if %inner : tile<bool> {
            %a = check %n, %m {tensor='x', hoisted=True}
            yield %a
          } else {
            %b = constant {value=True, dtype=bool}
            yield %b
          }
          yield %c
        } else {
          %d = constant {value=True, dtype=bool}
          yield %d
        }
        for %n, %m, %one { (%i: tile<i32>)
          for %one, %m, %one { (%j: tile<i32>)
            print %ok
            continue
          }
          continue
        }
        return
        """,
    )


STAYS = {
    "inside a branch": """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %less = cmpi %i, %n {predicate=lt}
          if %less {
            %ok = check %n, %m {tensor='x'}
            print %ok
            yield
          } else {
            yield
          }
          continue
        }
        return
        """,
    "a step that is not 1": """
        %two = constant {value=2, dtype=i32}
        for %n, %m, %two { (%i: tile<i32>)
          %ok = check %i, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
    "a loop that may be left": """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %less = cmpi %i, %n {predicate=lt}
          if %less {
            break
          } else {
            yield
          }
          %ok = check %n, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
    "a kernel that may end in the loop": """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %less = cmpi %i, %n {predicate=lt}
          if %less {
            return
          } else {
            yield
          }
          %ok = check %n, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
    "an index that is computed": """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          %j = addi %i, %n
          %ok = check %j, %m {tensor='x'}
          print %ok
          continue
        }
        return
        """,
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name):
    unchanged(place_checks, STAYS[name])


def test_programs_mean_the_same():
    same_meaning_always(place_checks)


def walk(z: tl.TensorMut[f32], x: tl.Tensor[f32], rows: i32, first: i32, columns: i32) -> None:
    """Sums tiles of x, row by row, as far as the numbers say."""
    xs = x.partition((2, 4))
    total = tl.zeros((2, 4), f32)
    for i in range(rows):
        for j in range(first, columns):
            total = total + xs.load([i, j])
    z.store(total)


def run(func: Func, rows: int, first: int, columns: int, shape: tuple[int, int]):
    x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    z = np.full((2, 4), np.nan, np.float32)
    outcome = reference.run(func, [z, x, rows, first, columns], (1, 1, 1))
    failure = outcome.failure
    return z, failure and (failure.site.tensor, failure.site.axis, failure.index, failure.extent)


@pytest.mark.parametrize("rows", [-1, 0, 1, 3, 4, 6])
@pytest.mark.parametrize("first", [-2, 0, 1, 5])
@pytest.mark.parametrize("columns", [-1, 0, 1, 2, 5, 6, 9])
def test_fails_if_and_only_if_it_failed(rows, first, columns):
    before = ir_of(walk, out((2, 4)), tensor(2), *[scalar(i32)] * 3)
    after = place_checks(licm(cse(canonicalize(before))))
    assert all(op.attrs["hoisted"] for op in after.walk() if op.name == "check")
    shape = (7, 19)  # 4 x 5 tiles
    expected, failed = run(before, rows, first, columns, shape)
    got, fails = run(after, rows, first, columns, shape)
    assert (fails is None) == (failed is None)
    if failed is None:
        np.testing.assert_array_equal(got, expected)
    elif rows <= 4 or (first >= 0 and columns <= 5):  # only one of the checks can fail
        assert fails == failed
