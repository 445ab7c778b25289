"""Damaged copies of a file: what a bad disk, a cut transfer or an attacker makes of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator


def _bytes(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)


def _bit(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _part(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data))
    return start, min(len(data), start + rng.randint(1, 64))


def _zeros(data: bytearray, rng: random.Random) -> None:
    a, b = _part(data, rng)
    data[a:b] = bytes(b - a)


def _ones(data: bytearray, rng: random.Random) -> None:
    a, b = _part(data, rng)
    data[a:b] = b"\xff" * (b - a)


def _lost(data: bytearray, rng: random.Random) -> None:
    a, b = _part(data, rng)
    del data[a:b]


def _twice(data: bytearray, rng: random.Random) -> None:
    a, b = _part(data, rng)
    data[a:a] = data[a:b]


def _number(data: bytearray, rng: random.Random) -> None:
    """A number that is too large, where some number may be."""
    at = rng.randrange(0, max(len(data) - 8, 1), 4)
    data[at : at + 8] = rng.choice([1 << 31, 1 << 63, (1 << 64) - 1]).to_bytes(8, "little")


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _bytes, _bit, _cut, _zeros, _ones, _lost, _twice, _number,
)  # fmt: skip


def mutants(data: bytes, count: int, rng: random.Random) -> Iterator[bytes]:
    """So many damaged copies, each kind of damage in turn; some may still be whole."""
    for number in range(count):
        copy = bytearray(data)
        DAMAGES[number % len(DAMAGES)](copy, rng)
        yield bytes(copy)
