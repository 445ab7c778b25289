from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tilewright.tensors.written import NOTHING, both, covers, runs_of

dims = st.lists(st.tuples(st.integers(0, 4), st.integers(-6, 6)), max_size=3)


def addresses(runs):
    return {a for start, end in runs.tolist() for a in range(start, end)}


@given(dims, st.integers(0, 20))
def test_runs_are_the_bytes_of_the_elements(dims, start):
    shape, strides = tuple(n for n, _ in dims), tuple(4 * s for _, s in dims)
    firsts = [start + int(np.dot(index, strides)) for index in np.ndindex(shape)]
    runs = runs_of(start, 4, shape, strides)
    assert addresses(runs) == {first + k for first in firsts for k in range(4)}
    assert (runs[1:, 0] > runs[:-1, 1]).all()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9))), st.integers(0, 30))
def test_covered(pieces, start):
    runs = NOTHING
    for first, length in pieces:
        runs = both(runs, runs_of(first, length, (), ()))
    wanted = runs_of(start, 3, (), ())
    assert covers(runs, wanted) == (addresses(wanted) <= addresses(runs))
    assert covers(runs, NOTHING)


def test_neighbours_make_one_run():
    assert runs_of(0, 4, (1000, 1000), (4000, 4)).tolist() == [[0, 4_000_000]]
    assert len(runs_of(0, 4, (1000, 500), (4000, 4))) == 1000
