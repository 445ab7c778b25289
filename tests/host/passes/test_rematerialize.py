"""Large tiles that are made again behind reductions, and what is kept instead."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from ir_text import expect, unchanged
from support.cuda import cuda_ir
from support.programs import same_meaning_always
from tilewright.passes import rematerialize as module
from tilewright.passes.rematerialize import rematerialize


@pytest.fixture
def from_four(monkeypatch):
    """Let tiles of four elements be long, and one reduction be several."""
    monkeypatch.setattr(module, "LEAST", 4)
    monkeypatch.setattr(module, "LONG", 4)
    monkeypatch.setattr(module, "SEVERAL", 1)


@pytest.fixture
def large_from_four(monkeypatch):
    """Let tiles of four elements be large, but not long."""
    monkeypatch.setattr(module, "LEAST", 4)


SUM = """
%s = reduce {operand} {{axis=0, identities=(0.0)}} {{ (%e: tile<f32>, %acc: tile<f32>)
  %t = addf %e, %acc
  yield %t
}}
"""
READ = """
%v = make_view %x {tile=(4), dim_map=(0)}
%a = load_view %v, %n
%b = mulf %a, %a
"""


NARROW = """
%v = make_view %half {tile=(4), dim_map=(0)}
%r = load_view %v, %n
%a = ftof %r {to=f32}
%b = mulf %a, %a
"""


def total(operand: str, result: str = "%s") -> str:
    return SUM.format(operand=operand).replace("%s", result)


def test_what_a_tile_is_made_of_is_made_again(from_four):
    expect(
        rematerialize,
        f"{READ}{total('%b')}\nprint %s, %b, %a\nreturn",
        f"{READ}{total('%b')}\n%c = load_view %v, %n\n%d = mulf %c, %c\nprint %s, %d, %c\nreturn",
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{READ}{total('%b')}\nprint %s\nreturn",
        f"{READ.replace('%x', '%z')}{total('%b')}\nprint %s, %b\nreturn",
        f"{READ.replace('%v, %n', '%v, %n, %c')}{total('%b')}\nprint %b\nreturn",
        f"{READ}{total('%b')}\nif %c {{\n  print %b\n  yield\n}} else {{\n  yield\n}}\nreturn",
    ],
    ids=["not used again", "memory that is written", "a guarded load", "used in a branch"],
)
def test_what_is_kept(text, from_four):
    unchanged(rematerialize, text)


def test_narrow_tiles_are_kept_and_widened_again(from_four):
    expect(
        rematerialize,
        f"{NARROW}{total('%b')}\nprint %s, %b\nreturn",
        f"{NARROW}{total('%b')}\n%c = ftof %r {{to=f32}}\n%d = mulf %c, %c\nprint %s, %d\nreturn",
    )


SCANNED = """
%w = scan %a {axis=0, identities=(0.0)} { (%f: tile<f32>, %sum: tile<f32>)
  %g = addf %f, %sum
  yield %g
}
"""


def test_the_results_of_regions_are_kept(from_four):
    """A scan would run again."""
    unchanged(rematerialize, f"{READ}{SCANNED}{total('%w')}\nprint %s, %w\nreturn")


TWICE = total("%b") + total("%a", "%u")


def test_what_a_loop_carries_is_kept(from_four):
    """No op makes it again, nor what is computed of it."""
    inner = total("%b").replace("\n", "\n  ")
    text = (
        f"{READ.splitlines()[1]}\n%a = load_view %v, %n\n%one = constant {{value=1, dtype=i32}}\n"
    )
    text += (
        "%r = for %n, %m, %one, %a { (%i: tile<i32>, %part: tile<4xf32>)\n  %b = mulf %part, %part"
    )
    unchanged(rematerialize, f"{text}{inner}\n  print %s, %b\n  continue %b\n}}\nprint %r\nreturn")


def test_two_reductions_are_enough_where_tiles_are_narrow(large_from_four):
    again = f"%c = ftof %r {{to=f32}}\n{total('%c', '%u')}"
    expect(
        rematerialize,
        f"{NARROW}{TWICE}\nprint %s, %u\nreturn",
        f"{NARROW}{total('%b')}\n{again}\nprint %s, %u\nreturn",
    )
    unchanged(rematerialize, f"{NARROW}{total('%b')}\nprint %s, %b\nreturn")
    unchanged(rematerialize, f"{READ}{TWICE}\nprint %s, %u\nreturn")


def test_nothing_is_made_again_after_a_single_reduction():
    unchanged(rematerialize, f"{READ}{total('%b')}\nprint %s, %b\nreturn")


def made(kernel, length, *more, dtype=tw.bf16):
    """How often rows are loaded and converted."""
    x = tw.meta((64, length), dtype)
    func = cuda_ir(kernel, tw.meta((64, length), dtype).partition_mut((1, length)), x, *more)
    return [sum(op.name == name for op in func.walk()) for name in ("load_view", "ftof")]


def test_rows_of_the_benchmark():
    assert [made(kernels.softmax, n) for n in (8192, 16384, 32768)] == [[1, 2], [1, 4], [1, 4]]
    assert made(kernels.softmax, 32768, dtype=tw.f32)[0] == 3
    for length, widened in ((16384, 3), (32768, 4)):
        weight = tw.meta((length,), tw.bf16)
        assert made(kernels.rms_norm, length, weight, 1e-5) == [2, widened]
        assert made(kernels.layer_norm, length, weight, weight, 1e-5) == [3, 6]


@tw.entry
def in_place(out: tl.TensorMut) -> None:
    tile = out.load()
    shifted = tile - tl.reduce_sum(tile, 1, keepdims=True)
    out.store(shifted / tl.reduce_sum(shifted, 1, keepdims=True))


def test_rows_in_place_are_kept():
    func = cuda_ir(in_place, tw.meta((64, 32768)).partition_mut((1, 32768)))
    assert sum(op.name == "load_view_tko" for op in func.walk()) == 1


def test_programs_mean_the_same(from_four):
    same_meaning_always(rematerialize)
