"""Products with reciprocals are within the bound of a division, for every divisor there is."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.backend.libm.harness import specials, ulps
from support.ir import poisoned
from support.native import Dense, Native
from support.numbers import fresh_rng
from tilewright.base.dtypes import f32
from tilewright.ir.attrs import Rounding

COLUMNS = 64
MAX = np.finfo(np.float32).max
TINY = np.finfo(np.float32).tiny


def rows_by_one(rows):
    """x / y[:, None] for one tile."""
    k = Dense()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 1), k.output("z", f32, 2)
    shape = (rows, COLUMNS)
    one = k.emit("reshape", k.load(y, (rows,)), shape=(rows, 1))
    wide = k.emit("broadcast", one, shape=shape)
    k.store(k.emit("divf", k.load(x, shape), wide, rounding=Rounding.FULL), z)
    return Native(k.finish())


@pytest.fixture(scope="module")
def divide():
    kernel = rows_by_one(16)

    def run(x, y):
        z = poisoned(f32, x.shape)
        kernel([x, y, z])
        return z

    return run


def assert_close(got, x, y):
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) / y.astype(np.float64)[:, None]
    error = ulps(got, exact)
    row, column = np.unravel_index(np.argmax(error), error.shape)
    text = f"{x[row, column]!r} / {y[row]!r} = {got[row, column]!r}: {error.max()} ulp"
    assert error.max() <= 1.5, text


def divisors(rng):
    """Special numbers, the ends of the ranges, and any bits."""
    edges = [2.0**n * (1 + d) for n in (-149, -128, -127, -126, 125, 126, 127)
             for d in (0, 2.0**-23, -(2.0**-24))]  # fmt: skip
    bits = rng.integers(0, 2**32, 200, dtype=np.uint32).view(np.float32)
    with np.errstate(over="ignore"):
        given = np.concatenate([specials("f32"), np.array(edges, np.float32), bits])
    return np.resize(given, -(-given.size // 16) * 16).reshape(-1, 16)


def test_every_pair_of_special_numbers(divide):
    rng = fresh_rng()
    for y in divisors(rng):
        bits = rng.integers(0, 2**32, (16, COLUMNS), dtype=np.uint32).view(np.float32)
        chosen = rng.choice(specials("f32"), (16, COLUMNS))
        x = np.where(rng.random(bits.shape) < 0.5, bits, chosen)
        assert_close(divide(x, y), x, y)


def test_quotients_near_the_ends(divide):
    """Quotients about the largest number, about the smallest normal one, and below it."""
    rng = fresh_rng()
    for y in divisors(rng):
        y = np.where(np.isfinite(y) & (y != 0), y, np.float32(3))
        for end in (MAX, TINY, TINY * 2.0**-12):
            with np.errstate(all="ignore"):
                x = (y.astype("f8")[:, None] * end * rng.uniform(0.9, 1.1, (16, COLUMNS))).astype(
                    "f4"
                )
            assert_close(divide(x, y), x, y)
