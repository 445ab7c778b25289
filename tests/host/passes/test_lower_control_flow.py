"""Desugaring: one test per rule, and that no program keeps a form that Tile IR refuses."""

from __future__ import annotations

import itertools

import pytest

from ir_text import expect, kernel, parse, unchanged
from support.programs import same_meaning_always
from tilewright.analysis.structure import structure
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import i16, i32, int_range
from tilewright.ir.attrs import Rounding
from tilewright.ir.core import Func
from tilewright.ir.verify import verify
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.cse import cse
from tilewright.passes.dce import dce
from tilewright.passes.lower_control_flow import lower_control_flow

INTEGERS = {"i16": i16, "i32": i32}


def test_plain_control_flow_stays():
    unchanged(
        lower_control_flow,
        """
        %one = constant {value=1, dtype=i32}
        %r = for %n, %m, %one, %f { (%i: tile<i32>, %a: tile<f32>)
          if %c {
            continue %g
          } else {
            yield
          }
          continue %a
        }
        %q = loop %r { (%b: tile<f32>)
          if %d {
            break %b
          } else {
            yield
          }
          continue %g
        }
        print %q
        return
        """,
    )


def test_a_for_with_a_break_is_a_loop():
    expect(
        lower_control_flow,
        """
        %one = constant {value=1, dtype=i32}
        %r = for %n, %m, %one, %f { (%i: tile<i32>, %a: tile<f32>)
          if %c {
            break %g
          } else {
            yield
          }
          print %i
          continue %a
        }
        print %r
        return
        """,
        """
        %one = constant {value=1, dtype=i32}
        %0, %r = loop %n, %f { (%i: tile<i32>, %a: tile<f32>)
          %done = cmpi %i, %m {predicate=ge}
          if %done {
            break %i, %a
          } else {
            yield
          }
          %next = addi %i, %one
          if %c {
            break %i, %g
          } else {
            yield
          }
          print %i
          continue %next, %a
        }
        print %r
        return
        """,
    )


def test_an_unknown_step_neither_wraps_nor_goes_backward():
    expect(
        lower_control_flow,
        """
        for %n, %m, %k { (%i: tile<i32>)
          if %c {
            break
          } else {
            yield
          }
          continue
        }
        return
        """,
        """
        %zero = constant {dtype=i32}
        %forward = cmpi %k, %zero {predicate=gt}
        %start = select %forward, %n, %m
        %0 = loop %start { (%i: tile<i32>)
          %done = cmpi %i, %m {predicate=ge}
          if %done {
            break %i
          } else {
            yield
          }
          %left = subi %m, %i
          %1 = bitcast %left {to=u32}
          %2 = bitcast %k {to=u32}
          %3 = mini %1, %2
          %4 = bitcast %3 {to=i32}
          %next = addi %i, %4
          if %c {
            break %i
          } else {
            yield
          }
          continue %next
        }
        return
        """,
    )


def test_leaving_a_scope_from_a_loop_goes_through_a_flag():
    expect(
        lower_control_flow,
        """
        %r = scope : tile<f32> {
          loop {
            if %c {
              leave %f
            } else {
              yield
            }
            if %d {
              break
            } else {
              yield
            }
            continue
          }
          print %n
          leave %g
        }
        print %r
        return
        """,
        """
        %0 = constant {dtype=bool}
        %1 = constant {dtype=f32}
        %gone, %value = loop %0, %1 { (%2: tile<bool>, %3: tile<f32>)
          if %c {
            %4 = constant {value=True, dtype=bool}
            break %4, %f
          } else {
            yield
          }
          if %d {
            break %2, %3
          } else {
            yield
          }
          continue %2, %3
        }
        %r = if %gone : tile<f32> {
          yield %value
        } else {
          print %n
          yield %g
        }
        print %r
        return
        """,
    )


def test_what_follows_moves_into_the_arm_that_comes_back():
    expect(
        lower_control_flow,
        """
        %r = scope : tile<i32> {
          %q = if %c : tile<i32> {
            leave %n
          } else {
            print %n
            yield %m
          }
          print %q
          leave %q
        }
        print %r
        return
        """,
        """
        %r = if %c : tile<i32> {
          yield %n
        } else {
          print %n
          print %m
          yield %m
        }
        print %r
        return
        """,
    )


def test_a_flag_where_both_arms_may_come_back():
    expect(
        lower_control_flow,
        """
        if %c {
          if %d {
            return
          } else {
            yield
          }
          yield
        } else {
          print %m
          yield
        }
        print %n
        return
        """,
        """
        %gone = if %c : tile<bool> {
          %1 = if %d : tile<bool> {
            %2 = constant {value=True, dtype=bool}
            yield %2
          } else {
            %3 = constant {dtype=bool}
            yield %3
          }
          yield %1
        } else {
          print %m
          %4 = constant {dtype=bool}
          yield %4
        }
        if %gone {
          yield
        } else {
          print %n
          yield
        }
        return
        """,
    )


def test_returning_from_a_scope_in_a_loop():
    made = canonicalize(lower_control_flow(parse(kernel(
        """
        %one = constant {value=1, dtype=i32}
        for %n, %m, %one { (%i: tile<i32>)
          scope {
            if %c {
              return
            } else {
              yield
            }
            if %d {
              leave
            } else {
              yield
            }
            print %i
            leave
          }
          continue
        }
        print %n
        return
        """
    ))))  # fmt: skip
    assert not refused(made)


@pytest.mark.parametrize("op", ["divi", "remi"])
def test_unsigned_floor_division_truncates(op):
    expect(
        lower_control_flow,
        f"%r = {op} %u, %u {{rounding=neg_inf}}\nprint %r\nreturn",
        f"%r = {op} %u, %u\nprint %r\nreturn",
    )


