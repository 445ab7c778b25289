"""Merging equal ops: what is equal, where it is known, and which loads may have changed."""

from __future__ import annotations

import pytest

from ir_text import apply, expect, unchanged
from support.programs import same_meaning_always
from tilewright.passes.cse import cse


def test_equal_ops_are_one_also_through_each_other():
    expect(
        cse,
        """
        %a = addi %n, %m
        %b = addi %m, %n
        %e = negi %a
        %q = negi %b
        print %e, %q
        return
        """,
        """
        %a = addi %n, %m
        %e = negi %a
        print %e, %e
        return
        """,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("subi %n, %m", "subi %m, %n"),
        ("divi %n, %m", "divi %n, %m {rounding=neg_inf}"),
        ("addf %f, %g", "addf %f, %g {rounding=zero}"),
        ("addf %f, %g", "addf %g, %f"),
        ("constant {value=0.0, dtype=f32}", "constant {value=-0.0, dtype=f32}"),
        ("constant {value=1, dtype=i32}", "constant {value=1, dtype=u32}"),
        ("itof %n {to=f32}", "itof %n {to=f64}"),
        ("block_id", "block_id {axis=1}"),
    ],
)
def test_what_differs_in_anything_stays(first, second):
    unchanged(cse, f"%a = {first}\n%b = {second}\nprint %a, %b\nreturn")


def test_nan_constants_and_views_merge():
    expect(
        cse,
        """
        %a = constant {value=nan, dtype=f32}
        %b = constant {value=nan, dtype=f32}
        %v = make_view %x {tile=(4), dim_map=(0)}
        %v2 = make_view %x {tile=(4), dim_map=(0)}
        %t = num_tiles %v
        %t2 = num_tiles %v2
        print %a, %b, %t, %t2
        return
        """,
        """
        %a = constant {value=nan, dtype=f32}
        %v = make_view %x {tile=(4), dim_map=(0)}
        %t = num_tiles %v
        print %a, %a, %t, %t
        return
        """,
    )


REDUCE = """
%{name} = reduce %i {{identities=({identity})}} {{ (%{e}: tile<i32>, %{acc}: tile<i32>)
  %{t} = {op} %{e}, %{acc}
  yield %{t}
}}
"""


def reduce(name: str, op: str = "addi", identity: int = 0) -> str:
    parts = {part: f"{part}_{name}" for part in ("e", "acc", "t")}
    return REDUCE.format(name=name, op=op, identity=identity, **parts)


def test_equal_reductions_are_one():
    text = "%i = iota {size=4, dtype=i32}\n"
    after = f"{text}{reduce('a')}print %a, %a\nreturn"
    expect(cse, f"{text}{reduce('a')}{reduce('b')}print %a, %b\nreturn", after)


@pytest.mark.parametrize("other", [reduce("b", "subi"), reduce("b", identity=1)])
def test_reductions_that_differ_inside_stay(other):
    head = "%i = iota {size=4, dtype=i32}\n"
    unchanged(cse, f"{head}{reduce('a')}{other}print %a, %b\nreturn")


def test_known_inside_but_not_after_a_region():
    expect(
        cse,
        """
        %a = addi %n, %m
        if %c {
          %b = addi %n, %m
          %e = muli %n, %m
          print %b, %e
          yield
        } else {
          %e = muli %n, %m
          print %e
          yield
        }
        %q = muli %n, %m
        print %q
        return
        """,
        """
        %a = addi %n, %m
        if %c {
          %e = muli %n, %m
          print %a, %e
          yield
        } else {
          %e = muli %n, %m
          print %e
          yield
        }
        %q = muli %n, %m
        print %q
        return
        """,
    )


def test_equal_checks_are_one_but_of_another_tensor_not():
    expect(
        cse,
        """
        %a = check %n, %m {tensor='x'}
        %b = check %n, %m {tensor='x'}
        %e = check %n, %m {tensor='y'}
        %q = check %n, %m {tensor='x', axis=1}
        print %a, %b, %e, %q
        return
        """,
        """
        %a = check %n, %m {tensor='x'}
        %e = check %n, %m {tensor='y'}
        %q = check %n, %m {tensor='x', axis=1}
        print %a, %a, %e, %q
        return
        """,
    )


def test_prints_stay():
    unchanged(cse, "print %n\nprint %n\nreturn")


def test_loads_of_read_only_memory_merge_across_writes_of_other_memory():
    expect(
        cse,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %o = make_view %z {tile=(4), dim_map=(0)}
        %a = load_view %v, %n
        store_view %a, %o, %n
        if %c {
          %b = load_view %v, %n
          store_view %b, %o, %m
          yield
        } else {
          yield
        }
        return
        """,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %o = make_view %z {tile=(4), dim_map=(0)}
        %a = load_view %v, %n
        store_view %a, %o, %n
        if %c {
          store_view %a, %o, %m
          yield
        } else {
          yield
        }
        return
        """,
    )


def test_loads_of_written_memory_merge_only_between_writes():
    expect(
        cse,
        """
        %o = make_view %z {tile=(4), dim_map=(0)}
        %a = load_view %o, %n
        %b = load_view %o, %n
        store_view %b, %o, %n
        %e = load_view %o, %n
        store_view %e, %o, %m
        return
        """,
        """
        %o = make_view %z {tile=(4), dim_map=(0)}
        %a = load_view %o, %n
        store_view %a, %o, %n
        %e = load_view %o, %n
        store_view %e, %o, %m
        return
        """,
    )


def test_loads_do_not_merge_into_a_loop_that_writes():
    unchanged(
        cse,
        """
        %o = make_view %z {tile=(4), dim_map=(0)}
        %one = constant {value=1, dtype=i32}
        %a = load_view %o, %n
        for %n, %m, %one { (%i: tile<i32>)
          %b = load_view %o, %n
          %e = addf %b, %a
          store_view %e, %o, %n
          continue
        }
        %q = load_view %o, %n
        print %q
        return
        """,
    )


def test_a_write_through_a_pointer_may_be_to_any_memory():
    unchanged(
        cse,
        """
        %v = make_view %x {tile=(4), dim_map=(0)}
        %a = load_view %v, %n
        store_ptr %p, %f
        %b = load_view %v, %n
        print %a, %b
        return
        """,
    )


def test_loads_through_pointers_stay():
    unchanged(cse, "%a = load_ptr %p\n%b = load_ptr %p\nprint %a, %b\nreturn")


def test_guards_are_part_of_a_load():
    text = apply(
        cse,
        """
        kernel test(%x: tensor<?xf32, strides=[1]>, %n: tile<i32>, %c: tile<bool>) {
          %v = make_view %x {tile=(4), dim_map=(0)}
          %a = load_view %v, %n, %c
          %b = load_view %v, %n
          %d = load_view %v, %n, %c
          print %a, %b, %d
          return
        }
        """,
    )
    assert text.count("load_view") == 2


def test_random_programs_keep_their_meaning():
    same_meaning_always(cse, 80)


def test_random_programs_with_pointers_keep_their_meaning():
    same_meaning_always(cse, 40, pointers=True)
