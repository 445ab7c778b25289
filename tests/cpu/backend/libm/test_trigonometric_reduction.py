"""The reduction modulo pi / 2: where the two methods meet, and the table of 2 / pi."""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, check
from tilewright.backend.libm.trigonometric import LIMIT, PI_HALF, TWO_OVER_PI_BITS


def pi(digits: int) -> Decimal:
    """Machin's formula."""
    getcontext().prec = digits + 10
    one = Decimal(10) ** (digits + 5)

    def arctan_of_inverse(n: int) -> int:
        term = int(one) // n
        total, k = term, 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    return Decimal(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))) / one


def test_the_table_is_two_over_pi():
    words = TWO_OVER_PI_BITS[1:]
    exact = 2 / pi(400)
    assert TWO_OVER_PI_BITS[0] == 0
    got = sum(Decimal(w) / Decimal(2) ** (64 * (i + 1)) for i, w in enumerate(words))
    assert 0 <= exact - got < Decimal(2) ** (-64 * len(words))


def test_the_parts_of_pi_half():
    exact = pi(60) / 2
    assert abs(sum(Decimal(part) for part in PI_HALF) - exact) < Decimal(2) ** -160


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_where_the_methods_meet(name, dtype):
    kind = CARRIER_OF[dtype]
    x = [kind(LIMIT)]
    for _ in range(200):
        x.append(np.nextafter(x[-1], kind(0)))
    x += [kind(LIMIT) + kind(k * 64) for k in range(200)]
    values = np.array([*x, *(-v for v in x)], kind)
    reference = {"sin": np.sin, "cos": np.cos}[name]
    check(name, dtype, (values,), reference(values.astype(np.longdouble)))
