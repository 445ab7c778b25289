"""Safe kernels that cost nothing: no check is left in them, and their code is the twin's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.proved import NAMES, cases
from tilewright.compile.checks import Checks

COUNTS = {
    "add": Checks(0, 2),
    "gemm": Checks(2, 2),
    "softmax": Checks(0, 2),
    "rms norm": Checks(0, 3),
    "batched matmul": Checks(1, 5),
    "attention": Checks(1, 8),
    "causal attention": Checks(1, 8),
    "grouped attention": Checks(1, 8),
    "causal grouped attention": Checks(1, 8),
    "persistent gemm": Checks(1, 3),
}


def fresh(shape, dtype=tw.f32):
    return tw.randn(shape, seed=1).sync() if dtype is tw.f32 else tw.zeros(shape, dtype).sync()


@pytest.mark.parametrize("name", NAMES)
def test_no_check_is_left(name):
    case = cases()[name]
    counts = case.kernel.checks(*case.arguments(tw.meta), **case.constants)
    assert counts == COUNTS[name]
    assert not counts.in_kernel


@pytest.mark.parametrize("name", NAMES)
def test_the_object_is_that_of_the_unchecked_twin(name):
    case = cases()[name]
    safe = case.kernel.compile(*case.arguments(tw.meta), **case.constants)
    twin = case.twin().compile(*case.arguments(tw.meta), **case.constants)
    assert twin.obligations == () != safe.obligations
    assert isinstance(safe.code, bytes) and safe.code == twin.code


@pytest.mark.parametrize("name", NAMES)
def test_forced_checks_change_no_result(name):
    case = cases()[name]
    results = []
    for checks in ("placed", "pinned", "forced"):
        args = case.arguments(fresh)
        launch = case.kernel(*args, **case.constants).compile_options(checks=checks)
        out, *_ = launch.sync()
        results.append(out.unpartition().to_numpy() if hasattr(out, "unpartition") else None)
    assert all(r is not None and np.array_equal(r, results[0]) for r in results)
