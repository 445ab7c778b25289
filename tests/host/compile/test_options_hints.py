"""Hints of a kernel hold on CUDA, each for its architecture, behind those of a launch."""

from __future__ import annotations

import pytest

from tilewright.base.errors import CompileError
from tilewright.compile import CompileOptions
from tilewright.compile.options import NO_HINTS, Hints

TWO = CompileOptions(occupancy=2)


def test_without_hints_nothing_is_asked_for():
    assert Hints.of("k", None) is NO_HINTS
    assert NO_HINTS.on("sm_90") == CompileOptions()
    assert NO_HINTS.origins(CompileOptions(), "sm_90") == []


def test_one_for_all_architectures():
    hints = Hints.of("k", TWO)
    assert hints.on("sm_80") == hints.on("sm_120") == TWO


@pytest.mark.parametrize("target", ["cpu", "reference", "null"])
def test_the_host_ignores_them(target):
    hints = Hints.of("k", {"default": TWO})
    assert hints.on(target) == CompileOptions()
    assert hints.origins(TWO, target) == []


def test_an_architecture_goes_before_the_default_field_by_field():
    hopper = CompileOptions(occupancy=4, allow_tma=False)
    hints = Hints.of("k", {"sm_90": hopper, "default": CompileOptions(occupancy=2, latency=3)})
    assert hints.on("sm_90").given == {"occupancy": 4, "allow_tma": False, "latency": 3}
    assert hints.on("sm_100").given == {"occupancy": 2, "latency": 3}
    assert Hints.of("k", {"sm_90": hopper}).on("sm_100") == CompileOptions()


def test_what_is_given_is_copied():
    given = {"sm_90": TWO}
    hints = Hints.of("k", given)
    given["sm_90"] = CompileOptions()
    assert hints.on("sm_90") == TWO


def test_origins():
    hints = Hints.of("k", CompileOptions(occupancy=2, allow_tma=False))
    options = CompileOptions(occupancy=4, latency=3).over(hints.on("sm_90"))
    assert hints.origins(options, "sm_90") == [
        "requested where the kernel is defined: allow_tma = False",
        "requested by the launch: occupancy = 4, latency = 3",
    ]


WRONG = {
    "no options": 2,
    "a field": {"occupancy": 2},
    "unknown architecture": {"sm_91": TWO},
    "the host": {"cpu": TWO},
    "no name": {90: TWO},
    "no options of an architecture": {"sm_90": {"occupancy": 2}},
    "checks": CompileOptions(checks="pinned"),
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_refused(given, golden):
    with pytest.raises(CompileError) as caught:
        Hints.of("k", given)
    golden(str(caught.value))
