"""Every operation on every integer type and on bool, at every edge, beside Python's integers."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from source_tree import ROOT
from support import integers
from support.expressions import BOUNDARY, assert_all, run, wrapped
from support.integers import LOGIC, TWO, compared, expected_of, operand_pairs, table_of
from support.numbers import fresh_rng, int_values
from tilewright.base.dtypes import INTS, bool_, i8, i16, i32, i64, u8, u32, u64

NEIGHBOURS = [(a, b) for a, b in itertools.combinations((i8, i16, i32, i64), 2)] + [
    (u8, u32), (u32, u64),
]  # fmt: skip


def test_nothing_traps_in_a_process_of_its_own():
    """A division that traps would kill this process: so it is tried in another one first."""
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-m", "support.integers", "cpu"],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
        cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": right") == len(INTS)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_every_operation(device, dtype):
    integers.check(device, dtype)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_boundary_shapes(device, dtype, rng):
    """The same kernel as above, on extents around its tile."""
    a, b = operand_pairs(dtype)
    table, truths = table_of(dtype), compared(dtype)
    texts, results = [*table, *truths], [dtype] * len(table) + [bool_] * len(truths)
    functions = [*table.values(), *truths.values()]
    for count in BOUNDARY:
        chosen = rng.integers(0, len(a), count)
        x, y = a[chosen], b[chosen]
        got = run(texts, device, {"a": x, "b": y}, results, tile=(16,))
        expected = [
            expected_of(f, x, y, dtype, to) for f, to in zip(functions, results, strict=True)
        ]
        assert_all(texts, got, expected, x, y)


@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (8, 16), (9, 17), (0, 5), (5, 0)], ids=str)
def test_divisions_of_padded_matrices(device, shape, rng):
    """Both axes have padding: zeros as divisors all around."""
    texts = [t for t in TWO if "/" in t or "%" in t or "div" in t or "rem" in t]
    values = int_values(i32, rng)
    a, b = rng.choice(values, shape), rng.choice(values, shape)
    got = run(texts, device, {"a": a, "b": b}, i32, tile=(8, 16))
    for text, result in zip(texts, got, strict=True):
        exact = [TWO[text](int(x), int(y), i32) for x, y in zip(a.flat, b.flat, strict=True)]
        assert_all([text], [result], [wrapped(exact, i32).reshape(shape)], a, b)


def test_logic_of_booleans(device, rng):
    for count in (*BOUNDARY, 100):
        a, b = rng.integers(0, 2, (2, count)).astype(bool)
        got = run([*LOGIC], device, {"a": a, "b": b}, bool_, tile=(16,))
        pairs = list(zip(a.tolist(), b.tolist(), strict=True))
        expected = [np.array([f(x, y) for x, y in pairs], bool) for f in LOGIC.values()]
        assert_all([*LOGIC], got, expected, a, b)


def test_any_byte_but_zero_is_true(device, rng):
    raw = rng.integers(0, 256, 37).astype(np.uint8)
    raw[:3] = 0, 1, 255
    a = raw.view(bool)
    texts = ["a", "~a", "a & True", "a == True"]
    got = run(texts, device, {"a": a}, bool_, tile=(16,))
    truth = raw != 0
    assert_all(texts, got, [truth, ~truth, truth, truth])
    # Stored booleans are 0 or 1, whatever byte they came from.
    assert (got[0].view(np.uint8) == truth.astype(np.uint8)).all()


@pytest.mark.parametrize(("narrow", "wide"), NEIGHBOURS, ids=str)
def test_two_widths_meet_in_the_wider(device, narrow, wide):
    a, b = int_values(narrow, fresh_rng()), int_values(wide, fresh_rng())
    a, b = np.repeat(a, 5)[: len(b)], b
    texts = ["a + b", "b - a", "a * b", "tl.maximum(a, b)", "a & b", "tl.where(a < b, a, b)"]
    got = run(texts, device, {"a": a, "b": b}, wide, tile=(16,))
    exact = [
        lambda x, y: x + y, lambda x, y: y - x, lambda x, y: x * y, max,
        lambda x, y: x & y, min,
    ]  # fmt: skip
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert_all(texts, got, [wrapped([f(x, y) for x, y in pairs], wide) for f in exact], a, b)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_promises_of_no_overflow_change_no_result(device, dtype, rng):
    """Where nothing overflows, `overflow=` is a hint only."""
    a, b = rng.integers(1, 6, (2, 33)).astype(dtype.np)
    texts = [
        "tl.addi(a, b, overflow=tl.Overflow.NO_SIGNED_WRAP)",
        "tl.muli(a, b, overflow='no_unsigned_wrap')",
        "tl.subi(a, a, overflow='no_wrap')",
        "tl.shli(a, b - b, overflow=tl.Overflow.NO_WRAP)",
    ]
    got = run(texts, device, {"a": a, "b": b}, dtype, tile=(16,))
    assert_all(texts, got, [a + b, a * b, a - a, a], a, b)
