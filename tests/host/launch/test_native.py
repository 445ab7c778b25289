from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i8
from tilewright.devices.cpu.record import SLOTS
from tilewright.launch import native
from tilewright.launch.arguments import OutputArg, PointerArg, ScalarArg, TensorArg
from tilewright.launch.binding import Binder


@tw.entry
def many(z: tl.TensorMut[f32], x: tl.Tensor[f32], n: i8, *, s: float = 0.5) -> None:
    z.store(tl.load_tile_like(x, z))


def described(*values):
    binder = Binder(many.source)
    return binder.describe(binder.bind(values, {}))


def test_slots():
    x = np.zeros((4, 6), "f4")[::-1, :1]
    z, hidden = tw.zeros((3, 5)).sync(), tw.zeros((7,)).sync()
    args = described(z.partition_mut((2, 2)), x, -1)
    slots, places = native.slots_of(args, [hidden.region])
    assert slots == [
        0, 3, 5, 5, 1,
        0, 4, 1, 2**64 - 6, 1,
        0, 0, hidden.region.address,
    ]  # fmt: skip
    at = {kind: [place - SLOTS for place in found] for kind, found in places.items()}
    assert at == {OutputArg: [0], TensorArg: [5], ScalarArg: [10, 11], PointerArg: []}


def test_only_outputs_count_as_written():
    x, z = np.zeros((100, 100), "f4"), tw.zeros((3, 5)).sync()
    assert native.output_bytes(described(z.partition_mut((2, 2)), x, 1)) == 60
    assert native.output_bytes(()) == 0
