from __future__ import annotations

import struct

import numpy as np

from tilewright import f32, i8
from tilewright.devices.cpu.run import FailureWords
from tilewright.ir.artifact import Site
from tilewright.ir.signature import Signature
from tilewright.ir.types import PtrType, TileType
from tilewright.launch import records


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
    found = records._printed(sites, late + early + again, records.Places((2, 3, 1), Signature(())))
    assert [p.block for p in found] == [(0, 0, 0), (1, 2, 0), (1, 2, 0)]
    assert found[0].values[0] == 1 << 40
    assert [v.tolist() for v in found[1].values] == [[1, 2, 3], 0.5]
    assert found[2].values[0].tolist() == [4, 5, 6]


def test_failures_know_their_block():
    sites = (Site("check", None, "x", 1),)
    places = records.Places((2, 5, 1), Signature(()))
    found = records._failure(sites, FailureWords(0, 7, -3, 4), places)
    assert (found.site, found.block, found.index, found.extent) == (sites[0], (1, 2, 0), -3, 4)


def test_failures_of_threads_know_block_and_thread():
    places = records.Places((1, 2, 5), Signature((), block=(4, 3)))
    number = (1 * 5 + 2) * 12 + 2 * 4 + 1  # block x 2, y 1; thread x 1, y 2
    assert places.of(number) == ((2, 1, 0), (1, 2, 0))
