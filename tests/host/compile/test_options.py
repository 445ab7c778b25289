"""Options are hints within limits."""

from __future__ import annotations

import dataclasses

import pytest

from tilewright.compile import CompileOptions


def test_nothing_is_asked_for_by_default():
    assert set(dataclasses.asdict(CompileOptions()).values()) == {None}


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("occupancy", 1, 32),
        ("num_cta_in_cga", 1, 16),
        ("num_worker_warps_per_cta", 1, 32),
        ("max_divisibility", 1, 16),
    ],
)
def test_limits(name, low, high):
    for value in (low, high):
        assert getattr(CompileOptions(**{name: value}), name) == value
    for value in (low - 1, high + 1, -1, 10**5000):
        with pytest.raises(ValueError, match=f"{name} must be one of 1"):
            CompileOptions(**{name: value})


@pytest.mark.parametrize("name", ["num_cta_in_cga", "num_worker_warps_per_cta", "max_divisibility"])
def test_powers_of_two(name):
    with pytest.raises(ValueError, match=rf"{name} must be one of 1, 2, 4, 8, 16(, 32)?, got 3"):
        CompileOptions(**{name: 3})


def test_a_range_is_written_as_one():
    with pytest.raises(ValueError, match="occupancy must be one of 1 to 32, got 33"):
        CompileOptions(occupancy=33)


def test_they_are_values():
    assert CompileOptions(occupancy=2) == CompileOptions(occupancy=2)
    assert len({CompileOptions(occupancy=2), CompileOptions(occupancy=2), CompileOptions()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        CompileOptions().occupancy = 2


def test_unknown_names():
    with pytest.raises(TypeError, match="warps"):
        CompileOptions(warps=2)


def test_options_over_others():
    mine, others = CompileOptions(allow_tma=False, occupancy=2), CompileOptions(allow_tma=True)
    assert mine.over(others) == mine
    assert others.over(mine).given == {"allow_tma": True, "occupancy": 2}
    assert CompileOptions().over(mine) == mine.over(CompileOptions()) == mine
