"""Philox4x32-10 in NumPy, and what random tensors make of its words; from the docs alone."""

from __future__ import annotations

import math

import numpy as np

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def words(numbers, seed, upper=(0, 0)):
    """The four words of each 64-bit number as the counter (and its upper half), the seed as key."""
    number = np.asarray(numbers, np.uint64)
    counter = [number & LOW, number >> HALF, *[np.full_like(number, word) for word in upper]]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            (second >> HALF) ^ counter[1] ^ np.uint64(key[0]), second & LOW,
            (first >> HALF) ^ counter[3] ^ np.uint64(key[1]), first & LOW,
        ]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return [word.astype(np.uint32) for word in counter]


def bits32(numbers, seed):
    return words(numbers, seed)[0]


def bits64(numbers, seed):
    x0, x1, _, _ = words(numbers, seed)
    return x0.astype(np.uint64) | x1.astype(np.uint64) << np.uint64(32)


def below(numbers, seed, low, high):
    return np.array([low + ((int(x) * (high - low)) >> 64) for x in bits64(numbers, seed).flat])


def uniform32(numbers, seed):
    return (bits32(numbers, seed) >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)


def uniform64(numbers, seed):
    return (bits64(numbers, seed) >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def normal32(numbers, seed):
    """In f64, from the f32 numbers that the definition names."""
    x0, x1, _, _ = words(numbers, seed)
    rounded = x0.astype(np.float32).astype(np.float64)
    uniform = (rounded * 2.0**-32 + 2.0**-33).astype(np.float32).astype(np.float64)
    turn = (x1 >> np.uint32(8)).astype(np.float32)
    angle = (turn * np.float32(2 * math.pi * 2.0**-24)).astype(np.float64)
    return np.sqrt(-2 * np.log(uniform)) * np.cos(angle)


def normal64(numbers, seed):
    x0, x1, x2, x3 = (word.astype(np.uint64) for word in words(numbers, seed))
    first, second = x0 | x1 << np.uint64(32), x2 | x3 << np.uint64(32)
    uniform = ((first >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53
    angle = (second >> np.uint64(11)).astype(np.float64) * (2 * math.pi * 2.0**-53)
    return np.sqrt(-2 * np.log(uniform)) * np.cos(angle)
