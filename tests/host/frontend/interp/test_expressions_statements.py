"""Control flow, judged by Python itself: the same function of ints runs in a kernel and outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.kernels import ir_of, out, run, scalar
from tilewright.base.dtypes import i32
from tilewright.base.errors import Code, CompileError
from tilewright.passes.canonicalize import canonicalize
from tilewright.passes.cse import cse
from tilewright.passes.dce import dce
from tilewright.passes.licm import licm


def if_else(n, m):
    if n > m:
        r = n - m
    elif n == m:
        r = 100
    else:
        r = m - n
    return r


def if_without_else(n, m):
    r = n
    if m > 2:
        r = r + m
    return r


def nested_ifs(n, m):
    r = 0
    if n > 0:
        if m > 0:
            r = 1
        else:
            r = 2
    elif m > 0:
        r = 3
    return r


def guard_clauses(n, m):
    if n == 0:
        return 7
    if m == 0:
        return 8
    return n * m


def both_branches_return(n, m):
    if n < m:
        return n
    else:
        return m


def return_in_else_only(n, m):
    if n < m:
        r = n * 10
    else:
        return m
    return r + 1


def sum_range(n, m):
    total = 0
    for i in range(n):
        total = total + i * m
    return total


def range_of_three(n, m):
    total = 0
    for i in range(m, 20, 3):
        total += i
    return total + n


def counting_down(n, m):
    total = 0
    for i in range(n, -m, -2):
        total = total * 3 + i
    return total


def for_with_break(n, m):
    found = -1
    for i in range(10):
        if i * i > n:
            found = i
            break
    return found + m


def for_with_continue(n, m):
    total = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        total += i
    return total - m


def for_with_both(n, m):
    total = 0
    for i in range(20):
        if i == m:
            continue
        if i > n:
            break
        total = total * 2 + i
    return total


def while_loop(n, m):
    steps = 0
    while n > 1 and steps < 30:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps + m


def while_true(n, m):
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i == m:
            continue
        i += 1
    return i


def while_never(n, m):
    r = n
    while m < 0:
        r = 0
        m += 1
    return r


def nested_loops(n, m):
    total = 0
    for i in range(n):
        for j in range(i, m):
            if j == 4:
                break
            total += i * j + 1
        total *= 2
    return total


def return_in_loop(n, m):
    for i in range(10):
        if i * m > n:
            return i
    return -1


def return_in_nested_loop(n, m):
    for i in range(5):
        for j in range(5):
            if i * j == n:
                return i * 10 + j
        if i == m:
            return -5
    return -1


def return_in_while(n, m):
    while n > 0:
        if n == m:
            return 1000
        n = n - 1
    return n


def loop_variable_bound_before(n, m):
    i = 50
    for i in range(n):
        pass
    return i + m


def carried_swap(n, m):
    a, b = n, m
    for _ in range(3):
        a, b = b, a + b
    return a * 100 + b


class Pair(NamedTuple):
    first: int
    second: int


def carried_namedtuple(n, m):
    pair = Pair(n, m)
    for _ in range(4):
        pair = Pair(pair.second, pair.first + 1)
    return pair.first * 10 + pair.second


def conditional_expressions(n, m):
    return (n if n > m else m) - (1 if n else 2)


def boolean_logic(n, m):
    a = n > 1 and m > 1
    b = n > 3 or m > 3 or n == m
    c = not (n < m)
    return (1 if a else 0) + (10 if b else 0) + (100 if c else 0)


def chained_comparison(n, m):
    return 1 if 0 < n < m <= 5 else 0


def closure(n, m):
    def scaled(x, by=2):
        return x * by + m

    return scaled(n) + scaled(n, by=3)


def lambdas(n, m):
    f = lambda x: x * x - m  # noqa: E731
    return f(n) + f(f(1))


def unrolled(n, m):
    total = 0
    for k, weight in enumerate((1, 10, 100)):
        if k == 2:
            break
        total += weight * n + m
    return total


def augmented(n, m):
    n += m
    n *= 3
    n -= 1
    n //= 2
    n %= 50
    n ^= 5
    n <<= 1
    return n


def walrus(n, m):
    if (k := n + m) > 4:
        return k
    return -k


def starred(n, m):
    first, *rest = (n, m, n + m)
    return first + sum(rest)


def comprehension(n, m):
    return sum([k * n for k in range(4)]) + sum(m for _ in (1, 2))


def floor_division(n, m):
    return (n - 4) // 3 * 100 + (n - 4) % 3 * 10 + (n - 4) // (m + 1)


FUNCTIONS = [
    f
    for f in list(globals().values())
    if callable(f) and getattr(f, "__module__", "") == __name__ and not isinstance(f, type)
]


def kernel_for(function: Callable[[int, int], int]) -> Callable[..., None]:
    def kernel(z: tl.TensorMut[i32], n: i32, m: i32) -> None:
        z.store(tl.full((1,), function(n, m), i32))

    return kernel


@pytest.mark.thinned(12)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_agrees_with_python(function):
    func = ir_of(kernel_for(function), out((1,), i32), scalar(i32), scalar(i32))
    optimized = dce(cse(licm(canonicalize(func))))
    for n in range(-2, 8):
        for m in range(8):
            expected = function(n, m)
            for version in (func, optimized):
                z = np.full(1, -999, np.int32)
                run(version, z, n, m)
                assert z[0] == expected, (n, m)


def test_unsafe_code_is_a_block_of_its_own():
    def kernel(z: tl.TensorMut[i32], n: i32) -> None:
        with tw.unsafe():
            n = tl.assume_div_by(n, 2)
        z.store(tl.full((1,), n, i32))

    def beyond(z: tl.TensorMut[i32], n: i32) -> None:
        with tw.unsafe():
            pass
        z.store(tl.full((1,), tl.assume_div_by(n, 2), i32))

    z = np.full(1, -999, np.int32)
    run(ir_of(kernel, out((1,), i32), scalar(i32)), z, 6)
    assert z[0] == 6
    with pytest.raises(CompileError) as caught:
        ir_of(beyond, out((1,), i32), scalar(i32))
    assert caught.value.code is Code.UNSAFE
