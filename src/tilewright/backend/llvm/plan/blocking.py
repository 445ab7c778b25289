"""How a product of tiles is cut into what registers hold: rows by vectors of columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ..target import CpuTarget
from .nodes import Matmul
from .values import itemsize

BUSY = 10
"""Sums that must be under way at a time: two multiply-adds begin in a cycle and take up to five."""


@dataclass(frozen=True, slots=True)
class Block:
    """So many rows are computed together, each in so many vectors."""

    rows: int
    vectors: int
    lanes: int


def block_of(step: Matmul, cpu: CpuTarget) -> Block:
    """The block of a multiply.

    Its sums, one row of the right side and an element of the left side are in registers. A power of
    two leaves no rows over; it is taken where it keeps the multipliers busy.
    """
    m, n = step.result.shape[-2:]
    lanes = gcd(n, cpu.vector_bytes // itemsize(step.result.elem))
    vectors = 2 if n % (2 * lanes) == 0 else 1
    fitting = min((cpu.vector_registers - 1) // vectors - 1, m)
    even = 1 << (fitting.bit_length() - 1)
    rows = even if even * vectors >= BUSY or even == m else fitting
    return Block(rows, vectors, lanes)


def row_blocks(m: int, rows: int) -> tuple[int, list[int]]:
    """How many whole blocks of rows there are, and what the last ones have.

    A small rest would leave the multipliers idle, so it shares the rows of the block before it.
    """
    count, rest = divmod(m, rows)
    if 2 * rest >= rows or not rest or not count:
        return count, [rest] if rest else []
    both = rows + rest
    return count - 1, [both - both // 2, both // 2]
