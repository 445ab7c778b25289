"""Generated programs on reals: all backends stay within the bound that the Numbers table gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from fuzz.graph import Program
from fuzz.oracle import inputs_of, rounded
from fuzz.running import DEVICE, examples, run_on, run_raw
from fuzz.strategies import rounded_programs

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("shard", range(4))
@settings(max_examples=examples(200), deadline=None, derandomize=False, suppress_health_check=SLOW)
@given(program=rounded_programs())
def test_within_the_bounds(shard: int, program: Program) -> None:
    inputs = inputs_of(program, exact=False)
    expected, error = rounded(program, inputs)
    known = np.isfinite(expected) & np.isfinite(error)
    for name, result in {
        "reference on fresh IR": run_raw(program, inputs),
        "reference after passes": run_on("reference", program, inputs),
        DEVICE: run_on(DEVICE, program, inputs),
    }.items():
        off = np.abs(result.astype(np.float64)[known] - expected[known])
        worst = off > error[known]
        assert not worst.any(), f"{name}: {off[worst]} > {error[known][worst]}\n{program.source()}"
