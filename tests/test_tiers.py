"""What the quick tier runs: every value of every parameter, and no test that is marked `full`."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from math import prod

import pytest

from source_tree import ROOT
from support import tiers
from support.loops import for_each
from support.tiers import covering, spaced

TESTS = """
import pytest
from support import tiers

@pytest.mark.full
def test_long(): pass

@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", range(3))
@pytest.mark.parametrize("c", range(2))
def test_three(a, b, c): pass

@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", range(3))
def test_two(a, b): pass

@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("a", range(4))
def test_devices(device, a): pass

@pytest.mark.thinned
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("c", range(2))
def test_rows(a, b, c): pass

@pytest.mark.thinned(3)
@pytest.mark.parametrize("a", range(9))
def test_few(a): pass

def test_counts(pytestconfig):
    assert tiers.count(quick=1, full=2) == {"quick": 1, "full": 2}[tiers.tier()]
    assert pytestconfig.getoption("--programs") == {"quick": 600, "full": 20_000}[tiers.tier()]
    assert pytestconfig.getoption("--kernels") == 7
"""


@pytest.fixture
def counted(tmp_path):
    """Run these tests: how many cases of each were run."""
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['support.tiers']\n", encoding="utf-8")
    marks = "markers=full\n thinned"

    def run(*words: str) -> dict[str, int]:
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-o", marks,
                   "-o", f"pythonpath={ROOT / 'tests'}", "--kernels=7", *words]  # fmt: skip
        env = {name: value for name, value in os.environ.items() if name != tiers.VARIABLE}
        ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        names = [line.partition("::")[2] for line in ended.stdout.splitlines() if "PASSED" in line]
        found = sorted(name.partition("[")[0].partition(" ")[0] for name in names)
        return {name: len([*group]) for name, group in itertools.groupby(found)}

    return run


def test_what_each_tier_runs(counted):
    quick = {
        "test_counts": 1, "test_devices": 4, "test_few": 3, "test_rows": 3, "test_three": 12,
        "test_two": 12,
    }  # fmt: skip
    assert counted() == quick
    assert counted("--tier=quick") == quick
    assert counted("--tier=full") == {
        "test_counts": 1, "test_devices": 8, "test_few": 9, "test_long": 1, "test_rows": 6,
        "test_three": 24, "test_two": 12,
    }  # fmt: skip


def test_a_test_named_by_its_id_runs(counted):
    assert counted("test_it.py::test_few[1]") == {"test_few": 1}


@pytest.mark.parametrize("strength", [1, 2])
@pytest.mark.parametrize("sizes", [(2, 3), (5, 2, 2), (3, 3, 3), (2, 4, 3, 2)], ids=str)
def test_all_combinations_are_covered_by_few_cases(sizes, strength):
    cases = [frozenset(enumerate(case)) for case in itertools.product(*map(range, sizes))]
    chosen = [cases[k] for k in covering(cases, strength)]
    for several in itertools.combinations(range(len(sizes)), strength):
        wanted = itertools.product(*(range(sizes[k]) for k in several))
        for values in wanted:
            assert any({*zip(several, values, strict=True)} <= case for case in chosen)
    assert len(chosen) <= 1.5 * prod(sorted(sizes)[-strength:])


def test_values_are_chosen_equally_often():
    cases = [frozenset(enumerate(case)) for case in itertools.product(range(12), range(3))]
    chosen = [cases[k] for k in covering(cases, 1)]
    assert [sum((1, value) in case for case in chosen) for value in range(3)] == [4, 4, 4]


def test_cases_of_one_parameter_are_all_needed():
    assert covering([frozenset([("a", k)]) for k in range(5)], 1) == [0, 1, 2, 3, 4]


def test_spaced():
    assert spaced(range(10), 3) == [0, 3, 6]
    assert spaced(range(10), 1) == [0]
    assert spaced(range(3), 8) == [0, 1, 2]


def test_a_loop_lists_all_that_fail():
    @for_each([1, 2, 3, 4])
    def test(number: int) -> None:
        assert number % 2, "is even"

    with pytest.raises(AssertionError) as caught:
        test()
    said = str(caught.value)
    assert "2 failed" in said and "2: is even" in said and "4: is even" in said
