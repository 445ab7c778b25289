"""Atomic updates. Those of one instruction to one address happen one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .accesses import SCOPES, by_space, check_aligned, located
from .layout import Layout
from .memory import WORD
from .program import Address, Instr
from .rounding import canonical, flushed
from .values import (
    BITS,
    TYPES,
    Action,
    Array,
    Lanes,
    Maker,
    Reader,
    UndefinedError,
    bits_of,
    form,
    reader,
    unknown,
    writer,
)

if TYPE_CHECKING:
    from .threads import Threads

PATTERN = (
    rf"(?:atom|red)(?:\.(?:relaxed|acquire|release|acq_rel))?(?:\.(?:{SCOPES}))?"
    r"(?:\.(?P<space>global|shared))?\.(?P<name>add|min|max|and|or|xor|exch|cas|inc|dec)"
    r"(?P<noftz>\.noftz)?\.(?P<kind>[bsu](?:16|32|64)|f16|bf16|f32|f64)"
)
Combine: TypeAlias = Callable[[Array, Array], Array] | Callable[[Array, Array, Array], Array]
"""From what is there and the operands to what shall be there."""


def _swapped(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _increased(old: Array, most: Array) -> Array:
    return np.where(old >= most, 0, old + 1)


def _decreased(old: Array, most: Array) -> Array:
    return np.where((old == 0) | (old > most), most, old - 1)


COMBINE: dict[str, Combine] = {
    "add": lambda old, a: old + a,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda old, a: old & a,
    "or": lambda old, a: old | a,
    "xor": lambda old, a: old ^ a,
    "exch": lambda old, a: a,
    "cas": _swapped,
    "inc": _increased,
    "dec": _decreased,
}
TYPES_OF = {
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"),
    "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64", "u32", "u64"),
    "inc": ("u32",), "dec": ("u32",),
}  # fmt: skip


def _atomic(layout: Layout, instr: Instr) -> Action:
    returns = instr.opcode.startswith("atom.")
    count = 2 if ".cas." in instr.opcode else 1
    match = form(instr, PATTERN, 1 + returns + count)
    name, kind, space = match["name"], match["kind"], match["space"] or ""
    if kind not in TYPES_OF[name] or bool(match["noftz"]) != (kind in ("f16", "bf16")):
        unknown(instr)
    address = instr.operands[int(returns)]
    if not isinstance(address, Address):
        unknown(instr)
    locate = located(layout, instr, address)
    reads = [reader(layout, instr, each, kind) for each in instr.operands[1 + returns :]]
    write = writer(instr, instr.operands[0], kind) if returns else None

    def act(threads: Threads, lanes: Lanes) -> None:
        there = locate(threads, lanes)
        check_aligned(there, bits_of(kind) // 8)
        given = _rows(reads, threads, lanes, len(there))
        old = np.empty(len(there), TYPES[kind])
        numbers = threads.numbers(lanes)
        for where, chosen, addresses in by_space(space, there):
            part = [row[chosen] for row in given]
            combine = _combined(name, kind, where)
            update = _in_shared if where == "shared" else _in_global
            if where not in ("shared", "global"):
                raise UndefinedError(f"an atomic update of {where} memory", 0)
            old[chosen] = update(threads, numbers[chosen], addresses, kind, part, combine)
        if write is not None:
            write(threads, lanes, old)

    return act


def _rows(reads: list[Reader], threads: Threads, lanes: Lanes, count: int) -> list[Array]:
    return [np.broadcast_to(read(threads, lanes), (count,)) for read in reads]


def _combined(name: str, kind: str, space: str) -> Combine:
    """Return what is computed; sums of f32 in memory of the device have no subnormal numbers."""
    if "f" not in kind:
        return COMBINE[name]
    if kind == "f32" and space == "global":
        return lambda old, a: canonical(flushed(flushed(old) + flushed(a)))
    return lambda old, a: canonical(old + a)


def _in_turns(
    words: Array, at: Array, kind: str, given: list[Array], combine: Combine, order: Array
) -> Array:
    """Update words; of those at one place, one in each turn."""
    compute: Callable[..., Array] = combine
    old = np.empty(len(at), TYPES[kind])
    left = order
    while len(left):
        _, chosen = np.unique(at[left], return_index=True)
        now = left[chosen]
        there = words[at[now]].view(TYPES[kind])
        old[now] = there
        made = np.asarray(compute(there, *[row[now] for row in given]), TYPES[kind])
        words[at[now]] = made.view(words.dtype)
        left = np.delete(left, chosen)
    return old


def _in_shared(
    threads: Threads, numbers: Array, addresses: Array, kind: str, given: list[Array],
    combine: Combine,
) -> Array:  # fmt: skip
    words, at = threads.shared.update(numbers, addresses, bits_of(kind) // 8)
    order = threads.launch.rng.permutation(len(at))
    return _in_turns(words, at, kind, given, combine, order)


def _in_global(
    threads: Threads, numbers: Array, addresses: Array, kind: str, given: list[Array],
    combine: Combine,
) -> Array:  # fmt: skip
    """Update memory of the device: read all words there are, update them, write them back."""
    memory, size = threads.launch.memory, bits_of(kind) // 8
    places, at = np.unique(addresses, return_inverse=True)
    words = memory.load(places, size, slack=WORD)[:, 0]
    order = threads.launch.rng.permutation(len(at))
    old = _in_turns(words, at.reshape(-1), kind, given, combine, order)
    memory.store(places, words[:, None].astype(BITS[8 * size]), slack=WORD)
    return old


RULES: dict[str, Maker] = {"atom": _atomic, "red": _atomic}
