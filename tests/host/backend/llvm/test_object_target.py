"""What is known about CPUs."""

from __future__ import annotations

import pytest

from tilewright.backend.llvm.object import CpuTarget, host_target
from tilewright.base import config

X86 = "x86_64-unknown-linux-gnu"
AVX512 = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2"


@pytest.mark.parametrize(
    ("features", "triple", "vector", "registers"),
    [
        (AVX512, X86, 64, 32),
        ("+avx2,-avx512f", X86, 32, 16),
        ("+avx512f,+avx2", X86, 32, 16),
        ("+sse4.2", X86, 16, 16),
        ("+neon", "aarch64-unknown-linux-gnu", 16, 32),
    ],
)
def test_vectors(features, triple, vector, registers):
    cpu = CpuTarget("some", features, triple)
    assert (cpu.vector_bytes, cpu.vector_registers) == (vector, registers)
    assert cpu.lane_bytes in (64, 128)


@pytest.mark.parametrize(
    ("features", "found"),
    [
        (AVX512 + ",+sse4.1", [True, True, True]),
        ("+avx2,+sse4.1", [True, True, False]),
        ("+sse2", [False, False, False]),
        ("+neon", [False, False, False]),
    ],
)
def test_which_integers_are_quick_to_order(features, found):
    cpu = CpuTarget("some", features, X86)
    assert [cpu.orders_integers(bits) for bits in (16, 32, 64)] == found


def test_the_host_is_known():
    host = host_target()
    assert host.name
    assert "-" in host.triple
    assert host == host_target()


def test_the_scratch_limit_is_a_setting():
    with config.override(scratch_limit=1 << 20):
        assert host_target().scratch_limit == 1 << 20
