"""A pytest plugin: which cases run in the quick tier, and how many random programs in each tier.

`--tier quick` is what each change runs, `--tier full` is everything. The quick tier leaves out

- tests marked `full`;
- of a test with three parameters or more, cases that add no new pair of values (pairwise testing);
- of a test with a device and one parameter more, cases that add no new value: an element type is
  tested on the CPU or on the reference interpreter, in turn;
- of a test marked `thinned`, cases that add no new value of a parameter (each-choice testing), and
  with `thinned(8)` all but 8 of these, evenly spaced;
- random programs beyond `count(quick, full)`.

Which cases are left depends on nothing but the parameters. A test named by its id always runs.
"""

from __future__ import annotations

import heapq
import itertools
import os
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

import pytest

T = TypeVar("T")

QUICK, FULL = "quick", "full"
VARIABLE = "TEST_TIER"
"""Tells a pytest that a test starts in which tier it is."""

Case = frozenset[tuple[str, Hashable]]
"""The values of a case, one for each parameter, by its name."""
DEVICE = "device"


class Count(NamedTuple):
    """How many random programs each tier runs, where no option asks for another number."""

    quick: int
    full: int
    help: str


COUNTS = {
    "programs": Count(600, 20_000, "random host programs that are run"),
    "kernels": Count(16, 200, "random kernels that are run, and half as many that are assembled"),
    "proofs": Count(60, 1_000, "random kernels and forms whose proofs are checked"),
    "launches": Count(300, 3_000, "launches of each kind, after which nothing may be left"),
    "mutants": Count(20, 60, "damaged programs that assemblers and loaders get"),
}
"""Options of the command line."""


def tier() -> str:
    """Return the tier that runs."""
    return os.environ.get(VARIABLE, QUICK)


def count(quick: T, full: T) -> T:
    """Return how many random programs a test of this tier tries, or what else differs."""
    return full if tier() == FULL else quick


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tier`, and an option for each count."""
    parser.addoption(
        "--tier",
        choices=(QUICK, FULL),
        default=tier(),
        help="which tests: what each change runs, or all",
    )
    for name, each in COUNTS.items():
        parser.addoption(
            f"--{name}",
            type=int,
            help=f"{each.help}: {each.quick}, or {each.full} in the full tier",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Tell modules, which are imported later, and processes of tests the tier."""
    os.environ[VARIABLE] = config.getoption("--tier")
    for name, each in COUNTS.items():
        if config.getoption(f"--{name}") is None:
            setattr(config.option, name, count(each.quick, each.full))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the quick tier."""
    if config.getoption("--tier") == FULL or any("[" in arg for arg in config.args):
        return
    kept = {id(item) for cases in _functions(items) for item in _quick(cases)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


def _functions(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """Group the cases of each test function."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [*found.values()]


def _quick(items: list[pytest.Item]) -> list[pytest.Item]:
    """Select the cases of one test function that the quick tier runs."""
    items = [item for item in items if item.get_closest_marker("full") is None]
    if not items:
        return []
    cases = [_case(item) for item in items]
    mark = items[0].get_closest_marker("thinned")
    chosen = covering(cases, strength=1 if mark or _is_of_a_device(cases[0]) else 2)
    if mark and mark.args:
        chosen = spaced(chosen, mark.args[0])
    return [items[k] for k in chosen]


def _is_of_a_device(case: Case) -> bool:
    """Whether a test has a device and one parameter more."""
    return len(case) == 2 and any(name == DEVICE for name, _ in case)


def _case(item: pytest.Item) -> Case:
    """Return the values of a case: what one `parametrize` gives to several names is one value."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return frozenset()
    together: dict[str, str] = {}
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        names = names.replace(",", " ").split() if isinstance(names, str) else names
        together |= dict.fromkeys(names, names[0])
    values: dict[str, list[int]] = {}
    for name, value in callspec.params.items():
        values.setdefault(together.get(name, name), []).append(id(value))
    return frozenset((name, tuple(each)) for name, each in values.items())


def covering(cases: Sequence[Case], strength: int) -> list[int]:
    """Choose cases that have every combination of `strength` values that occurs.

    Greedily: the case with the most new combinations comes next, and of several the one whose
    values were chosen least. Ranks only fall, so that one that is still first is the first of all
    (lazy greedy). With fewer parameters than that, or with one, every case is needed.
    """
    if len(cases[0]) < max(strength, 2):
        return [*range(len(cases))]
    subsets = [{*map(frozenset, itertools.combinations(case, strength))} for case in cases]
    left, chosen, used = set().union(*subsets), [], Counter[Hashable]()

    def rank(k: int) -> tuple[int, int, int]:
        return -len(subsets[k] & left), sum(used[value] for value in cases[k]), k

    ranks = [rank(k) for k in range(len(cases))]
    heapq.heapify(ranks)
    while left:
        best = heapq.heappop(ranks)[-1]
        now = rank(best)
        if ranks and now > ranks[0]:
            heapq.heappush(ranks, now)
            continue
        chosen.append(best)
        used.update(cases[best])
        left -= subsets[best]
    return sorted(chosen)


def spaced(chosen: Sequence[int], most: int) -> list[int]:
    """Choose at most so many of some, at even distances, the first among them."""
    if len(chosen) <= most:
        return [*chosen]
    return [chosen[k * len(chosen) // most] for k in range(most)]
