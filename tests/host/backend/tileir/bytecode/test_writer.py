"""Bytes are the same in every process, and say where instructions come from."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.enums import V13_1, V13_4
from tilewright.backend.tileir.bytecode.opcodes import OPCODES
from tilewright.backend.tileir.bytecode.program import (
    Instr,
    InstructionRegion,
    Kernel,
    Program,
    Val,
)
from tilewright.backend.tileir.bytecode.types import F8E8M0FNU, F32, TileValueType
from tilewright.backend.tileir.bytecode.writer import TooOldError, write

SHOW = """
import hashlib, sys
sys.path[:0] = {paths!r}
from host.backend.tileir.bytecode.test_writer import digest
print(digest())
"""


@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor, by: tw.f32) -> None:
    z.store(tl.exp(tl.load_tile_like(x, z)) * by)


def digest() -> str:
    z = tw.meta((64, 64))
    made = lowered(cuda_ir(scale, z.partition_mut((16, 16)), z, 2.0))
    return hashlib.sha256(write(made.program, V13_4)).hexdigest()


def test_the_same_bytes_in_every_process():
    code = SHOW.format(paths=[p for p in sys.path if p])
    found = {digest()}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    assert len(found) == 1


def test_places_can_be_left_out():
    z = tw.meta((64,))
    made = lowered(cuda_ir(scale, z.partition_mut((16,)), z, 2.0)).program
    assert b"test_writer.py" in write(made, V13_4)
    assert b"test_writer.py" not in write(made, V13_4, places=False)


def program(name: str, kind: TileValueType) -> Program:
    a = Val(kind)
    made = Instr(OPCODES[name], (Val(kind),), (a, a), (1, 1), {})
    end = Instr(OPCODES["return"], (), (), (0,), {})
    return Program((Kernel("k", InstructionRegion((a,), [made, end])),))


@pytest.mark.parametrize(
    ("name", "kind"), [("atan2", TileValueType(F32)), ("pow", TileValueType(F8E8M0FNU))]
)
def test_what_came_later_is_refused(name, kind):
    with pytest.raises(TooOldError):
        write(program(name, kind), V13_1)
    assert write(program(name, kind), V13_4)
