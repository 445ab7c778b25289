"""Bodies of reductions: sums and extremes in the form that the assembler knows."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.expressions import Output
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.base.dtypes import f32


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


def followed(a, b, c, d):
    """Two steps of a recurrence as one: first x -> a x + b, then x -> c x + d."""
    return a * c, b * c + d


@tw.entry
def recurrence(
    out: tl.TensorMut[f32], factors: tl.Tensor[f32], terms: tl.Tensor[f32], *, BACK: tl.Const[bool]
) -> None:
    given = tl.load_tile_like(factors, out), tl.load_tile_like(terms, out)
    _, values = tl.scan(given, 1, (1.0, 0.0), followed, reverse=BACK)
    out.store(values)


@pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")  # rows are whole
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
def test_scans_of_several_tiles_keep_each_with_its_own(back, simulated_gpu, rng):
    factors, terms = rng.integers(-2, 3, (2, 3, 8)).astype(np.float32)
    z = Output((3, 8), f32)
    recurrence(z.cut(1, 8), factors, terms, BACK=back).sync()
    columns = range(7, -1, -1) if back else range(8)
    expected, last = np.zeros((3, 8), np.float32), np.zeros(3, np.float32)
    for k in columns:
        last = expected[:, k] = last * factors[:, k] + terms[:, k]
    np.testing.assert_array_equal(z.result(), expected)
