"""Random host programs give what their sequential model says, on the device under test."""

from __future__ import annotations

import os

import numpy as np
import pytest

from order.drawing import Draw
from order.kernels import iterated
from order.running import Bench, minimized
from order.steps import Detour, Ending, Launch, WrongValueError
from support import several

SHARDS = 10
DEVICE = os.environ.get("TILEWRIGHT_DEVICE", "cpu")


@pytest.mark.parametrize("shard", range(SHARDS))
def test_programs_agree_with_the_model(shard, pytestconfig):
    count, first = (int(pytestconfig.getoption(name)) for name in ("--programs", "--seed"))
    failures = Bench(DEVICE).try_all(range(first + shard, first + count, SHARDS))
    assert not failures, "\n".join(failures)


@pytest.mark.skipif(DEVICE != "cpu", reason="simulates devices of its own")
@pytest.mark.parametrize("kind", several.KINDS, ids=lambda kind: f"{kind[1]} of {kind[0]}")
def test_programs_on_several_devices_agree_with_the_model(kind, pytestconfig, monkeypatch):
    count, first = (int(pytestconfig.getoption(name)) for name in ("--programs", "--seed"))
    several.make(*kind, monkeypatch)
    bench = Bench(kind[0])
    bench.devices = kind[1]
    failures = bench.try_all(range(first, first + count // 20))
    assert not failures, "\n".join(failures)


def test_a_seed_is_always_the_same_program():
    assert Draw(17).program() == Draw(17).program()
    assert Draw(17).program() != Draw(18).program()
    drawn = [step for seed in range(9) for step in Draw(seed, devices=2).program()]
    assert any(isinstance(step, Detour) for step in drawn)
    drawn = [step for seed in range(9) for step in Draw(seed).program()]
    assert not any(isinstance(step, Detour) for step in drawn)


def test_the_model_of_the_long_kernel_is_its_loop():
    x = expected = np.array([0, 1, -1, 2**31 - 1, -(2**31)], np.int32)
    for _ in range(7):
        expected = ((expected.astype(np.int64) * 5 + 1) & 0xFFFFFFFF).astype(np.uint32)
        expected = expected.view(np.int32)
    assert np.array_equal(iterated(x, 7), expected)


def test_a_wrong_value_is_found():
    class Wrong(Launch):
        def model(self, model, kernels):
            model.arrays[self.out][3] ^= 1

    steps = [Wrong("seven", 0, "mut", None, (), (), Ending("start_on", 1))]
    assert isinstance(Bench(DEVICE).run(steps), WrongValueError)


def test_failing_programs_are_shrunk():
    assert minimized(list("abcdefgh"), lambda steps: {"c", "g"} <= set(steps)) == ["c", "g"]
