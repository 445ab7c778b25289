"""Functions that kernels call stand in place of the call, as deep as there is an end to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.interp.interpreter import MAX_DEPTH

HEAD = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

def step0(x):
    return x + 1.0
"""


def chain(length):
    """A kernel that calls a function that calls another, so many of them."""
    functions = [f"def step{i}(x):\n    return step{i - 1}(x)\n" for i in range(1, length)]
    kernel = (
        "@tw.entry\ndef chained(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:\n"
        f"    z.store(step{length - 1}(tl.load_tile_like(x, z)))\n"
    )
    return tw.exec("\n".join([HEAD, *functions, kernel]))["chained"]


def compiled(kernel):
    return kernel.inspect(tw.meta((8,)).partition_mut((4,)), tw.meta((8,)), device="cpu")


def test_a_long_chain_of_functions():
    assert "addf" in str(compiled(chain(MAX_DEPTH)))


def test_a_longer_one_is_said_to_be_too_deep_not_to_call_itself():
    with pytest.raises(CompileError) as caught:
        compiled(chain(MAX_DEPTH + 1))
    error = caught.value
    assert error.code is Code.RECURSION
    said = "calls are nested too deeply: `step0` would be inlined into 64 other functions"
    assert error.message == said
    assert error.expected == "at most 64 nested functions"


# --- methods -----------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: Any

    def total(self, by=1.0):
        return (self.a + self.b) * by


@dataclass(frozen=True)
class Wrapped:
    tile: Any

    def doubled(self):
        return self.tile * 2.0

    @property
    def next(self):
        return self.tile + 1.0


class Settings:
    """An object of the host, which may change between launches."""

    def __init__(self):
        self.weight = 3.0
        self.table = {"half": 0.5}

    def weighted(self, tile):
        return tile * self.weight

    @property
    def half(self):
        try:  # Python's own business, as it knows of no tile
            return self.table["half"]
        except KeyError:
            return 0.0


settings = Settings()


@tw.entry
def methods(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    wrapped = Wrapped(Pair(tl.load_tile_like(x, z), 1.0).total(by=2.0))
    z.store(settings.weighted(wrapped.doubled()) + wrapped.next + settings.half)


def test_methods_of_values_and_of_objects(monkeypatch):
    x = np.arange(3, dtype=np.float32)
    with tw.device("reference"):
        for weight, half in ((3.0, 0.5), (10.0, 0.5), (10.0, 2.5)):
            monkeypatch.setattr(settings, "weight", weight)
            monkeypatch.setitem(settings.table, "half", half)
            z = methods(tw.empty((3,)).partition((4,)), x).out().to_numpy().sync()
            value = (x + 1) * 2
            assert z.tolist() == (value * 2 * weight + value + 1 + half).tolist()
