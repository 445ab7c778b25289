from __future__ import annotations

import gc
import sys

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright.base.threads import NEVER, TURN
from tilewright.launch.kernel import Kernel


@tw.entry
def negate(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


def test_making_code_is_lengthy_work(monkeypatch):
    """It compiles; the first time it loads the compiler, too."""
    seen = []
    make = Kernel._make_code

    def settings():
        return gc.get_threshold()[2], sys.getswitchinterval()

    def make_code(*given):
        seen.append(settings())
        return make(*given)

    monkeypatch.setattr(Kernel, "_make_code", make_code)
    before = settings()
    with tw.device("reference"):
        negate(tw.empty((4,)).partition((4,)), np.ones(4, np.float32)).sync()
    assert seen == [(NEVER, TURN)] and settings() == before
