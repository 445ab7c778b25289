"""Functions of 16-bit floats on a GPU, over all 65,536 inputs: the hardware's errors are hidden.

`python -m pytest -s tests/gpu/test_needed_precision.py` prints the greatest error of each.
"""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.narrow import (
    BOUND,
    FUNCTIONS,
    ROUNDS_BEFORE,
    all_inputs,
    computed,
    computed_by_threads,
    most_ulps,
)
from tilewright import bf16, f16
from tilewright.compile.options import CompileOptions

DTYPES = pytest.mark.parametrize("dtype", [f16, bf16], ids=str)


def report(name, dtype, how, found):
    most, where = most_ulps(name, dtype, found)
    print(f"{name} of {dtype} {how}: {most:.4f} ulp at {where}")
    assert most <= BOUND


def check(name, dtype, *, widened):
    found = computed(name, dtype, tw.default_device(), widened=widened)
    report(name, dtype, "in f32" if widened else "as it is", found)


@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_inputs_in_f32(name, dtype):
    check(name, dtype, widened=True)


@DTYPES
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ROUNDS_BEFORE])
def test_all_inputs_as_they_are(name, dtype):
    check(name, dtype, widened=False)


@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_inputs_by_threads(name, dtype):
    report(name, dtype, "by threads", computed_by_threads(name, dtype))


@DTYPES
def test_off(dtype):
    """`needed_precision=False` changes nothing but the last bits."""
    x = all_inputs(dtype)

    @tw.entry
    def kernel(out: tl.TensorMut, x: tl.Tensor) -> None:
        out.store(tl.silu(tl.load_tile_like(x, out)))

    made = []
    for options in (CompileOptions(), CompileOptions(needed_precision=False)):
        out = tw.empty(x.shape, dtype).sync()
        kernel(out.partition_mut((4096,)), x).compile_options(options).sync()
        made.append(out.to_numpy())
    for found in made:
        assert most_ulps("silu", dtype, found)[0] <= BOUND
