from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import tilewright as tw
from host.launch.test_foreign import PTX, floats, some
from source_tree import ROOT
from tilewright import Arc


@pytest.fixture
def example():
    path = ROOT / "examples" / "interop" / "cuda_scale.py"
    spec = importlib.util.spec_from_file_location("examples_cuda_scale", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def function(fake_cuda, fake_gpu):
    def run(values, grid):
        n, factor, x, out = values
        number = np.array([factor], np.int64).view(np.float32)[0]
        floats(out, n & 0xFFFFFFFF)[:] = floats(x, n & 0xFFFFFFFF) * number

    fake_cuda.kernels["scale"], fake_cuda.parameters["scale"] = run, (4, 4, 8, 8)
    return tw.load_module_from_ptx(PTX).load_function("scale")


def test_the_op_of_the_example(example, function, fake_gpu):
    x, out = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    expected = 3 * x.to_numpy()
    with tw.device(fake_gpu):
        kept, scaled = example.ScaleKernel(function, 3.0, Arc(x), out).sync()
    np.testing.assert_array_equal(scaled.to_numpy(), expected)
    with pytest.raises(tw.BorrowError, match="moved"):
        out.to_numpy()
    short = tw.zeros((30,), device=fake_gpu).sync()
    with pytest.raises(ValueError, match="are not of one shape"):
        example.ScaleKernel(function, 3.0, kept, short)


def test_the_example_needs_a_gpu(example):
    if tw.default_device().name.startswith("cuda"):
        pytest.skip("there is one")
    with pytest.raises(SystemExit, match="runs on NVIDIA GPUs"):
        example.main()
