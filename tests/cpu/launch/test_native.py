"""Code that nobody uses any more goes at once: Python's collector comes late, or never."""

from __future__ import annotations

import gc
import weakref

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32
from tilewright.launch.native import load_native


@tw.entry
def plain(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + 1.0)


@tw.entry
def checked(z: tl.TensorMut[f32], x: tl.Tensor[f32], limit: i32) -> None:
    assert limit > 1, "too large"
    z.store(tl.load_tile_like(x, z) + 1.0)


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(("kernel", "numbers"), [(plain, ()), (checked, (2,))])
def test_a_run_that_is_dropped_is_gone_with_its_code(kernel, numbers):
    z, x = tw.zeros((16,), device="cpu").sync(), tw.zeros((16,), device="cpu").sync()
    op = kernel(z.partition_mut((16,)), x, *numbers)
    bound, code = op.made_ready()
    op.sync()
    over = load_native(code.compiled.artifact, ())
    run = over(bound.form.args, (1, 1, 1))
    assert run.plan is not None and run.lending is not None
    loaded = weakref.ref(run._loaded.function), weakref.ref(run)
    del run, over
    assert [ref() for ref in loaded] == [None, None]
