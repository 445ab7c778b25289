"""Canonicalization: one test per rule, and for each what must stay."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from tilewright.ir import Func
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.dce import dce


def canonical(func: Func) -> Func:
    """Without what is unused afterwards, so that the texts stay short."""
    return dce(canonicalize(func))


def value_of(expression: str, *, constants: str = "") -> str:
    """A body that prints one expression."""
    return f"{constants}\n%r = {expression}\nprint %r\nreturn".strip()


def constant(name: str, value: str, dtype: str) -> str:
    return f"%{name} = constant {{value={value}, dtype={dtype}}}\n"


# Rule 1: folding.


@pytest.mark.parametrize(
    ("op", "dtype", "numbers", "result"),
    [
        ("addi", "i8", "127 1", "-128"),
        ("subi", "u8", "0 1", "255"),
        ("muli", "i32", "65536 65536", None),
        ("divi", "i32", "-7 2", "-3"),
        ("divi {rounding=neg_inf}", "i32", "-7 2", "-4"),
        ("divi", "i32", "5 0", None),
        ("divi", "i8", "-128 -1", "-128"),
        ("remi", "i32", "5 0", "5"),
        ("remi {rounding=neg_inf}", "i32", "-7 2", "1"),
        ("shli", "i32", "1 32", None),
        ("shri", "i32", "-8 40", "-1"),
        ("shri", "u32", "8 32", None),
        ("addf", "f32", "0.5 0.25", "0.75"),
        ("addf", "f32", "16777216.0 1.0", "16777216.0"),
        ("mulf", "f16", "256.0 256.0", "inf"),
        ("divf", "f32", "1.0 -0.0", "-inf"),
        ("maxf", "f32", "-0.0 0.0", None),
        ("minf", "f32", "-0.0 0.0", "-0.0"),
    ],
)
def test_elementwise_ops_on_constants_fold(op, dtype, numbers, result):
    name, _, attrs = op.partition(" ")
    a, b = numbers.split()
    before = constant("a", a, dtype) + constant("b", b, dtype)
    shown = f"value={result}, " if result else ""
    expect(
        canonical,
        value_of(f"{name} %a, %b {attrs}".strip(), constants=before),
        f"%0 = constant {{{shown}dtype={dtype}}}\nprint %0\nreturn",
    )


def test_tiles_of_one_number_fold_through_layout_ops():
    expect(
        canonical,
        """
        %a = constant {value=2.0, dtype=f32, shape=(1, 4)}
        %b = broadcast %a {shape=(8, 4)}
        %r = permute %b {order=(1, 0)}
        %s = reshape %r {shape=(32)}
        %t = mulf %s, %s
        print %t
        return
        """,
        """
        %0 = constant {value=4.0, dtype=f32, shape=(32)}
        print %0
        return
        """,
    )


@pytest.mark.parametrize(
    "op",
    ["mulf %a, %b", "exp %a", "sqrt %b", "addf %a, %a {ftz=True}", "addf %b, %b {rounding=zero}"],
)
def test_what_another_answer_is_allowed_for_does_not_fold(op):
    """inf * 0 is a NaN of nobody's choosing; the others have a bound or flags, not one answer."""
    constants = "%a = constant {value=inf, dtype=f32}\n%b = constant {dtype=f32}\n"
    text = value_of(op, constants="\n".join(c for c in constants.splitlines() if c[:2] in op))
    unchanged(canonicalize, text)


def test_what_the_signature_fixes_folds():
    expect(
        canonical,
        """
        %e = extent %s
        %v = make_view %s {tile=(16), dim_map=(0)}
        %t = num_tiles %v
        %g = num_blocks {axis=1}
        %b = block_id {axis=2}
        %o = block_id
        print %e, %t, %g, %b, %o
        return
        """,
        """
        %0 = constant {value=100, dtype=i32}
        %1 = constant {value=7, dtype=i32}
        %2 = constant {value=3, dtype=i32}
        %3 = constant {dtype=i32}
        %o = block_id
        print %0, %1, %2, %3, %o
        return
        """,
        grid=(2, 3, 1),
    )


# Rules 2 and 3: identities.


@pytest.mark.parametrize(
    "op",
    [
        "addi %n, %zero", "addi %zero, %n", "subi %n, %zero", "muli %n, %one", "muli %one, %n",
        "divi %n, %one", "ori %n, %zero", "xori %zero, %n", "andi %n, %all", "shli %n, %zero",
        "shri %n, %zero", "maxi %n, %n", "mini %n, %n", "andi %n, %n", "ori %n, %n",
    ],
)  # fmt: skip
def test_integer_identities_give_the_operand(op):
    constants = constant("zero", "0", "i32") + constant("one", "1", "i32")
    constants += constant("all", "-1", "i32")
    expect(canonical, value_of(op, constants=constants), "print %n\nreturn")


@pytest.mark.parametrize(
    "op", ["subi %n, %n", "xori %n, %n", "muli %n, %zero", "andi %zero, %n", "remi %n, %one"]
)
def test_integer_identities_give_zero(op):
    constants = constant("zero", "0", "i32") + constant("one", "1", "i32")
    expect(
        canonical,
        value_of(op, constants=constants),
        "%1 = constant {dtype=i32}\nprint %1\nreturn",
    )


@pytest.mark.parametrize(
    "op", ["addf %f, %minus", "addf %minus, %f", "subf %f, %zero", "mulf %f, %one", "divf %f, %one"]
)
def test_exact_float_identities(op):
    constants = constant("zero", "0.0", "f32") + constant("one", "1.0", "f32")
    constants += constant("minus", "-0.0", "f32")
    expect(canonical, value_of(op, constants=constants), "print %f\nreturn")


