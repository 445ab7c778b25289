"""What is written is read back; anything else is a typed error."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.numbers import fresh_random
from tilewright.backend.tileir.bytecode.enums import VERSIONS
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.backend.tileir.bytecode.reader import BytecodeError, read
from tilewright.backend.tileir.bytecode.writer import write
from tilewright.base.errors import Error

MUTANTS = 500


@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    """Views, loops, branches, reductions, products, checks."""
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((16, 8)), y.partition((8, 16), padding=tl.neg_inf)
    acc = tl.zeros((16, 16), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    if i > 3:
        acc = acc * 2.0
    z.store(acc - tl.reduce_max(acc, 1, keepdims=True))


def program(version=VERSIONS[-1]):
    z = tw.meta((64, 64))
    return lowered(cuda_ir(kernel, z.partition_mut((16, 16)), z, z), version).program


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_written_is_read(version):
    made = program(version)
    data = write(made, version)
    again, found = read(data)
    assert found == version
    assert program_text(again) == program_text(made)
    assert write(again, version, places=False) == write(made, version, places=False)


def test_mutants_are_typed_errors_or_programs():
    data = write(program(), VERSIONS[-1])
    rng = fresh_random()
    refused = 0
    for _ in range(MUTANTS):
        mutant = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
        try:
            program_text(read(bytes(mutant))[0])
        except BytecodeError:
            refused += 1
    assert refused > MUTANTS // 4


def test_every_beginning_is_refused():
    data = write(program(), VERSIONS[-1])
    for length in range(0, len(data) - 1, 7):
        with pytest.raises(BytecodeError):
            read(data[:length])


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fTileIR\0\x0d\x09\0\0\0", bytes(100)])
def test_another_kind_of_file(data):
    with pytest.raises(Error, match="not Tile IR bytecode"):
        read(data)
