"""Functions of 16-bit floats as Tile IR, with the worst errors of a GPU: within bounds."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from simulator.tile_ir.elementwise import errors
from support.cuda import cuda_ir, lowered
from support.narrow import BOUND, FUNCTIONS, ROUNDS_BEFORE, computed, most_ulps
from tilewright import bf16, f16, f32
from tilewright.analysis.needed_precision import Form
from tilewright.backend.tileir.lower import elementwise
from tilewright.backend.tileir.lower import math_expansion as approximate_math
from tilewright.backend.tileir.lower.math_expansion import FORMS

SIMULATED = pytest.mark.parametrize("simulated_gpu", ["sm_90"], indirect=True)
DTYPES = pytest.mark.parametrize("dtype", [f16, bf16], ids=str)


@SIMULATED
@DTYPES
@pytest.mark.parametrize("direction", [1, -1, 0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_inputs_in_f32(name, direction, dtype, simulated_gpu):
    with errors(direction):
        found = computed(name, dtype, simulated_gpu)
    most, where = most_ulps(name, dtype, found)
    assert most <= BOUND, f"{name}({where}): {most} ulp"


@SIMULATED
@DTYPES
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ROUNDS_BEFORE])
def test_all_inputs_as_they_are(name, dtype, simulated_gpu):
    with errors(0):
        found = computed(name, dtype, simulated_gpu, widened=False)
    most, where = most_ulps(name, dtype, found)
    assert most <= BOUND, f"{name}({where}): {most} ulp"


@SIMULATED
@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_what_keeps_too_few_bits_is_noticed(name, simulated_gpu, monkeypatch):
    """A table that promises more than the hardware keeps: tanh.approx for f16, a rough exp."""
    (form, *_) = FORMS["tanh"]
    wrong = {"tanh": (Form(14, form.text, form.write),), "exp": (Form(21, "", _rough),)}
    monkeypatch.setattr(elementwise, "FORMS", {**FORMS, **wrong})
    with errors(0):
        found = computed(name, f16, simulated_gpu)
    assert most_ulps(name, f16, found)[0] > BOUND


def _rough(em, x):
    """Something with an error of 2**-11 in the place of exp."""
    return em.same("mulf", approximate_math._exp(em, x), em.number(1 + 2.0**-11, x.kind))


@tw.entry
def swish(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((tile / (1.0 + tl.exp(-tile))).astype(out.dtype))


def test_decisions_are_lines():
    def lines(dtype):
        out, x = tw.meta((64, 64), dtype).partition_mut((8, 64)), tw.meta((64, 64), dtype)
        return [line.split(" (")[0] for line in lowered(cuda_ir(swish, out, x)).decisions.lines]

    assert [line for line in lines(bf16) if "needed" in line] == [
        "exp of 8x64 as exp2 of a scaled argument, 11 bits of it are needed",
        "divf of 8x64 as div.approx, 11 bits of it are needed",
    ]
    assert not any("needed" in line for line in lines(f32))
