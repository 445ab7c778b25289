"""Functions of 16-bit floats in SIMT kernels as PTX: approximate, and within bounds."""

from __future__ import annotations

import pytest

import tilewright as tw
from support import simulated_cuda
from support.narrow import BOUND, FUNCTIONS, computed_by_threads, most_ulps
from tilewright import bf16, f16
from tilewright.backend.ptx.module import FORMS
from tilewright.devices import registry

NAMES = (
    "exp", "exp2", "tanh", "sqrt", "rsqrt", "reciprocal", "quotient", "silu", "sigmoid",
    "scaled power", "one and a tangent", "of a sum", "a product", "swish",
)  # fmt: skip


@pytest.fixture
def gpu(monkeypatch):
    """A simulated GPU, the default device."""
    simulated_cuda.install("sm_90", patch=monkeypatch.setattr)
    (found,) = registry._Gpus.found
    with tw.device(found):
        yield found


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_all_inputs(name, dtype):
    most, where = most_ulps(name, dtype, computed_by_threads(name, dtype))
    assert most <= BOUND, f"{name}({where}): {most} ulp"


def test_every_form_is_tried():
    texts = " ".join(FUNCTIONS[name][0] for name in NAMES)
    assert all(f"tl.{name}(" in texts or name == "divf" for name in FORMS)
