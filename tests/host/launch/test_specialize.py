from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl

A = np.zeros((6, 8), "f4")


@tw.entry
def copy(z: tl.TensorMut, x: tl.Tensor, *, K: tl.Const[object] = 0) -> None:
    z.store(tl.load_tile_like(x, z))


def signature(x=A, tile=(2, 2), **constants):
    return copy.compile(tw.meta(A.shape).partition(tile), x, **constants).signature


def test_extents_and_addresses_are_not_part_of_it():
    with tw.device("reference"):
        assert signature() is signature(np.zeros((99, 3), "f4"))
        assert signature() is not signature(tile=(4, 4))
        assert signature(A.T) is not signature()
        assert signature(A[:, :1]) is signature()


def test_equal_constants_of_different_kinds_are_different():
    with tw.device("reference"):
        kinds = [signature(K=value) for value in (1, True, 1.0)]
    assert len({id(s) for s in kinds}) == 3


def test_those_not_asked_for_lately_are_let_go(monkeypatch):
    monkeypatch.setattr("tilewright.launch.specialize.SIGNATURES", 3)

    @tw.entry
    def fill(z: tl.TensorMut, *, K: tl.Const[int]) -> None:
        z.store(tl.full(z.shape, K, z.dtype))

    with tw.device("reference"):
        for k in range(5):
            fill.compile(tw.meta((8,)).partition((8,)), K=k)
    assert len(fill.kernel._specializer._known) == 3


def test_constants_must_not_change(golden):
    with tw.device("reference"), pytest.raises(tw.LaunchError) as caught:
        signature(K=[1, 2])
    golden(str(caught.value))
