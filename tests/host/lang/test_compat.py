"""`tl.compat`: every name is one of `tl`, with its canonical form, and works in kernels."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright.lang import compat

NAMES = sorted(set(compat.__all__) - {"CANONICAL"})


@tw.entry
def larger(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(
        tl.compat.select(
            tl.compat.gt_tile(tile, 0.0), tl.compat.mulf(tile, tile), compat.negf(tile)
        )
    )


def test_names_in_kernels():
    x = np.array([-3, 0, 2, 5], "f4")
    with tw.device("reference"):
        z = tw.empty((4,)).sync()
        larger(z.partition_mut(4), x).sync()
    np.testing.assert_array_equal(z.to_numpy(), np.where(x > 0, x * x, -x))


def test_each_name_has_a_canonical_form():
    assert sorted(compat.CANONICAL) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_that_of_tl(name):
    assert getattr(compat, name) is getattr(tl, name)


def test_no_canonical_form_is_a_synonym():
    used = {name for name in NAMES if any(f"tl.{name}(" in f for f in compat.CANONICAL.values())}
    assert not used
