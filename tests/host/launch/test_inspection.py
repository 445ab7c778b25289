from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32
from tilewright.ir.artifact import Artifact

SCALE = 2


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


def fresh():
    @tw.entry
    def scale(z: tl.TensorMut, x: tl.Tensor, *, K: tl.Const[int] = 3) -> None:
        z.store(tl.load_tile_like(x, z) * (K * SCALE))

    return scale


def meta(*shape, dtype=f32, tile=None):
    t = tw.meta(shape, dtype)
    return t.partition(tile) if tile else t


def test_compiling_needs_no_memory():
    scale = fresh()
    huge = 1 << 20
    artifact = scale.compile(meta(huge, huge, tile=(64, 64)), meta(huge, huge))
    assert isinstance(artifact, Artifact)
    assert artifact.target == "reference"
    z = tw.zeros((8, 8)).sync()
    scale(z.partition_mut((64, 64)), np.ones((8, 8), "f4")).sync()
    assert scale.explain_recompile() == "1. reference: first launch"


def test_compiling_takes_nothing():
    z = tw.zeros((8, 8)).sync()
    p = z.partition_mut((4, 4))
    fresh().compile(p, z)
    p.check_usable()


def test_ir_and_stages():
    scale = fresh()
    text = scale.ir(meta(8, tile=4), meta(8), K=5)
    assert text.startswith("kernel scale(")
    assert "store_view" in text
    stages = scale.inspect(meta(8, tile=4), meta(8), K=5)
    assert next(iter(stages)) == "frontend"


def test_decisions():
    text = fresh().explain(meta(8, tile=4), meta(8))
    assert text.startswith("scale for reference\n")
    assert "checked at launch:" in text


def test_why_a_launch_compiled(monkeypatch):
    scale = fresh()
    assert scale.explain_recompile() == "scale has not been compiled"
    x = np.ones((8, 8), "f4")

    def run(dtype=f32, tile=(4, 4), array=x, **constants):
        scale(tw.zeros((8, 8), dtype).partition(tile), array, **constants).sync()

    run()
    run()
    run(tile=(8, 8))
    run(K=4)
    run(f16, array=x.astype("f2"))
    run(array=np.asfortranarray(x))
    monkeypatch.setitem(globals(), "SCALE", 5)
    run()
    lines = scale.explain_recompile().splitlines()
    for line, text in zip(
        lines,
        ["first launch", "z.tile: (4, 4) -> (8, 8)", "constant K: 3 -> 4", "z.dtype: f32 -> f16",
         "x.strides: (?, 1) -> (1, ?)", "`SCALE`"],
        strict=False,
    ):  # fmt: skip
        assert text in line


def test_arguments_go_by_keyword():
    kernel = fresh()
    z, x = meta(64, tile=(16,)), meta(64)
    assert kernel.ir(x=x, z=z) == kernel.ir(z, x)
    assert kernel.explain(z, x=x) == kernel.explain(z, x)
    assert kernel.inspect(x=x, z=z, device="cpu") == kernel.inspect(z, x, device="cpu")
    by_position = kernel.compile_for("reference", z, x)
    assert kernel.compile_for("reference", z, x=x).signature == by_position.signature
    assert kernel.checks(x=x, z=z) == kernel.checks(z, x)
    with pytest.raises(TypeError, match="needs `z` too"):
        kernel.explain(x=x)
    with pytest.raises(TypeError, match="is given `x` twice"):
        kernel.ir(z, x, x=x)


def test_generics_by_keyword():
    from typing import TypeVar

    N = TypeVar("N")

    @tw.entry
    def fixed(z: tl.TensorMut[f32], x: tl.Tensor[f32, N]) -> None:
        z.store(tl.load_tile_like(x, z))

    signature = fixed.compile(meta(8, tile=4), meta(8), N=8).signature
    assert signature.params[1].shape == (8,)


def test_ops_are_refused():
    with pytest.raises(TypeError, match=r"pass tensors or tw\.meta"):
        fresh().compile(tw.zeros((8,)).partition((4,)), meta(8))
