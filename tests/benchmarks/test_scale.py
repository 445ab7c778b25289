"""The model of docs/scale.md: limits that are known, and a fit that finds what it was made of."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks import scale


def test_limits_of_collectives():
    link = scale.Link(1e-6, 1e9)
    assert scale.ring(1, 1e6, link) == scale.tree(1, 1e6, link) == 0
    assert scale.ring(2, 1e6, link) == pytest.approx(2 * (1e-6 + 0.5e-3))
    assert scale.ring(10_000, 1e9, scale.Link(0, 1e9)) == pytest.approx(2.0, rel=1e-3)
    cluster = scale.Cluster(8)
    assert scale.by_topology(cluster, 1 << 30) == scale.ring(8, 1 << 30, scale.NODE)
    for gpus in (64, 10_000):
        for nbytes in (1 << 20, 1 << 30):
            assert scale.by_topology(scale.Cluster(gpus), nbytes) < scale.flat(
                scale.Cluster(gpus), nbytes
            )


def test_agreement_in_groups_is_cheaper_for_many_ranks_alone():
    assert scale.agreement(10_000, groups=100) < scale.agreement(10_000) / 10
    assert scale.agreement(4) == pytest.approx(3 * 4 / 50e3)


def test_failures():
    hours = scale.between_failures(16_384) / 3600
    assert hours == pytest.approx(54 * 24 / 419)
    assert scale.best_interval(2.0, 100.0) == 20
    assert 0 <= scale.goodput(10**7, 1e15) < scale.goodput(1000, 1e12) < 1


def test_a_fit_finds_the_link_that_made_the_times(tmp_path):
    link = scale.Link(3e-5, 2e9)
    times = {1 << n: scale.ring(4, 1 << n, link) for n in range(10, 25, 2)}
    found = scale.fitted(times, 4)
    assert math.isclose(found.latency, 3e-5, rel_tol=1e-6)
    assert math.isclose(found.bandwidth, 2e9, rel_tol=1e-6)
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"size": 4, "all_reduce": {"calls": times}}))
    lines = scale.calibration(path)
    assert lines[0] == "4 processes: 30 us a step, 2.00 GB/s"
    assert all("+0% " in line or "-0% " in line for line in lines[1:])


def test_every_input_is_used():
    source = Path(scale.__file__).read_text(encoding="utf-8")
    for name in scale.INPUTS:
        assert f'value("{name}")' in source, name
