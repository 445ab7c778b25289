"""The race: poor candidates stop early, outliers move nothing, close ones keep the user's order."""

from __future__ import annotations

import pytest
from numpy.random import default_rng

from tilewright.tune.race import ROUNDS, deviation, median, race, ranked, without_outliers


def noisy(times, noise, rng, outliers=0.0):
    """What measures candidates with these times on a machine that is not quiet."""
    counts = [0] * len(times)

    def measure(number):
        counts[number] += 1
        factor = 1 + noise * abs(rng.standard_normal())
        return times[number] * factor * (10 if rng.random() < outliers else 1)

    return measure, counts


@pytest.mark.parametrize("fastest", [0, 3, 7])
def test_the_fastest_wins(fastest):
    times = [2e-3 + 1e-4 * i for i in range(8)]
    times[fastest] = 1e-3
    measure, counts = noisy(times, 0.05, default_rng(fastest))
    assert race(8, measure)[0].number == fastest
    assert sum(counts) < 8 * ROUNDS / 2


def test_poor_candidates_stop_at_once():
    measure, counts = noisy([1e-3, 5e-3, 1.001e-3, 9e-3], 0.01, default_rng(0))
    result = race(4, measure)
    assert counts[1] == counts[3] == 2
    assert counts[0] == counts[2] == ROUNDS
    assert "slower by" in next(r.left for r in result if r.number == 3)


def test_slow_ones_stop_at_the_first_sample():
    measure, counts = noisy([0.01, 2.0, 0.01], 0.0, default_rng(0))
    race(3, measure)
    assert counts[1] == 1


def test_outliers_move_nothing():
    wins = 0
    for seed in range(20):
        measure, _ = noisy([1.3e-3, 1e-3, 1.3e-3], 0.02, default_rng(seed), outliers=0.1)
        wins += race(3, measure)[0].number == 1
    assert wins >= 18  # two outliers in a row may end a candidate


def test_the_first_of_equals_wins():
    result = race(3, lambda number: 1e-3)
    assert [runner.number for runner in result] == [0, 1, 2]
    assert result[0].left == ""
    assert all(runner.left for runner in result[1:])


def test_one_candidate_is_measured_once():
    counts = []
    result = race(1, lambda number: counts.append(number) or 0.5)
    assert len(result) == 1
    assert counts == [0]


def test_it_tells_how_far_it_is():
    told = []
    race(3, lambda number: [0.1, 9.0, 0.1][number], progress=lambda *how: told.append(how))
    assert told[:2] == [(1, 2), (2, 2)]
    assert told[-1] == (ROUNDS, 2)


def test_statistics():
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0]) == 2.5
    assert deviation([1.0, 2.0, 9.0]) == 1.0
    assert without_outliers([1.0, 1.1, 0.9, 50.0]) == [1.0, 1.1, 0.9]
    assert without_outliers([1.0, 50.0]) == [1.0, 50.0]


def test_ranked_puts_the_winner_first():
    result = race(3, lambda number: [3.0, 1.0, 2.0][number])
    assert [runner.number for runner in ranked(result)] == [1, 2, 0]
