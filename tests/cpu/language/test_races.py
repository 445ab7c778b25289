"""A race that safe kernels cannot have, and what the reference says of their unsafe twin."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from support.heads import SMALL, Sizes, inputs, racing, safe

TINY = Sizes(2, 4, 8, 4, 4)


@pytest.mark.parametrize("sizes", [TINY, SMALL, Sizes(1, 3, 7, 4, 4)])
def test_safe_kernels_permute_heads(device, sizes, rng):
    x, order = inputs(sizes, rng)
    with tw.device(device):
        assert (safe(sizes, x, order) == x[:, order]).all()


def test_the_reference_names_both_writers(rng):
    x, order = inputs(TINY, rng)
    with tw.device("reference"), pytest.raises(tw.LaunchError, match="two blocks write") as caught:
        racing(TINY, x, order)
    (text,) = [line for line in str(caught.value).splitlines() if "two blocks write" in line]
    writers = re.findall(
        r"block \((\d+), (\d+), (\d+)\) at \S*heads\.py:\d+:\d+: tl\.store_ptr", text
    )
    assert len(writers) == len(set(writers)) == 2
    rows, target = TINY.rows // TINY.tile, [int(order[int(h)]) for _, h, _ in writers]
    places = [
        (int(b) * TINY.heads + int(m)) * rows + t
        for (b, _, m), t in zip(writers, target, strict=True)
    ]
    assert places[0] == places[1], "these two do write the same rows"


def test_nobody_reports_a_race_of_the_safe_kernel(rng):
    """Whatever the order of the heads, also one that is none."""
    x, _ = inputs(TINY, rng)
    with tw.device("reference"):
        for _ in range(3):
            order = rng.integers(0, TINY.heads, TINY.heads).astype(np.int32)
            assert (safe(TINY, x, order) == x[:, order]).all()
