"""Loops, branches and early exits of kernels, beside the same functions run by Python."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, assert_all, output
from tilewright import f32, i32


def counted(n, m):
    """for with every form of range, break, continue and nested loops."""
    total = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        for j in range(i, m):
            if j > 2 * i + 3:
                break
            total += j * (i + 1)
        total += 1000
    for i in range(5, n):
        total -= i
    for i in range(n, -3, -2):
        total += i * 7
    for i in range(m, 20, 3):
        total ^= i
    return total


def searching(n, m):
    """while with two exits, and values that are carried together."""
    a, b = n, m
    steps = 0
    while b != 0:
        a, b = b, a % b
        steps += 1
        if steps > 50:
            break
    low, high = 0, 1000
    while low < high:
        middle = (low + high) // 2
        if middle * middle < n * m:
            low = middle + 1
        else:
            high = middle
    return a * 10000 + steps * 1000 + low


def branching(n, m):
    """elif chains, conditional expressions, and, or, not, chained comparisons."""
    if n > m:
        kind = 1
    elif n == m:
        kind = 2
    elif 0 <= n < 5:
        kind = 3
    else:
        kind = 4
    big = kind * 10 if n > 3 and m > 3 else -kind
    if n > 10 or m > 10:
        big += 100
    if not (n == 2 or m == 1):
        big += 1000
    return big if kind != 3 else big * 2


def returning(n, m):
    """return from the middle of loops and branches of an inlined function."""
    for i in range(n):
        for j in range(m):
            if i * j > 20:
                return i * 100 + j
        if i == 15:
            return -1
    if m == 0:
        return -2
    return -3 if n > m else -4


def unrolled(n, m):
    """A static loop over numbers and over a tuple, with the loop variable as a constant."""
    total = 0
    for k in tl.static_range(4):
        total += n * k
        if k == 2:
            total -= m
    for k, (a, b) in enumerate(((1, 2), (3, 4), (5, 6))):
        total = total * a + b - k
    for x in reversed((n, m, 3)):
        total = total * 2 + x
    return total


def swapping(n, m):
    """Tuples, unpacking, augmented assignment and names bound on every path."""
    pair = (n, m)
    for _ in range(3):
        first, second = pair
        pair = (second, first + second)
    (a, b), c = pair, n
    if a > b:
        d = a
    else:
        d = b
    a //= 2
    b %= 7
    c <<= 2
    d -= 1
    return a + b * 10 + c * 100 + d * 1000


def over_items(n, m):
    """Functions of Python that go over ranges and tuples of constants."""
    total = sum((n, m), 5) + sum(k * n for k in range(3))
    for k, j in zip(range(3), reversed(range(4)), strict=False):
        total += n * k - m * j
    for k, j in enumerate(range(5, 9), 2):
        total += k * j
    for k in map(lambda a, b: a * n + b, (1, 2, 3), tuple(range(2))):
        total ^= k
    return total + max(list(range(4)))


def member(n, m):
    """`in` and `not in`, of scalars and constants."""
    total = 1 if n in (3, m, 7) else 0
    if n not in (0, 1, 2):
        total += 10
    if n in range(2, m):
        total += 100
    if m in range(0, 9, 3):
        total += 1000
    if n in range(m, 0):
        total += 10000
    return total + (5 if 3 in (1, 3) else 6)


FUNCTIONS = [counted, searching, branching, returning, unrolled, swapping, over_items, member]


def as_python(function):
    """The same function, with static_range as Python has it."""
    names = dict(function.__globals__) | {"tl": type("tl", (), {"static_range": range})}
    return type(function)(function.__code__, names)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_scalars(device, function):
    @tw.entry
    def kernel(out: tl.TensorMut[i32], ns: tl.Tensor[i32], ms: tl.Tensor[i32]) -> None:
        i = tl.block_id(0)
        n, m = ns.load_tile((1,), i).item(), ms.load_tile((1,), i).item()
        out.store(tl.full((1,), function(n, m)))

    n, m = (a.ravel().astype(np.int32) for a in np.meshgrid(range(-1, 18, 3), (0, 1, 2, 5, 12)))
    with tw.device(device):
        z = output(n)
        kernel(z.cut(1), n, m).sync()
    expected = [as_python(function)(a, b) for a, b in zip(n.tolist(), m.tolist(), strict=True)]
    assert_all([function.__name__], [z.result()], [np.array(expected, np.int32)], n, m)


@tw.entry
def tiles_in_loops(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32, flag: bool) -> None:
    """Tiles carried through a loop whose bound the launch gives; one leaves early."""
    tile = tl.load_tile_like(x, out)
    total, last = tl.zeros(out.shape, f32), tile
    for k in range(n):
        if k == 7:
            break
        total = total + tile * float(k)
        if flag:
            total = tl.maximum(total, last)
            last = total * 0.5
    if flag:
        out.store(total)
        return
    if n == 0:
        out.store(tile)
        return
    out.store(total - last)


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("n", [-3, 0, 1, 6, 7, 8, 20])
def test_tiles(device, n, flag, rng):
    x = rng.integers(-5, 5, (3, 5)).astype(np.float32)
    with tw.device(device):
        z = output(x)
        tiles_in_loops(z.cut(2, 4), x, n, flag).sync()
    total, last = np.zeros_like(x), x
    for k in range(min(max(n, 0), 7)):
        total = total + x * np.float32(k)
        if flag:
            total = np.maximum(total, last)
            last = total * np.float32(0.5)
    expected = total if flag else x if n == 0 else total - last
    assert_all(["tiles"], [z.result()], [expected])


@tw.entry
def newton(out: tl.TensorMut[f32], steps: tl.TensorMut[i32], x: tl.Tensor[f32]) -> None:
    """Until every element of the tile has converged."""
    tile = tl.load_tile_like(x, out)
    guess, count = tile, 0
    while tl.any(tl.abs(guess * guess - tile) > 1e-5 * tile) and count < 40:
        guess = 0.5 * (guess + tile / guess)
        count += 1
    out.store(guess)
    steps.store(tl.full((1,), count))


def test_a_loop_that_ends_when_all_elements_agree(device, rng):
    x = rng.uniform(0.1, 50, 32).astype(np.float32)
    with tw.device(device):
        z, steps = output(x), Output((4,), i32)
        newton(z.cut(8), steps.cut(1), x).sync()
    np.testing.assert_allclose(z.result(), np.sqrt(x), rtol=1e-5)
    assert (steps.result() > 0).all() and (steps.result() < 40).all()


@tw.entry
def dynamic_steps(out: tl.TensorMut[i32], start: i32, stop: i32, step: i32) -> None:
    total = 0
    for i in range(start, stop, step):
        total = total * 3 + i
    out.store(tl.full((1,), total))


def test_steps_known_at_launch(device):
    with tw.device(device):
        for start, stop, step in (
            (0, 10, 3),
            (5, 5, 1),
            (7, 2, 2),
            (-4, 9, 100),
            (2**31 - 3, 2**31 - 1, 5),
        ):
            z = Output((1,), i32)
            dynamic_steps(z.cut(1), start, stop, step).sync()
            total = 0
            for i in range(start, stop, step):
                total = (total * 3 + i + 2**31) % 2**32 - 2**31
            assert z.result()[0] == total
        for step in (0, -1):
            z = Output((1,), i32)
            with pytest.raises(tw.LaunchError, match="step"):
                dynamic_steps(z.cut(1), 0, 10, step).sync()


def test_loops_at_the_end_of_the_integers(device):
    """The counter does not wrap around past the greatest integer."""

    @tw.entry
    def count(out: tl.TensorMut[i32], n: i32) -> None:
        rounds = 0
        for _ in range(2147483640, n, 3):
            rounds += 1
        for _ in range(-2147483641, -n - 1, -3):
            rounds += 100
        out.store(tl.full((1,), rounds))

    with tw.device(device):
        z = Output((1,), i32)
        count(z.cut(1), 2**31 - 1).sync()
    assert z.result()[0] == len(range(2147483640, 2**31 - 1, 3)) + 100 * len(
        range(-2147483641, -(2**31), -3)
    )


def test_compile_time_branches(device):
    """What a constant rules out is not compiled: it may even be wrong."""

    @tw.entry
    def chosen(out: tl.TensorMut[f32], *, KIND: tl.Const[int]) -> None:
        if KIND == 0:
            tile = tl.zeros(out.shape, f32)
        elif KIND == 1 and out.rank == 1:
            tile = tl.ones(out.shape)
        else:
            tile = tl.no_such_function(out)  # never reached
        value = 2.0 if KIND else "not a number"
        out.store(tile + (value if KIND == 1 else 5.0))

    with tw.device(device):
        for kind, expected in ((0, 5), (1, 3)):
            z = Output((5,), f32)
            chosen(z.cut(4), KIND=kind).sync()
            assert (z.result() == expected).all()
        with pytest.raises(tw.CompileError, match="no_such_function"):
            chosen(Output((5,), f32).cut(4), KIND=2).sync()


@tw.entry
def memory_in_branches(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """Loads and stores happen where the program says, and only there."""
    i = tl.block_id(0)
    if i % 2 == 0:
        out.store(tl.load_tile_like(x, out))
    else:
        out.store(tl.load_tile_like(y, out) * 2.0)
        if i == 3:
            return
        out.store(out.load() + 1.0)
    if i > 4:
        out.store(out.load() * 10.0)


def test_memory_in_branches(device, rng):
    x, y = rng.integers(-9, 9, (2, 27)).astype(np.float32)
    with tw.device(device):
        z = output(x)
        memory_in_branches(z.cut(4), x, y).sync()
    block = np.arange(27) // 4
    expected = np.where(block % 2 == 0, x, np.where(block == 3, y * 2, y * 2 + 1))
    expected = np.where((block > 4) & (block != 3), expected * 10, expected)
    assert_all(["memory"], [z.result()], [expected.astype(np.float32)])
