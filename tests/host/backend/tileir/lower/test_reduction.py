"""Bodies of reductions: sums and extremes in the form that the assembler knows."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.program import program_text


@tw.entry
def reduced(out: tl.TensorMut, x: tl.Tensor, *, HOW: tl.Const[str]) -> None:
    tile = tl.load_tile_like(x, out)
    if HOW == "max":
        out.store(tile - tl.reduce_max(tile, 1, keepdims=True))
    else:
        out.store(tile - tl.reduce_sum(tile, 1, keepdims=True))


BODY = re.compile(r"\{ \((%\d+): tile<f32>, (%\d+): tile<f32>\)\n +%\d+ = (\w+) (%\d+), (%\d+)")


@pytest.mark.parametrize(("how", "name"), [("max", "maxf"), ("sum", "addf")])
@pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")
def test_operands_stand_as_the_arguments_do(how, name):
    z = tw.meta((64, 64))
    text = program_text(lowered(cuda_ir(reduced, z.partition_mut((4, 64)), z, HOW=how)).program)
    found = BODY.search(text)
    assert found is not None
    first, second, op, left, right = found.groups()
    assert (op, left, right) == (name, first, second)


def after(a, b):
    """What comes before is multiplied."""
    return a * 3.0 + b


@tw.entry
def scanned(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(tl.scan(tl.load_tile_like(x, out), 1, 0.0, after))


def test_the_body_of_a_scan_gets_what_comes_before_first():
    """So tileiras 13.4 calls it, by its machine code and by what an H200 computes."""
    z = tw.meta((64, 64))
    text = program_text(lowered(cuda_ir(scanned, z.partition_mut((4, 64)), z)).program)
    found = re.search(
        r"scan .*\{ \((%\d+): tile<f32>, (%\d+): tile<f32>\)\n"
        r".*\n +%\d+ = fma (%\d+), %\d+, (%\d+)",
        text,
    )
    assert found is not None
    earlier, element, multiplied, added = found.groups()
    assert (multiplied, added) == (earlier, element)
