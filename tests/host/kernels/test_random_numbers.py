from __future__ import annotations

import pytest

import tilewright as tw

WRONG = {
    "shape": lambda: tw.rand((2, -1)),
    "dtype": lambda: tw.rand((2,), tw.f16),
    "dtype-name": lambda: tw.rand((2,), "float23"),
    "seed-kind": lambda: tw.rand((2,), seed=1.5),
    "seed-bool": lambda: tw.rand((2,), seed=True),
    "seed-negative": lambda: tw.rand((2,), seed=-1),
    "seed-large": lambda: tw.randn((2,), seed=1 << 64),
    "std-negative": lambda: tw.randn((2,), std=-1.0),
    "std-nan": lambda: tw.randn((2,), std=float("nan")),
    "mean-infinite": lambda: tw.randn_f16((2,), mean=float("inf")),
    "mean-string": lambda: tw.randn((2,), mean="0"),
    "normal-int": lambda: tw.randn((2,), tw.i32),
    "bits-float": lambda: tw.random_bits((2,), tw.f32),
    "bounds": lambda: tw.randint(5, 5, (2,)),
    "bounds-type": lambda: tw.randint(0, 300, (2,), tw.u8),
    "bounds-float": lambda: tw.randint(0, 3.0, (2,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests(name, golden, places):
    with pytest.raises((tw.Error, TypeError)) as caught:
        WRONG[name]()
    golden(places(caught.value))