def test_signed_floor_division_stays_and_its_remainder_is_corrected():
    unchanged(lower_control_flow, "%r = divi %n, %m {rounding=neg_inf}\nprint %r\nreturn")
    func = parse(kernel("%r = remi %n, %m {rounding=neg_inf}\nprint %r\nreturn"))
    made = lower_control_flow(func)
    assert all(
        op.attrs.get("rounding") is not Rounding.NEG_INF for op in made.walk() if op.name == "remi"
    )
    low, high = int_range(i32)
    numbers = (low, low + 1, -7, -2, -1, 0, 1, 2, 7, high)
    for n in numbers:
        for m in numbers:
            want, got = (run(f, (n, m), (1, 1, 1)).printed[0].values[0] for f in (func, made))
            assert want == got, (n, m)


LOW, HIGH = int_range(i32)


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [
        (0, 5, 2), (0, 0, 1), (5, 0, 1), (0, 5, 0), (0, 5, -1), (LOW, LOW + 5, 3),
        (HIGH - 3, HIGH, 2), (LOW, HIGH, HIGH), (HIGH - 1, HIGH, HIGH), (-1, HIGH, 2**30),
    ],
)  # fmt: skip
def test_counting_at_the_edges_of_the_integers(lower, upper, step):
    func = parse(
        kernel(
            """
            %r = for %n, %m, %k, %n { (%i: tile<i32>, %a: tile<i32>)
              print %i
              if %c {
                break %i
              } else {
                yield
              }
              continue %i
            }
            print %r
            return
            """
        )
    )
    given = {"n": lower, "m": upper, "k": step, "c": False}
    arguments = [given[p.name] for p in func.params]
    shown = [
        [p.values[0].tolist() for p in run(f, arguments, (1, 1, 1)).printed]
        for f in (func, lower_control_flow(func))
    ]
    assert shown[0] == shown[1]


def refused(func: Func) -> list[str]:
    """What Tile IR would not accept."""
    nesting = structure(func)
    wrong = [op.name for op in func.walk() if op.name in ("scope", "leave")]
    wrong += [f"{op.name} in for" for op in func.walk() if op.name == "break"
              and nesting.target[op].name == "for"]  # fmt: skip
    wrong += ["return inside" for op in nesting.returns if op is not func.body.terminator]
    return wrong


def test_no_program_keeps_what_is_refused_and_all_keep_their_meaning():
    for made in same_meaning_always(lower_control_flow, 120):
        assert not refused(made)


def test_cleaning_up_afterwards_brings_nothing_back():
    for made in same_meaning_always(lambda f: dce(cse(canonicalize(lower_control_flow(f)))), 60):
        assert not refused(made)


@pytest.mark.parametrize(
    ("body", "word", "bits"),
    [
        ("print %i", "for", 64),
        ("%a = tile_index %n, %m {groups=(1)}\nprint %a, %i", "for", 64),
        ("%a = tile_index %i, %m {groups=(1)}\nprint %a", "for", 32),
        ("if %c {\nbreak\n} else {\nyield\n}", "loop", 32),
    ],
)
def test_a_loop_by_an_unknown_step_does_not_wrap(body, word, bits):
    """Launches see to it that numbers of tiles stay far from the greatest integer."""
    text = f"for %n, %m, %k {{ (%i: tile<i32>)\n{body}\ncontinue\n}}\nreturn"
    made = lower_control_flow(parse(kernel(text)))
    (loop,) = [op for op in made.body.ops if op.regions]
    assert (loop.name, loop.regions[0].args[0].tile.dtype.bits) == (word, bits)


@pytest.mark.parametrize("dtype", ["i32", "i16"])
@pytest.mark.parametrize("past", [0, 1])
def test_only_a_loop_that_can_run_past_the_greatest_integer_counts_in_more_bits(dtype, past):
    """The last number is below the upper bound, and a step more is the farthest."""
    _, most = int_range(INTEGERS[dtype])
    text = f"""
    %low = constant {{value=0, dtype={dtype}}}
    %upper = constant {{value={most - 9 + past}, dtype={dtype}}}
    %one = constant {{value=1, dtype={dtype}}}
    %ten = constant {{value=10, dtype={dtype}}}
    %s = select %c, %one, %ten
    for %low, %upper, %s {{ (%i: tile<{dtype}>)
      print %i
      continue
    }}
    return
    """
    made = lower_control_flow(parse(kernel(text)))
    verify(made, "lower_control_flow")
    (loop,) = [op for op in made.body.ops if op.regions]
    bits = 64 if past else INTEGERS[dtype].bits
    assert (loop.name, loop.regions[0].args[0].tile.dtype.bits) == ("for", bits)


def test_a_loop_with_several_ways_out_keeps_their_flags_apart():
    """Each target, a scope or the kernel, has a flag, and room for the values that it gets."""
    text = """
    %q, %t = scope : tile<i32>, tile<i32> {
      loop {
        if %c {
          leave %n, %m
        } else {
          yield
        }
        if %d {
          return
        } else {
          yield
        }
        break
      }
      leave %m, %m
    }
    print %q, %t
    return
    """
    func = parse(kernel(text))
    made = lower_control_flow(func)
    verify(made, "lower_control_flow")
    for flags in itertools.product((False, True), repeat=2):
        known = dict(zip("cd", flags, strict=True)) | {"n": 3, "m": 4, "f": 0.5, "g": 0.25}
        arguments = [known[p.name] for p in func.params]
        shown = [
            [[v.tolist() for v in p.values] for p in run(f, arguments, (1, 1, 1)).printed]
            for f in (func, made)
        ]
        assert shown[0] == shown[1], known
