"""A launch: parameters as the driver has them, and blocks that run a few at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .code import Code
from .memory import Memory, Segment
from .program import PtxError
from .threads import Index, Launch, Threads

AT_ONCE = 1 << 13
"""Threads that run together; more take longer for each instruction, fewer run it more often."""
MOST_THREADS = 1024
MOST_BYTES = 1 << 26
"""Of the memory that blocks share, in all blocks that run together."""
POISONED = 0xCB


def run(
    code: Code,
    parameters: Sequence[int],
    grid: Index,
    block: Index,
    memory: Memory,
    *,
    dynamic: int = 0,
    seed: int = 0,
) -> None:
    """Run all blocks of a grid, in an order drawn from `seed`.

    A parameter is the 64-bit word at its address, of which it takes as many bytes as it has.
    `dynamic` bytes of shared memory were asked for. Behaviour that PTX leaves undefined raises
    PtxError, as do races in shared memory.
    """
    entry = code.entry
    if entry.required_block not in (None, block):
        raise PtxError(f"{entry.name} has blocks of {entry.required_block}, not {block}")
    if not 0 < int(np.prod(block)) <= MOST_THREADS:
        raise PtxError(f"a block of {block} threads")
    params = _packed(code, parameters)
    whole = memory.with_statics(_statics(code))
    rng = np.random.default_rng(seed)
    launch = Launch(code, whole, params, grid, block, dynamic, rng)
    order = rng.permutation(int(np.prod(grid)))
    together = _together(launch)
    # Overflow, division by zero and NaN are ordinary results here.
    with np.errstate(all="ignore"):
        for start in range(0, len(order), together):
            Threads(launch, _places(order[start : start + together], grid)).run()


def _together(launch: Launch) -> int:
    """Return how many blocks run together."""
    shared = launch.layout.shared_end + launch.dynamic
    return max(1, min(AT_ONCE // int(np.prod(launch.block)), MOST_BYTES // shared))


def _packed(code: Code, parameters: Sequence[int]) -> bytes:
    """Return the parameters of a kernel in memory, each at its place."""
    params = code.entry.params
    if len(parameters) != len(params):
        raise PtxError(
            f"{code.entry.name} has {len(params)} parameters, {len(parameters)} were given"
        )
    places = [code.layout.kernel_params[each.name] for each in params]
    made = bytearray(places[-1].start + places[-1].nbytes if places else 0)
    for word, place in zip(parameters, places, strict=True):
        raw = (word & ((1 << 64) - 1)).to_bytes(8, "little")
        made[place.start : place.start + place.nbytes] = raw[: place.nbytes]
    return bytes(made)


def _statics(code: Code) -> list[Segment]:
    """Return the variables of a module."""
    found: list[Segment] = []
    for address, variable in code.layout.statics:
        initial = variable.initial or bytes(variable.nbytes)
        room = -(-len(initial) // 16) * 16
        data = np.frombuffer(initial.ljust(room, bytes([POISONED])), np.uint8).copy()
        found.append(Segment(address, data[: len(initial)]))
    return found


def _places(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], grid: Index) -> np.ndarray[
    tuple[int, int], np.dtype[np.int64]
]:  # fmt: skip
    """Return the indices of blocks from their numbers; x runs fastest."""
    x, y, _ = grid
    return np.stack([numbers % x, numbers // x % y, numbers // (x * y)], axis=1)
