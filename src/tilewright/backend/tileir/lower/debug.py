"""Checks, assertions and prints: records in the launch's memory, never a trap."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.cuda_abi import LAUNCH_WORDS, LaunchWord
from ....ir.core import Op
from ....ir.sites import reporting_ops
from ..encoding.enums import AtomicMode, Comparison, MemoryOrdering, MemoryScope, Signedness
from ..program.core import Val
from ..program.types import (
    F4E2M1FN,
    F32,
    FLAG,
    I8,
    I32,
    I64,
    TF32,
    TOKEN,
    Pointer,
    Tile,
)  # fmt: skip
from .emitter import Emitter, Rule, tile

WORD = Tile(I64)
HEAD = 24
"""Bytes of a print record before the operands."""


def site_of(em: Emitter, op: Op) -> int:
    """The number under which an op reports."""
    return next(i for i, other in enumerate(reporting_ops(em.func)) if other is op)


def _place(em: Emitter, word: LaunchWord) -> Val:
    """The address of a word of the launch record."""
    assert em.record is not None, "a kernel that reports has a launch record"
    return em.one("offset", em.record.kind, em.record, em.index(word))


def _write(em: Emitter, word: LaunchWord, value: Val) -> None:
    em.op(
        "store_ptr_tko",
        [TOKEN],
        _place(em, word),
        value,
        memory_ordering_semantics=MemoryOrdering.WEAK,
    )


def _linear_block(em: Emitter) -> Val:
    """The number of this block, the last grid axis running fastest."""
    number = em.widened(em.block[0])
    for block, length in zip(em.block[1:], em.grid[1:], strict=True):
        rows = em.same("muli", number, em.widened(length))
        number = em.same("addi", rows, em.widened(block))
    return number


# --- failures ------------------------------------------------------------------------------------


def _fail(em: Emitter, op: Op, index: Val | None, extent: Val | None) -> None:
    """Note a failure, if it is the first."""
    zero, one = em.number(0, WORD), em.number(1, WORD)
    taken, _ = em.op(
        "atomic_cas_tko", [WORD, TOKEN], _place(em, LaunchWord.ERROR_TAKEN), zero, one,
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip

    def describe() -> None:
        _write(em, LaunchWord.ERROR_SITE, em.number(site_of(em, op), WORD))
        _write(em, LaunchWord.ERROR_BLOCK, _linear_block(em))
        for word, value in (
            (LaunchWord.ERROR_INDEX, index),
            (LaunchWord.ERROR_EXTENT, extent),
        ):
            if value is not None:
                _write(em, word, em.widened(value))

    em.branch(em.compare(Comparison.EQUAL, taken, zero), describe)


def _not(em: Emitter, flag: Val) -> Val:
    return em.same("xori", flag, em.number(1, FLAG))


def _check(em: Emitter, op: Op) -> Sequence[Val]:
    index, extent = em.all(op)
    # Read as unsigned a negative index is a very large one; extents are not negative.
    ok = em.compare(Comparison.LESS_THAN, index, extent, signed=False)
    if em.ranges.of(op.one("extent")).low < 0:
        ok = em.same("andi", ok, em.compare(Comparison.GREATER_THAN_OR_EQUAL, extent, em.index(0)))
    em.branch(_not(em, ok), lambda: _fail(em, op, index, extent))
    return (ok,)


def _assert(em: Emitter, op: Op) -> Sequence[Val]:
    em.branch(_not(em, em.get(op.one("cond"))), lambda: _fail(em, op, None, None))
    return ()


# --- prints --------------------------------------------------------------------------------------


def _print(em: Emitter, op: Op) -> Sequence[Val]:
    values = [_memory_form(em, value) for value in em.all(op)]
    sizes = [_room(tile(value)) for value in values]
    total = HEAD + sum(sizes)
    used, _ = em.op(
        "atomic_rmw_tko", [WORD, TOKEN], _place(em, LaunchWord.PRINT_USED), em.number(total, WORD),
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
        mode=AtomicMode.ADD,
    )  # fmt: skip
    capacity, _ = em.op(
        "load_ptr_tko", [WORD, TOKEN], _place(em, LaunchWord.PRINT_CAPACITY),
        memory_ordering_semantics=MemoryOrdering.WEAK,
    )  # fmt: skip
    end = em.same("addi", used, em.number(total, WORD))
    fits = em.compare(Comparison.LESS_THAN_OR_EQUAL, end, capacity)

    def fill() -> None:
        start = em.same("addi", used, em.number(8 * LAUNCH_WORDS, WORD))
        heads = (em.number(total, WORD), em.number(site_of(em, op), WORD), _linear_block(em))
        at = 0
        for head in heads:
            _store_at(em, start, at, head)
            at += 8
        for value, room in zip(values, sizes, strict=True):
            _store_at(em, start, at, value)
            at += room

    em.branch(fits, fill)
    return ()


def _memory_form(em: Emitter, value: Val) -> Val:
    """A value as its elements stand in a record."""
    kind = tile(value)
    if isinstance(kind.elem, Pointer):
        return em.one("ptr_to_int", kind.of(I64), value)
    if kind.elem == TF32:
        return em.one("ftof", kind.of(F32), value)
    return _nibbles(em, value, kind) if kind.elem == F4E2M1FN else value


def _nibbles(em: Emitter, value: Val, kind: Tile) -> Val:
    """The bits of f4, one byte each: packed into pairs, and these taken apart."""
    half = kind.size // 2
    pairs, column = Tile(I8, (half,)), Tile(I8, (half, 1))
    flat = em.one("reshape", kind.shaped((kind.size,)), value)
    bytes_ = em.one("pack", pairs, flat)
    low = em.same("andi", bytes_, em.number(0xF, pairs))
    high = em.same("shri", bytes_, em.number(4, pairs), signedness=Signedness.UNSIGNED)
    columns = [em.one("reshape", column, v) for v in (low, high)]
    both = em.one("cat", Tile(I8, (half, 2)), *columns, dim=1)
    return em.one("reshape", kind.of(I8), both)


def _room(kind: Tile) -> int:
    return -(-kind.size * max(kind.scalar.width // 8, 1) // 8) * 8


def _store_at(em: Emitter, start: Val, at: int, value: Val) -> None:
    """Write a tile, row by row, so many bytes behind a start in the record."""
    assert em.record is not None, "a kernel that prints has a launch record"
    kind = tile(value)
    pointer = Pointer(kind.scalar)
    address = em.same("addi", em.one("ptr_to_int", WORD, em.record), start)
    where = em.same("addi", address, em.number(at, WORD))
    base = em.spread(em.one("int_to_ptr", Tile(pointer), where), kind.shape)
    if kind.shape:
        count = em.one("iota", Tile(I32, (kind.size,)))
        places = count if len(kind.shape) == 1 else em.one("reshape", kind.of(I32), count)
        base = em.one("offset", kind.of(pointer), base, places)
    em.op("store_ptr_tko", [TOKEN], base, value, memory_ordering_semantics=MemoryOrdering.WEAK)


RULES: dict[str, Rule] = {"print": _print, "assert": _assert}
CHECK: dict[str, Rule] = {"check": _check}
"""Declared with memory, but a report like the others."""
