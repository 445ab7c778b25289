"""Generated programs whose every step is exact: all backends give the same bits as NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from fuzz.graph import Program
from fuzz.oracle import exact, inputs_of
from fuzz.running import DEVICE, examples, run_on, run_raw
from fuzz.strategies import exact_programs

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("shard", range(4))
@settings(max_examples=examples(300), deadline=None, derandomize=False, suppress_health_check=SLOW)
@given(program=exact_programs())
def test_same_bits_everywhere(shard: int, program: Program) -> None:
    inputs = inputs_of(program, exact=True)
    expected = exact(program, inputs)
    for name, result in {
        "reference on fresh IR": run_raw(program, inputs),
        "reference after passes": run_on("reference", program, inputs),
        DEVICE: run_on(DEVICE, program, inputs),
    }.items():
        same = np.array_equal(result, expected, equal_nan=result.dtype.kind == "f")
        assert same, f"{name}\n{program.source()}\nseed {program.seed}\n{result}\n{expected}"
