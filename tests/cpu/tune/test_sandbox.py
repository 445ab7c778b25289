"""Candidates run on copies, laid out and aligned like what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32
from tilewright.tensors.putting import LINE, like_now, overwrite_now
from tilewright.tensors.tensor import new_tensor
from tilewright.tune.choice import Choice
from tilewright.tune.sandbox import Sandbox, region_behind, stand_in


@tw.entry
def increase(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(z.load() + tl.load_tile_like(x, z))


CHOICE = Choice(increase, tw.Config(tile=(4, 8)))


def numbers(shape):
    return fresh_rng().standard_normal(shape, dtype=np.float32)


@pytest.mark.parametrize(
    "part",
    [
        lambda t: t,
        lambda t: t[1:, 3:],
        lambda t: t[:, ::2],
        lambda t: t[::-1, ::-1],
        lambda t: t[5:5],
    ],
    ids=["whole", "offset", "strided", "reversed", "empty"],
)
def test_copies_have_the_layout_and_the_alignment_of_the_original(part):
    given = numbers((13, 21))
    region = part(tw.from_numpy(given).sync()).region
    copy = like_now(region)
    assert copy.layout is region.layout
    assert copy.address % LINE == region.address % LINE
    overwrite_now(copy, region)
    np.testing.assert_array_equal(new_tensor(copy).to_numpy(), part(given))


def test_what_the_call_will_write_is_not_touched():
    given, x = numbers((13, 21)), numbers((13, 21))
    z = tw.from_numpy(given).sync()
    sandbox = Sandbox(increase, (z.borrow_mut(), x), {}, z.device)
    for _ in range(3):
        sandbox.run(CHOICE)
        ((found, scale),) = sandbox.results()
        np.testing.assert_array_equal(found.to_numpy(), given + x)
        assert scale > 0
    np.testing.assert_array_equal(z.to_numpy(), given)


def test_a_disagreement_names_the_output():
    z, x = tw.from_numpy(numbers((13, 21))).sync(), tw.from_numpy(numbers((13, 21))).sync()
    sandbox = Sandbox(increase, (z.borrow_mut(), x), {}, z.device)
    sandbox.run(CHOICE)
    expected = sandbox.results()
    sandbox.run(CHOICE)
    assert sandbox.disagreement(expected, None) == ""
    sandbox.build(CHOICE).sync_on(sandbox.stream)  # once more, on what the last run has written
    assert sandbox.disagreement(expected, None).startswith("wrong: `z` differs")
    assert sandbox.disagreement(expected, np.inf) == ""


def test_memory_behind_outputs():
    t = tw.zeros((4, 4)).sync()
    region = t.region
    assert region_behind(t) is region
    assert region_behind(t.borrow_mut()) is region
    assert region_behind(t.partition_mut((2, 2))) is region
    assert region_behind(tw.Arc(tw.move(t))) is region


def test_what_stands_for_declared_tensors():
    made = stand_in(tw.meta((3, 5)))
    assert (made.shape, made.dtype) == ((3, 5), f32)
    assert len(np.unique(made.to_numpy())) > 1
    assert not stand_in(tw.meta((7,), tw.i32)).to_numpy().any()
    part = stand_in(tw.meta((8, 8)).partition_mut((4, 4)))
    assert part.tile == (4, 4)
    assert stand_in(3) == 3
