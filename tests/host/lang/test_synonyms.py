"""Words of other languages: each hint names something that is there, and formulas compute it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.loops import for_each
from tilewright.frontend.capture.sources import execute
from tilewright.lang.synonyms import ARITHMETIC, FORMULAS, REDUCTIONS, SYNONYMS

A = np.array([0.5, -1.25, 3.0, -0.75, 2.5, 1.0, -2.0, 0.25], np.float32)
B = np.array([1.5, 0.75, -1.0, 2.0, -0.5, 3.0, 1.25, -2.5], np.float32)
FLOATS = {
    "add": A + B, "subtract": A - B, "multiply": A * B, "divide": A / B, "floor_divide": A // B,
    "mod": A % B, "negative": -A, "square": A * A, "reciprocal": 1 / A, "fmod": np.fmod(A, B),
    "hypot": np.hypot(A, B), "absolute": abs(A), "rint": np.rint(A), "fix": np.trunc(A),
    "copysign": np.copysign(A, B), "equal": A == B, "less": A < B, "isfinite": np.isfinite(A),
    "nan_to_num": A, "signbit": np.signbit(A), "arctan": np.arctan(A), "arctan2": np.arctan2(A, B),
    "swish": A / (1 + np.exp(-A)), "softplus": np.log1p(np.exp(A)), "logaddexp": np.logaddexp(A, B),
    "elu": np.where(A > 0, A, np.expm1(A)), "relu6": np.clip(A, 0, 6),
    "hardswish": A * np.clip(A + 3, 0, 6) / 6, "mish": A * np.tanh(np.log1p(np.exp(A))),
    "log_softmax": A - np.log(np.exp(A).sum()), "inner": A @ B, "sum": A.sum(), "prod": A.prod(),
    "amax": A.max(), "amin": A.min(), "average": A.mean(), "std": A.std(),
    "norm": np.linalg.norm(A), "count_nonzero": 8, "nansum": A.sum(),
    "cummax": np.maximum.accumulate(A), "cummin": np.minimum.accumulate(A),
}  # fmt: skip
"""What formulas compute of A, alias x, and B, along axis 0."""


@pytest.mark.filterwarnings("ignore::tilewright.PaddingWarning")
@pytest.mark.parametrize("name", FLOATS)
def test_formulas_compute_what_their_word_means(name):
    formula = {**ARITHMETIC, **FORMULAS, **REDUCTIONS}[name]
    program = f"""
@tw.entry
def kernel(z: tl.TensorMut[tw.f32], a: tl.Tensor[tw.f32], b: tl.Tensor[tw.f32]) -> None:
    a, b = tl.load_tile_like(a, z), tl.load_tile_like(b, z)
    x, axis = a, 0
    z.store(tl.broadcast(({formula}).astype(tw.f32), z.shape))
"""
    names = {"tw": tw, "tl": tl}
    execute(program, names)
    z = tw.zeros((8,)).sync()
    names["kernel"](z.partition_mut(8), A, B).sync()
    np.testing.assert_allclose(z.to_numpy(), np.broadcast_to(FLOATS[name], 8), 1e-5, 1e-6)


@for_each(SYNONYMS)
def test_synonyms_name_what_is_there(name):
    assert name not in tl.__all__, "it has the word itself"
    places = {"tl": tl, "tw": tw}
    for module, word in re.findall(r"\b(tl|tw)\.(?!ops\b)(\w+)", SYNONYMS[name]):
        assert hasattr(places[module], word)
    for word in re.findall(r"\btw\.ops\.(\w+)", SYNONYMS[name]):
        assert hasattr(tw.ops, word)


def test_the_module_names_its_own_word():
    with pytest.raises(AttributeError, match=r"no attribute 'program_id'; here it is tl\.block_id"):
        tl.program_id  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        tl.nonsense  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"no attribute 'reduce_summ'; did you mean tl\.reduce_sum"
    ):
        tl.reduce_summ  # noqa: B018


def test_the_module_lists_canonical_names():
    assert "exp" in dir(tl) and "compat" in dir(tl)
    assert not {*tl.compat.CANONICAL, "annotations", "layout"} & {*dir(tl)}
    assert tl.maxf is tl.compat.maxf
