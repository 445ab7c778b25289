"""Functions of 16-bit floats over all their inputs: within three quarters of an ulp."""

from __future__ import annotations

import pytest

from support.narrow import BOUND, FUNCTIONS, ROUNDS_BEFORE, computed, most_ulps
from tilewright import bf16, f16

DTYPES = pytest.mark.parametrize("dtype", [f16, bf16], ids=str)


@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_inputs_in_f32(device, name, dtype):
    found = computed(name, dtype, device)
    most, where = most_ulps(name, dtype, found)
    assert most <= BOUND, f"{name}({where}): {most} ulp"


@DTYPES
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ROUNDS_BEFORE])
def test_all_inputs_as_they_are(device, name, dtype):
    found = computed(name, dtype, device, widened=False)
    most, where = most_ulps(name, dtype, found)
    assert most <= BOUND, f"{name}({where}): {most} ulp"
