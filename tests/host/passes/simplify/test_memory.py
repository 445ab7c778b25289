"""Checks that cannot fail, known guards and masks."""

from __future__ import annotations

import pytest

from ir_text import apply, expect, kernel, unchanged
from support.canonical import canonical
from tilewright.passes.canonicalize import canonicalize


def test_a_check_that_constants_prove_is_true_and_its_guard_goes():
    expect(
        canonical,
        """
        %v = make_view %s {tile=(16), dim_map=(0)}
        %t = num_tiles %v
        %i = constant {value=6, dtype=i32}
        %ok = check %i, %t {tensor='s'}
        %a = load_view %v, %i, %ok
        print %a
        return
        """,
        """
        %v = make_view %s {tile=(16), dim_map=(0)}
        %i = constant {value=6, dtype=i32}
        %3 = load_view %v, %i
        print %3
        return
        """,
    )


def test_a_check_of_a_loop_variable_is_proved_by_its_bounds():
    expect(
        canonical,
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %seven = constant {value=7, dtype=i32}
        for %zero, %seven, %one { (%i: tile<i32>)
          %ok = check %i, %seven
          print %ok
          continue
        }
        return
        """,
        """
        %zero = constant {dtype=i32}
        %one = constant {value=1, dtype=i32}
        %seven = constant {value=7, dtype=i32}
        for %zero, %seven, %one { (%i: tile<i32>)
          %4 = constant {value=True, dtype=bool}
          print %4
          continue
        }
        return
        """,
    )


@pytest.mark.parametrize("index", ["7", "-1"])
def test_a_check_that_surely_fails_stays(index):
    unchanged(
        canonicalize,
        f"""
        %t = constant {{value=7, dtype=i32}}
        %i = constant {{value={index}, dtype=i32}}
        %ok = check %i, %t
        print %ok
        return
        """,
    )


def test_false_guards_and_true_asserts():
    expect(
        canonical,
        """
        %no = constant {dtype=bool}
        %yes = constant {value=True, dtype=bool}
        %v = make_view %z {tile=(4), dim_map=(0)}
        %a = load_view %v, %n, %no
        store_view %a, %v, %m, %no
        store_view %a, %v, %m, %yes
        assert %yes
        assert %c
        return
        """,
        """
        %v = make_view %z {tile=(4), dim_map=(0)}
        %5 = constant {dtype=f32, shape=(4)}
        store_view %5, %v, %m
        assert %c
        return
        """,
    )


def test_a_false_guard_with_other_padding_stays():
    unchanged(
        canonicalize,
        """
        %no = constant {dtype=bool}
        %v = make_view %z {tile=(4), dim_map=(0), padding=-inf}
        %a = load_view %v, %n, %no
        print %a
        return
        """,
    )


def test_masks_of_pointer_accesses():
    expect(
        canonical,
        """
        %yes = constant {value=True, dtype=bool}
        %no = constant {dtype=bool}
        %a = load_ptr %p, %yes, %f
        store_ptr %p, %a, %no
        store_ptr %p, %a, %yes
        return
        """,
        """
        %1 = load_ptr %p
        store_ptr %p, %1
        return
        """,
    )


COUNTED = """
%v = make_view %x {{tile=(4), dim_map=(0)}}
%t = num_tiles %v
%q = num_tiles %v
%zero = constant {{dtype=i32}}
%one = constant {{value=1, dtype=i32}}
for {bounds}, %one {{ (%i: tile<i32>)
  %ok = check %i, {extent}
  print %ok
  continue
}}
return
"""


def test_a_loop_up_to_the_extent_proves_its_checks():
    text = apply(canonicalize, kernel(COUNTED.format(bounds="%zero, %t", extent="%t")))
    assert "check" not in text


@pytest.mark.parametrize(
    ("bounds", "extent"), [("%n, %t", "%t"), ("%zero, %t", "%q"), ("%zero, %n", "%t")]
)
def test_other_loops_do_not(bounds, extent):
    unchanged(canonicalize, COUNTED.format(bounds=bounds, extent=extent))
