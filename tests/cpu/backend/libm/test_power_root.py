"""cbrt: of all magnitudes, subnormal numbers and both signs."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, assert_same, check, values_at
from support.numbers import fresh_rng

INF, NAN = np.inf, np.nan
BOTH = pytest.mark.parametrize("dtype", ["f32", "f64"])


@pytest.mark.parametrize("lanes", [1, 8])
@BOTH
def test_error_bound(dtype, lanes):
    kind = CARRIER_OF[dtype]
    word = np.dtype(f"u{np.dtype(kind).itemsize}")
    bits = fresh_rng().integers(0, np.iinfo(word).max, 100_000, word, endpoint=True)
    x = bits.view(kind)
    x = x[np.isfinite(x)][:80_000]
    check("cbrt", dtype, (x,), np.cbrt(x.astype(np.longdouble)), lanes)


@BOTH
def test_subnormal_numbers_and_ends(dtype):
    kind = CARRIER_OF[dtype]
    info = np.finfo(kind)
    some = info.smallest_subnormal * fresh_rng().integers(1, 2**22, 5_000)
    for scale in (2.0**-80, 2.0**-79.9, 1.0, 8.0):
        some = np.append(some, kind(scale) * (1 + fresh_rng().uniform(-1e-6, 1e-6, 500)))
    some = np.append(some, [info.max, info.tiny, info.smallest_subnormal]).astype(kind)
    for x in (some, -some):
        check("cbrt", dtype, (x,), np.cbrt(x.astype(np.longdouble)))


@BOTH
def test_special_values(dtype):
    points = [(0.0,), (-0.0,), (INF,), (-INF,), (NAN,), (1.0,), (-8.0,), (27.0,)]
    expected = [0.0, -0.0, INF, -INF, NAN, 1.0, -2.0, 3.0]
    assert_same(values_at("cbrt", dtype, *points), expected)
