"""Accesses of blocks, as the interpreter records them."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel
from tilewright.backend.reference.interpreter import run
from tilewright.backend.reference.storage import Member
from tilewright.backend.reference.watch import Recorder, box_of
from tilewright.base.dtypes import f32


def doubling():
    k = Kernel()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    k.line(3, "t = x.load(...)")
    index = [k.block_id(0), k.block_id(1)]
    tile = k.load(x, (4, 4), *index)
    k.line(4, "z.store(t + t)")
    k.store(k.emit("addf", tile, tile), z, *index)
    return k.finish()


def recorded(func, values, grid, most=1000, seconds=60.0, **more):
    recorder = Recorder(most, seconds)
    run(func, values, grid, seed=0, recorder=recorder, **more)
    return recorder.accesses


def test_windows_boxes_and_padding():
    x, z = np.ones((5, 7), np.float32), np.zeros((5, 7), np.float32)
    found = recorded(doubling(), [x, z], (2, 2))
    assert len(found) == 8
    read, written = [a for a in found if a.block == (1, 1, 0)]
    assert (read.verb, read.tensor, written.verb, written.tensor) == ("reads", "x", "writes", "z")
    for access in (read, written):
        assert access.window == ((4, 8), (4, 8)) and access.box == ((4, 5), (4, 7))
        assert (access.touched, access.elements, access.is_dense) == (3, 16, True)
    assert read.op.span is not None and read.op.span.line == 3
    assert (z == 2).all(), "the run is a run"


def test_a_tile_of_padding_alone_touches_nothing():
    x, z = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    (read, written) = [a for a in recorded(doubling(), [x, z], (2, 1)) if a.block[0] == 1]
    assert read.box is None and written.touched == 0 and not written.is_dense


def test_only_some_blocks_run_and_in_this_order():
    x, z = np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)
    found = recorded(doubling(), [x, z], (2, 2), blocks=[3, 0])
    assert [a.block for a in found] == [(1, 1, 0)] * 2 + [(0, 0, 0)] * 2
    assert z[:4, 4:].sum() == 0 == z[4:, :4].sum()


def test_enough_is_enough():
    x, z = np.ones((8, 8), np.float32), np.zeros((8, 8), np.float32)
    assert len(recorded(doubling(), [x, z], (2, 2), most=3)) == 3
    assert recorded(doubling(), [x, z], (2, 2), seconds=-1.0) == []


@pytest.mark.parametrize(("view", "box"), [
    (lambda a: a, ((1, 2), (2, 3))),
    (lambda a: a[::-1], ((3, 4), (2, 3))),
    (lambda a: a[:, ::-1], ((1, 2), (3, 4))),
    (lambda a: a.T, ((2, 3), (1, 2))),
    (lambda a: a[1:, 2::2], ((0, 1), (0, 1))),
])  # fmt: skip
def test_boxes_of_addresses(view, box):
    whole = np.zeros((5, 6), np.float32)
    address = whole.ctypes.data + (1 * 6 + 2) * 4
    assert box_of(Member("a", view(whole)), np.array([address])) == box
    assert box_of(Member("a", view(whole)), np.array([], np.int64)) is None
