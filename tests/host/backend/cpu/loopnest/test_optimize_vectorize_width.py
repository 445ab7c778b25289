"""Loops that wait for memory have narrow statements, several per round."""

from __future__ import annotations

import pytest

from support import plans
from support.native import Dense
from support.plans import AVX2
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.cpu.loopnest.nodes import Nest, walk
from tilewright.backend.llvm.object import CpuTarget
from tilewright.base.dtypes import f16, f32, f64, i8

AVX512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c"
LINUX = "x86_64-unknown-linux-gnu"
ZEN4 = CpuTarget("znver4", AVX512, LINUX)
WIDE = CpuTarget("sapphirerapids", AVX512, LINUX)
NEON = CpuTarget("neoverse-v1", "+neon", "aarch64-unknown-linux-gnu")


def widths(func, cpu):
    body = build_plan(func, cpu).body
    return [(n.unroll, n.lanes) for n in walk(body) if isinstance(n, Nest) and n.loops]


def copy(dtype, tile, *words):
    k = Dense()
    x, z = k.tensor("x", dtype, 1), k.output("z", dtype, 1)
    i = k.block_id(0)
    value = k.load(x, (tile,), i)
    for word in words:
        value = k.emit(word, value)
    k.store(value, z, i)
    return k.finish()


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [(AVX2, (2, 8)), (ZEN4, (4, 8)), (WIDE, (2, 16)), (NEON, (2, 8))],
    ids=lambda x: getattr(x, "name", ""),
)
def test_what_each_machine_moves(cpu, expected):
    assert widths(plans.add(), cpu) == [expected]


def test_small_elements_past_the_caches_fill_vectors():
    k = Dense()
    x, z = k.tensor("x", f32, 1), k.output("z", i8, 1)
    k.store(k.emit("ftoi", k.load(x, (1024,)), to=i8), z)
    assert widths(k.finish(), ZEN4) == [(1, 32)]


def test_arithmetic_stays_wide():
    assert widths(copy(f32, 1024, "exp"), ZEN4) == [(1, 32)]
    assert widths(copy(f32, 1024, "absf"), ZEN4) == [(4, 8)]


def test_reductions_stay_wide():
    *passes, last = widths(plans.softmax(), ZEN4)
    assert set(passes) == {(1, 32)}
    assert last == (4, 8)


@pytest.mark.parametrize(
    ("dtype", "tile", "expected"),
    [(f64, 64, (4, 4)), (f16, 64, (4, 16)), (i8, 64, (2, 32)), (f32, 8, (1, 8)), (f32, 24, (1, 8))],
)
def test_other_elements_and_short_tiles(dtype, tile, expected):
    assert widths(copy(dtype, tile), ZEN4) == [expected]
