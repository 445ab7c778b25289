"""Checks of one region are reported by one branch, which finds the first that failed."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright import f32, i32
from tilewright.backend.tileir.bytecode.program import program_text


@tw.entry
def picked(z: tl.TensorMut[f32], x: tl.Tensor[f32], places: tl.Tensor[i32]) -> None:
    total = tl.zeros(z.shape, f32)
    for k in tl.static_range(3):
        row = places.load_tile((1,), [k]).item()
        total = total + x.load_tile((1, 8), [row, 0]).reshape(8)
    z.store(total)


@tw.entry
def repeated(z: tl.TensorMut[f32], x: tl.Tensor[f32], count: tl.Tensor[i32]) -> None:
    total = tl.zeros(z.shape, f32)
    for k in range(count.load_tile((1,), [0]).item()):
        total = total + x.load_tile((1, 8), [k, tl.block_id(0)]).reshape(8)
    z.store(total)


def text(kernel, *rest):
    z, x = tw.meta((8,), f32).partition_mut((8,)), tw.meta((5, 8), f32)
    return program_text(lowered(cuda_ir(kernel, z, x, *rest)).program)


def test_one_branch_for_several_checks():
    assert text(picked, tw.meta((3,), i32)).count("atomic_cas_tko") == 1


def test_hoisted_checks_have_no_branches_of_their_own():
    """What is checked before the loop, if that runs at all, is one condition and one branch."""
    found = text(repeated, tw.meta((1,), i32))
    (before,) = {part.split(" for ")[0] for part in found.split("entry")[1:]}
    assert before.count("atomic_cas_tko") == 1
    assert ": tile<i1> {" not in before  # no branch that gives the answer of one check


@pytest.mark.parametrize("places", [[7, 1, 9], [0, 7, 9], [4, 3, -1]])
def test_the_first_that_failed_is_named(places, simulated_gpu):
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    wrong = next(n for n in places if not 0 <= n < 5)
    with tw.device("cuda"):
        z = tw.zeros((8,)).sync()
        with pytest.raises(tw.LaunchError, match=rf"got: {wrong}, in block"):
            picked(z.partition_mut(8), x, np.array(places, np.int32)).sync()


def test_what_does_not_run_cannot_fail(simulated_gpu):
    """A hoisted check of a loop without iterations passes, whatever it compares."""
    x, count = np.ones((5, 0), np.float32), np.zeros(1, np.int32)
    with tw.device("cuda"):
        z = tw.ones((8,)).sync()
        repeated(z.partition_mut(8), x, count).sync()
        assert not z.to_numpy().any()
        with pytest.raises(tw.LaunchError):
            repeated(z.partition_mut(8), x, count + 2).sync()
