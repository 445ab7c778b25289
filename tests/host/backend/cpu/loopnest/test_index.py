"""Index algebra against NumPy: an index says which element of the source a layout op shows."""

from __future__ import annotations

import numpy as np
import pytest

from support.numbers import fresh_rng
from tilewright.backend.cpu.loopnest import index as ix
from tilewright.backend.cpu.loopnest.index import IndexField, Loop, NeedSplit, Part


def loops(*sizes):
    return [Loop(n, f"i{k}") for k, n in enumerate(sizes)]


def identity(variables, shape):
    """The index of a tile whose axes are the loops in order, axes of length 1 left out."""
    given = iter(variables)
    return tuple((IndexField(v := next(given), v.size),) if n > 1 else () for n in shape)


def value(axis, at):
    """The coordinate along one axis, given the loop variables."""
    total = 0
    for field, factor in ix.terms(axis):
        source = field.source
        number = at[source] if isinstance(source, Loop) else source
        total += number // field.divide % field.size * factor
    return total


def element(array, index, at):
    return array[tuple(value(axis, at) for axis in index)]


def every(variables):
    for place in np.ndindex(*(v.size for v in variables)):
        yield place, dict(zip(variables, place, strict=True))


def test_permute_and_broadcast():
    i, j = loops(4, 8)
    index = identity([i, j], (4, 8))
    a = np.arange(32).reshape(8, 4)
    for (x, y), at in every([i, j]):
        assert element(a, ix.permute(index, (1, 0)), at) == a.transpose(1, 0)[x, y]
        row = np.arange(4).reshape(4, 1)
        assert element(row, ix.broadcast(index, (4, 1)), at) == x


@pytest.mark.parametrize(
    ("target", "source"),
    [((4, 8), (4, 2, 4)), ((4, 2, 4), (4, 8)), ((4, 1, 8), (4, 8)), ((32,), (32, 1))],
)
def test_reshape_regroups_fields(target, source):
    a = np.arange(32).reshape(source)
    # Loops fine enough for both shapes.
    i, j, k = loops(4, 2, 4)
    fields = {
        4: (IndexField(i, 4),),
        8: (IndexField(j, 2), IndexField(k, 4)),
        32: (IndexField(i, 4), IndexField(j, 2), IndexField(k, 4)),
    }
    if target == (4, 2, 4):
        index = ((IndexField(i, 4),), (IndexField(j, 2),), (IndexField(k, 4),))
    else:
        index = tuple(fields.get(n, ()) for n in target)
    for _, at in every([i, j, k]):
        wanted = element(a.reshape(target), index, at)
        assert element(a, ix.reshape(index, source), at) == wanted


def test_reshape_asks_for_finer_loops():
    (i,) = loops(32)
    with pytest.raises(NeedSplit) as wish:
        ix.reshape(identity([i], (32,)), (4, 8))
    assert (wish.value.loop, wish.value.low) == (i, 8)


def test_extract_puts_the_part_in_front():
    (i,) = loops(4)
    index = identity([i], (4,))
    a = np.arange(16)
    for part in (0, 3, -1, 5):
        found = ix.extract(index, (16,), (4,), [part])
        for (x,), at in every([i]):
            assert element(a, found, at) == a[part % 4 * 4 + x]


def test_constants_split_like_loops():
    high, low = ix.split_field(IndexField(6, 8), 2)
    assert (high.source, high.size, low.source, low.size) == (3, 4, 0, 2)


@pytest.mark.parametrize("shape", [(8, 64), (3, 8, 64), (8, 16), (8, 24)])
def test_panels_hold_every_element_once(shape):
    layout = ix.panels(shape, 16)
    sizes = [p.size for axis in layout for p in axis]
    variables = loops(*sizes)
    given = iter(variables)
    index = tuple(tuple(IndexField(v := next(given), v.size) for _ in axis) for axis in layout)
    places = [
        sum(at[f.source] * factor for f, factor in ix.offset(index, layout))
        for _, at in every(variables)
    ]
    assert sorted(places) == list(range(int(np.prod(shape))))


def test_panels_are_rows_of_neighbouring_columns():
    layout = ix.panels((8, 64), 16)
    assert layout == ((Part(8, 16),), (Part(4, 128), Part(16, 1)))


def test_chains_of_layouts_against_numpy():
    rng = fresh_rng()
    for _ in range(50):
        shape = tuple(int(2 ** rng.integers(0, 4)) for _ in range(3))
        a = np.arange(int(np.prod(shape))).reshape(shape)
        steps, b = [], a
        for _ in range(3):
            if rng.random() < 0.5:
                order = tuple(int(k) for k in rng.permutation(b.ndim))
                steps.append(("permute", order, b.shape))
                b = b.transpose(order)
            else:
                new = (*b.shape[:-1], b.shape[-1] // 2, 2) if b.shape[-1] > 1 else b.shape
                steps.append(("reshape", new, b.shape))
                b = b.reshape(new)
        bits = [2] * int(np.log2(b.size))  # the finest loops there are
        variables = loops(*bits)
        flat = tuple(IndexField(v, 2) for v in variables)
        index = ix.reshape((flat,), b.shape)
        for kind, argument, source in reversed(steps):
            index = ix.permute(index, argument) if kind == "permute" else ix.reshape(index, source)
        for number, (_, at) in enumerate(every(variables)):
            assert element(a, index, at) == b.reshape(-1)[number]


def test_wrong_sizes_are_refused():
    (i,) = loops(8)
    with pytest.raises(ValueError, match="for a shape"):
        ix.check_sizes(identity([i], (8,)), (4,))
