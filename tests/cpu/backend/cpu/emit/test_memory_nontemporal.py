"""Non-temporal stores: the same bits, aligned or not, full tiles or parts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from support import plans
from support.ir import poisoned
from support.native import Dense, Native
from support.numbers import fresh_rng
from tilewright.backend.cpu.emit import emit_module
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.llvm.object import CpuTarget, assembly, host_target
from tilewright.base.dtypes import bool_, f16, f32, i8, i64
from tilewright.devices.cpu.memory import allocate

LINUX = "x86_64-unknown-linux-gnu"
AVX512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c"
MACHINES = [
    (CpuTarget("haswell", "+avx2,+fma,+f16c", LINUX), "vmovntps\t%ymm", "sfence"),
    (CpuTarget("sapphirerapids", AVX512, LINUX), "vmovntps\t%zmm", "sfence"),
    (CpuTarget("neoverse-v1", "+neon", "aarch64-unknown-linux-gnu"), "stnp", "dmb"),
    (CpuTarget("apple-m1", "+neon", "arm64-apple-macosx13.0"), "stnp", "dmb"),
]


def code(func, cpu):
    return assembly(emit_module(build_plan(func, cpu), cpu), cpu)


@pytest.mark.parametrize(("cpu", "store", "fence"), MACHINES, ids=lambda x: getattr(x, "name", ""))
def test_the_instructions_of_each_machine(cpu, store, fence):
    for func in (plans.add(), plans.softmax()):
        text = re.sub(r"[ \t]+", "\t", code(func, cpu))
        assert store in text
        assert fence in text


def test_none_where_nothing_may_be_streamed():
    text = code(plans.in_place(), host_target())
    assert not re.search("movnt|stnp|sfence|dmb", text)


def placed(dtype, shape, shift):
    """Poison, `shift` elements behind a line."""
    count = int(np.prod(shape))
    room = allocate((count + shift) * dtype.itemsize).view(dtype.np)
    array = room[shift:].reshape(shape)
    array[...] = poisoned(dtype, shape)
    return array


def doubled(dtype, tile):
    k = Dense()
    x, z = k.tensor("x", dtype, 2), k.output("z", dtype, 2)
    i, j = k.block_id(0), k.block_id(1)
    tile = k.load(x, tile, i, j)
    word = "ori" if dtype is bool_ else "addf" if dtype.is_float else "addi"
    k.store(k.emit(word, tile, tile), z, i, j)
    return k.finish()


@pytest.mark.thinned(10)
@pytest.mark.parametrize("dtype", [f32, f16, i8, i64, bool_])
@pytest.mark.parametrize("shift", [0, 1, 4, 8, 32])
def test_same_bits(dtype, shift):
    native = Native(doubled(dtype, (4, 64)))
    assert any(line.startswith("non-temporal stores to z") for line in native.artifact.decisions)
    # Whole tiles; rows that start anywhere; parts of tiles.
    for shape in [(8, 256), (8, 264), (4, 65), (5, 64), (3, 63), (1, 1)]:
        x = fresh_rng().integers(0, 2 if dtype is bool_ else 50, shape).astype(dtype.np)
        grid = (-(-shape[0] // 4), -(-shape[1] // 64))
        results = []
        for streamed in (False, True):
            z = placed(dtype, shape, shift)
            native([x, z], grid, streamed=streamed)
            results.append(z.tobytes())
        expected = x if dtype is bool_ else x + x
        assert results == [expected.astype(dtype.np).tobytes()] * 2, shape


def test_other_columns_stay():
    """A window of a wider array, most of whose lines are shared with what is not written."""
    native = Native(doubled(f32, (4, 64)))
    x = fresh_rng().random((8, 128), np.float32)
    for first in (0, 1, 8, 16, 24):
        wide = placed(f32, (8, 256), 0)
        before = wide.copy()
        native([x, wide[:, first : first + 128]], (2, 2), streamed=True)
        before[:, first : first + 128] = x + x
        assert wide.tobytes() == before.tobytes()
