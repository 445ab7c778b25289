from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import philox as numpy_philox
from tilewright import u32
from tilewright.lang.stdlib.random import rounds

PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]  # fmt: skip
"""Counter, key and words: the known answers that the authors of Philox published."""


@tw.entry
def four_words(
    out: tl.TensorMut[u32], c0: u32, c1: u32, c2: u32, c3: u32, key0: u32, key1: u32
) -> None:
    counter = tl.full((1,), c0), tl.full((1,), c1), tl.full((1,), c2), tl.full((1,), c3)
    x0, x1, x2, x3 = rounds(counter, key0, key1)
    out.store(tl.cat((x0, x1, x2, x3)))


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_known_answers(counter, key, expected, device):
    out = tw.empty((4,), u32, device=device).sync()
    four_words(out.partition_mut((4,)), *counter, *key).sync()
    assert tuple(out.to_numpy()) == expected


@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_the_tests_own_philox_gives_the_known_answers(counter, key, expected):
    number, seed = counter[0] | counter[1] << 32, key[0] | key[1] << 32
    words = numpy_philox.words([number], seed, counter[2:])
    assert tuple(np.concatenate(words)) == expected
