"""Large tiles that are read again behind reductions, and what must be kept instead."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from ir_text import expect, unchanged
from support.cuda import cuda_ir
from support.programs import same_meaning_always
from tilewright.passes import reread_tiles as module
from tilewright.passes.reread_tiles import reread_tiles


@pytest.fixture
def from_four(monkeypatch):
    """Let tiles of four elements be large, and one reduction be enough."""
    monkeypatch.setattr(module, "LEAST", 4)
    monkeypatch.setattr(module, "SEVERAL", 1)


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


def total(operand: str) -> str:
    return SUM.format(operand=operand)


def test_what_a_tile_is_made_of_is_made_again(from_four):
    expect(
        reread_tiles,
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
    unchanged(reread_tiles, text)


def test_nothing_is_made_again_after_a_single_reduction():
    unchanged(reread_tiles, f"{READ}{total('%b')}\nprint %s, %b\nreturn")


def loads(kernel, length, *more):
    x = tw.meta((64, length), tw.bf16)
    func = cuda_ir(kernel, tw.meta((64, length), tw.bf16).partition_mut((1, length)), x, *more)
    return sum(op.name == "load_view" for op in func.walk())


def test_rows_of_the_benchmark():
    assert [loads(kernels.softmax, n) for n in (16384, 32768)] == [1, 3]
    weight = tw.meta((32768,), tw.bf16)
    assert loads(kernels.rms_norm, 32768, weight, 1e-5) == 2
    assert loads(kernels.layer_norm, 32768, weight, weight, 1e-5) == 5


@tw.entry
def in_place(out: tl.TensorMut) -> None:
    tile = out.load()
    shifted = tile - tl.reduce_sum(tile, 1, keepdims=True)
    out.store(shifted / tl.reduce_sum(shifted, 1, keepdims=True))


def test_rows_in_place_are_kept():
    func = cuda_ir(in_place, tw.meta((64, 32768)).partition_mut((1, 32768)))
    assert sum(op.name == "load_view_tko" for op in func.walk()) == 1


def test_programs_mean_the_same(from_four):
    same_meaning_always(reread_tiles)
