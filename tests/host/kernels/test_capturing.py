from __future__ import annotations

import subprocess
import sys

import numpy as np

import tilewright as tw
from tilewright import f32
from tilewright.kernels.capturing import kernel


def test_names_are_those_of_the_kernels_module():
    """Not those of the function that happens to launch it first."""
    u8 = u16 = u32 = u64 = tl = f64 = None
    found = tw.full((3,), 2.5, f32, device="reference").to_numpy().sync()
    assert found.tolist() == [2.5] * 3
    assert np.array_equal(tw.arange(3.0, device="reference").to_numpy().sync(), [0, 1, 2])
    assert {u8, u16, u32, u64, tl, f64} == {None}


def test_importing_captures_nothing():
    code = "import tilewright.kernels.filling as f\nassert f.store_bits._entry is None\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_kernel_keeps_its_docstring():
    def nothing(out):
        """Do nothing."""

    assert kernel(nothing).__doc__ == "Do nothing."
