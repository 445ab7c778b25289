"""How many threads run."""

from __future__ import annotations

import pytest

from tilewright.base.errors import LaunchError
from tilewright.launch.blocks import Asked, Contract, Threads, asked_for, chosen

ONE, TWO = Contract(), Contract(2)


def threads(contract=ONE, asked=None, **written):
    return chosen("k", contract, asked or Asked(), written)


@pytest.mark.parametrize(("n", "blocks"), [(0, 0), (1, 1), (256, 1), (257, 2), (1 << 26, 1 << 18)])
def test_every_element_has_a_thread(n, blocks):
    assert threads(out=(n,)) == Threads((blocks,), (256,))


def test_the_longest_slice_counts():
    assert threads(a=(10, 10), b=(300,)) == Threads((2,), (256,))


def test_rows_and_columns():
    assert threads(TWO, out=(3, 5, 33)) == Threads((2, 2), (32, 8))


def test_what_is_asked_for_is_done():
    assert threads(asked=asked_for(7, 64, 0), out=(1,)) == Threads((7,), (64,))
    assert threads(asked=asked_for(None, (64, 1, 1), 0), out=(65,)) == Threads((2,), (64,))
    assert threads(TWO, asked_for((2, 3, 1), (4,), 0), out=(9, 9)) == Threads((2, 3), (4, 1))


def test_an_exact_block_is_kept():
    contract = Contract.of(2, (16, 16))
    assert threads(contract, out=(17, 16)) == Threads((1, 2), (16, 16))
    assert threads(contract, asked_for(None, (16, 16), 0), out=(1, 1)).block == (16, 16)
    with pytest.raises(LaunchError, match="exactly"):
        threads(contract, asked_for(None, (8, 8), 0), out=(1, 1))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (asked_for((1, 2), None, 0), "along y"),
        (asked_for(None, (1, 1, 2), 0), "along z"),
        (asked_for(None, 1025, 0), "too large"),
        (asked_for((1 << 31) - 1, 1024, 0), "too many threads along x"),
    ],
)
def test_what_no_device_runs_is_refused(asked, text):
    with pytest.raises(LaunchError, match=text):
        threads(asked=asked, out=(1,))


@pytest.mark.parametrize("written", [{}, {"out": (4,)}])
def test_rows_must_be_known(written):
    with pytest.raises(LaunchError, match="not define the number of threads"):
        chosen("k", TWO, Asked(), written)


@pytest.mark.parametrize(("domain", "block"), [(0, None), (4, None), (1, (2, 2)), (True + 3, 1)])
def test_contracts_that_mean_nothing(domain, block):
    with pytest.raises(ValueError, match="domain"):
        Contract.of(domain, block)
