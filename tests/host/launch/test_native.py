from __future__ import annotations

import struct

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i8
from tilewright.driver.cpu import SLOTS, FailureWords
from tilewright.ir.artifact import Site
from tilewright.ir.types import PtrType, TileType
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


def record(site, block, *operands):
    body = b"".join(data + b"\0" * (-len(data) % 8) for data in operands)
    return struct.pack("<qqq", 24 + len(body), site, block) + body


def test_print_records_come_in_block_order():
    sites = (
        Site("check", None),
        Site("print", None, types=(TileType(i8, (3,)), TileType(f32))),
        Site("print", None, types=(TileType(PtrType(f32)),)),
    )
    late = record(1, 5, np.array([1, 2, 3], "i1").tobytes(), np.float32(0.5).tobytes())
    early = record(2, 0, struct.pack("<Q", 1 << 40))
    again = record(1, 5, np.array([4, 5, 6], "i1").tobytes(), np.float32(1.5).tobytes())
    found = native._printed(sites, late + early + again, (2, 3, 1))
    assert [p.block for p in found] == [(0, 0, 0), (1, 2, 0), (1, 2, 0)]
    assert found[0].values[0] == 1 << 40
    assert [v.tolist() for v in found[1].values] == [[1, 2, 3], 0.5]
    assert found[2].values[0].tolist() == [4, 5, 6]


def test_failures_know_their_block():
    sites = (Site("check", None, "x", 1),)
    found = native._failure(sites, FailureWords(0, 7, -3, 4), (2, 5, 1))
    assert (found.site, found.block, found.index, found.extent) == (sites[0], (1, 2, 0), -3, 4)
