"""Steps of optimizers."""

from __future__ import annotations

import math
from typing import Any

from ...numba_peers import prange


def adamw(
    new_p: Any, new_m: Any, new_v: Any, p: Any, m: Any, v: Any, g: Any,
    rate: Any, decay: Any, step: Any,
) -> None:  # fmt: skip
    """A step of AdamW."""
    kind = p.dtype.type
    first, second = kind(1 / (1 - 0.9**step)), kind(1 / (1 - 0.999**step))
    kept, speed, least = kind(1 - rate * decay), kind(rate), kind(1e-8)
    for i in prange(p.size):
        mean = kind(0.9) * m[i] + kind(0.1) * g[i]
        square = kind(0.999) * v[i] + kind(0.001) * g[i] * g[i]
        change = mean * first / (math.sqrt(square * second) + least)
        new_p[i] = p[i] * kept - speed * change
        new_m[i] = mean
        new_v[i] = square


def nesterov(new_p: Any, new_b: Any, p: Any, b: Any, g: Any, rate: Any) -> None:
    """A step of gradient descent with Nesterov's momentum."""
    kind = p.dtype.type
    speed = kind(rate)
    for i in prange(p.size):
        kept = kind(0.9) * b[i] + g[i]
        new_p[i] = p[i] - speed * (g[i] + kind(0.9) * kept)
        new_b[i] = kept
