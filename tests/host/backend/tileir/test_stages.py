"""Every op with every element type: what its Tile IR does is what the reference interpreter does.

The probes are those that NVIDIA's assembler gets (`tests/toolchain/test_ops.py`). Each is lowered,
interpreted and compared with the reference, all of its memory bit for bit.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from fuzz.wild.program import Array, numbers
from fuzz.wild.running import same
from simulator.tile_ir.launch import run
from simulator.tile_ir.storage import Allocation, DeviceMemory
from support import tiers
from support.probes import Probe
from tilewright.backend.reference import interpreter as reference
from tilewright.backend.tileir import stages
from tilewright.backend.tileir.target import TileTarget
from tilewright.base.dtypes import AnyDType
from tilewright.compile.pipeline import CUDA_PASSES
from toolchain import ops

COUNT, ALIGNMENT = 16384, 256
APART: dict[str, str] = {
    "print": "has a parameter for reports; tests of the language print",
    "check": "has a parameter for reports",
    "offset_": "stores addresses, which are those of other memory",
    "ptr_to_": "stores addresses, which are those of other memory",
    "_wrap": "promises that sums of any numbers do not keep",
    "32_tf32": "bits that tf32 does not have",
}
"""Parts of names of probes that are not compared, and why."""
CLOSE = ("expm1",)
"""Functions that are computed in another way, within their error bounds."""


@cache
def probes() -> list[Probe]:
    return [p for p in ops.probes() if not any(part in p.name for part in APART)]


def memory(dtype: AnyDType, rng: np.random.Generator) -> Array:
    """An array whose address is aligned as an allocation's is."""
    size = COUNT * dtype.np.itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    array: Array = raw[start : start + size].view(dtype.np)
    array[:] = numbers(rng, dtype, (COUNT,))
    return array


def outcomes(probe: Probe, arch: str, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """What the Tile IR of a probe leaves in memory, and what the reference does."""
    specs: Any = probe.func.signature.params
    ours, theirs = ([memory(spec.dtype, rng) for spec in specs] for _ in range(2))
    for mine, other in zip(ours, theirs, strict=True):
        other[:] = mine
    reference.run(probe.func, theirs, (1, 1, 1))
    func = probe.func
    for pass_ in CUDA_PASSES:
        func = pass_(func)
    (kernel,) = stages.lowered(func, TileTarget(arch)).program.kernels
    blocks = [Allocation(x.ctypes.data, x.view(np.uint8)) for x in ours]
    run(kernel, [x.ctypes.data for x in ours], (1, 1, 1), DeviceMemory(blocks))
    return ours, theirs


def agree(probe: Probe, ours: Any, theirs: Any) -> bool:
    if probe.name.startswith(CLOSE):
        both = (np.asarray(x, np.float64) for x in (ours, theirs))
        return bool(np.allclose(*both, rtol=1e-6, equal_nan=True))
    return same(ours, theirs)


ARCHS = ("sm_80", "sm_90", "sm_100")


def probes_of(arch: str) -> list[Probe]:
    """The probes that an architecture has the types for: in the quick tier each has one of them."""
    found = []
    for k, probe in enumerate(probes()):
        able = [a for a in ARCHS if probe.since <= int(a.removeprefix("sm_"))]
        if arch in tiers.count(quick=able[k % len(able) :][:1], full=able):
            found.append(probe)
    return found


@pytest.mark.parametrize("arch", ARCHS)
def test_every_op(arch: str, rng: np.random.Generator) -> None:
    chosen = probes_of(arch)
    assert len(chosen) > tiers.count(quick=200, full=700)
    wrong: list[str] = []
    for probe in chosen:
        pairs = zip(*outcomes(probe, arch, rng), strict=True)
        with np.errstate(invalid="ignore"):
            if not all(agree(probe, a, b) for a, b in pairs):
                wrong.append(probe.name)
    assert not wrong, f"{arch}: {', '.join(wrong)}"