@pytest.mark.parametrize(
    ("op", "number"),
    [
        ("addf %f, %k1", "0.0"),
        ("subf %f, %k1", "-0.0"),
        ("subf %k1, %f", "0.0"),
        ("mulf %f, %k1", "0.0"),
        ("divf %k1, %f", "1.0"),
        ("subf %f, %k1 {rounding=neg_inf}", "0.0"),
        ("mulf %f, %k1 {ftz=True}", "1.0"),
    ],
)
def test_float_identities_that_are_not_exact_stay(op, number):
    unchanged(canonicalize, value_of(op, constants=constant("k1", number, "f32")))


@pytest.mark.parametrize("op", ["subf %f, %f", "divf %f, %f", "maxf %f, %f {nan=False}"])
def test_floats_compared_with_themselves_stay(op):
    """x - x is NaN for infinities."""
    unchanged(canonicalize, value_of(op))


def test_a_float_equals_itself_only_if_it_is_no_nan():
    unchanged(canonicalize, value_of("cmpf %f, %f {predicate=eq}"))


# Rule 4: inverses.


@pytest.mark.parametrize(
    ("there", "back", "operand"),
    [
        ("negf %f", "negf %t", "f"),
        ("negi %n", "negi %t", "n"),
        ("noti %c", "noti %t", "c"),
        ("exti %n {to=i64}", "trunci %t {to=i32}", "n"),
        ("bitcast %f {to=u32}", "bitcast %t {to=f32}", "f"),
    ],
)
def test_there_and_back(there, back, operand):
    expect(
        canonical,
        f"%t = {there}\n%r = {back}\nprint %r\nreturn",
        f"print %{operand}\nreturn",
    )


def test_narrowing_first_loses_something():
    unchanged(canonicalize, "%t = trunci %n {to=i8}\n%r = exti %t {to=i32}\nprint %r\nreturn")


# Rule 5: layout.

TILE = "%v = make_view %w {tile=(4, 8), dim_map=(0, 1)}\n%a = load_view %v, %n, %n\n"


@pytest.mark.parametrize(
    ("chain", "result"),
    [
        ("%b = reshape %a {shape=(32)}\n%r = reshape %b {shape=(2, 16)}",
         "reshape %a {shape=(2, 16)}"),
        ("%b = reshape %a {shape=(32)}\n%r = reshape %b {shape=(4, 8)}", None),
        ("%r = reshape %a {shape=(4, 8)}", None),
        ("%r = broadcast %a {shape=(4, 8)}", None),
        ("%b = permute %a {order=(1, 0)}\n%r = permute %b {order=(1, 0)}", None),
        ("%r = permute %a {order=(0, 1)}", None),
        ("%r = extract %a, %n, %n {shape=(4, 8)}", None),
    ],
)  # fmt: skip
def test_layout_chains(chain, result):
    last = f"%3 = {result}\nprint %3" if result else "print %a"
    expect(canonical, f"{TILE}{chain}\nprint %r\nreturn", f"{TILE}{last}\nreturn")


def test_permutations_compose_in_order():
    expect(
        canonical,
        """
        %i = iota {size=24, dtype=i32}
        %a = reshape %i {shape=(2, 3, 4)}
        %b = permute %a {order=(1, 2, 0)}
        %c1 = permute %b {order=(1, 2, 0)}
        print %c1
        return
        """,
        """
        %i = iota {size=24, dtype=i32}
        %a = reshape %i {shape=(2, 3, 4)}
        %2 = permute %a {order=(2, 0, 1)}
        print %2
        return
        """,
    )


def test_broadcast_of_broadcast():
    expect(
        canonical,
        """
        %i = iota {size=4, dtype=i32}
        %a = reshape %i {shape=(1, 1, 4)}
        %b = broadcast %a {shape=(1, 2, 4)}
        %e = broadcast %b {shape=(8, 2, 4)}
        print %e
        return
        """,
        """
        %i = iota {size=4, dtype=i32}
        %a = reshape %i {shape=(1, 1, 4)}
        %2 = broadcast %a {shape=(8, 2, 4)}
        print %2
        return
        """,
    )


# Rule 6: comparisons and selections.


@pytest.mark.parametrize(
    ("comparison", "answer"),
    [
        ("cmpi %n, %n {predicate=le}", True),
        ("cmpi %n, %n {predicate=ne}", False),
        ("cmpi %b, %zero {predicate=ge}", True),
        ("cmpi %b, %zero {predicate=lt}", False),
        ("cmpi %u, %uzero {predicate=lt}", False),
    ],
)
def test_decided_comparisons(comparison, answer):
    setup = "%b = block_id\n" + constant("zero", "0", "i32") + constant("uzero", "0", "u32")
    shown = "value=True, " if answer else ""
    expect(
        canonical,
        value_of(comparison, constants=setup),
        f"%0 = constant {{{shown}dtype=bool}}\nprint %0\nreturn",
    )


def test_an_undecided_comparison_stays():
    unchanged(
        canonicalize,
        value_of(
            "cmpi %b, %zero {predicate=gt}", constants="%b = block_id\n%zero = constant {dtype=i32}"
        ),
    )


@pytest.mark.parametrize(
    ("op", "result"),
    [
        ("select %yes, %n, %m", "%n"),
        ("select %no, %n, %m", "%m"),
        ("select %c, %n, %n", "%n"),
        ("select %c, %yes, %no", "%c"),
    ],
)
def test_selections(op, result):
    constants = constant("yes", "True", "bool") + constant("no", "False", "bool")
    expect(canonical, value_of(op, constants=constants), f"print {result}\nreturn")


# Rule 7: checks and guards.


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


# Rule 8: branches.


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


# Rule 9: loops that run never or once, scopes.

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


# Rule 10: values that no round changes.


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


# Rule 11: what control cannot reach.


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
