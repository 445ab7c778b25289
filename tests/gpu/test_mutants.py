"""Damaged cubins: the loader refuses them or takes them, the process lives, the next launch is
right. None that loads is launched."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from support.mutants import mutants
from support.numbers import fresh_rng, fresh_seed
from tilewright.base.config import override
from tilewright.compile.store import current_store
from tilewright.tools.machine import ask_driver

if not ask_driver().gpus:
    pytest.skip("no NVIDIA GPU here", allow_module_level=True)

KERNELS = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def twice(z: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, z)
    z.store(tile + tile)
"""
PROGRAM = """
import json, random, sys
import numpy as np
import tilewright as tw
from support.mutants import mutants

seed, count, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
cubin = open(path, "rb").read()
outcomes = {"refused": 0, "loaded": 0}
with tw.device("cuda"):
    for number, mutant in enumerate(mutants(cubin, count, random.Random(seed))):
        print(number, flush=True)
        try:
            tw.load_module_from_bytes(mutant)
            outcomes["loaded"] += 1
        except tw.DeviceError as error:
            assert str(error)
            outcomes["refused"] += 1
    module = tw.load_module_from_bytes(cubin)
    assert module.load_function("twice").name == "twice"
    twice = tw.exec(KERNELS)["twice"]
    x = np.random.default_rng(seed).random(1000, dtype=np.float32)
    z = tw.empty((1000,)).sync()
    twice(z.partition_mut((128,)), tw.from_numpy(x).sync()).sync()
    assert np.array_equal(z.to_numpy(), x + x)
print(json.dumps(outcomes))
"""
PROGRAM = f"KERNELS = {KERNELS!r}\n{PROGRAM}"


def cubin_for(arch: str) -> bytes:
    z = tw.meta((1000,))
    kernel = tw.exec(KERNELS)["twice"]
    return kernel.compile_for(arch, z.partition_mut((128,)), z).code


def test_cubin_mutants(request, tmp_path):
    """In a process of its own, so that a driver that crashes is seen as what it is."""
    count = max(request.config.getoption("--mutants"), 500)
    seed = fresh_seed()
    path = tmp_path / "twice.cubin"
    path.write_bytes(cubin_for(ask_driver().gpus[0].arch))
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), str(count), str(path)],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    last = lines[-1] if lines else "before the first"
    assert done.returncode == 0, f"ended at mutant {last}: {done.stderr[-2000:]}"
    outcomes = json.loads(last)
    print(outcomes)
    assert outcomes["refused"] > count // 4
    assert sum(outcomes.values()) == count


def test_a_cubin_for_another_architecture():
    own = ask_driver().gpus[0].arch
    other = "sm_80" if own.startswith("sm_1") else "sm_120"
    with tw.device("cuda"), pytest.raises(tw.DeviceError) as caught:
        tw.load_module_from_bytes(cubin_for(other))
    assert own in str(caught.value) or other in str(caught.value)


def test_a_damaged_entry_of_the_cache_is_compiled_again(tmp_path):
    """The checksums see it before the driver does."""

    @tw.entry
    def thrice(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(tl.load_tile_like(x, z) * 3.0)

    x = fresh_rng().random(1000, dtype=np.float32)
    with override(cache_dir=str(tmp_path / "cache")), tw.device("cuda"):
        for _ in range(2):
            z = tw.empty((1000,)).sync()
            tw.entry(thrice.__wrapped__)(z.partition_mut((64,)), tw.from_numpy(x).sync()).sync()
            np.testing.assert_array_equal(z.to_numpy(), x * np.float32(3))
            for file in current_store().entries():
                path = current_store().root / file.path
                path.write_bytes(next(mutants(path.read_bytes(), 1, random.Random())))
