"""Checks, assertions and prints: records in the launch's memory. They never trap.

Checks of one region are reported together, by one branch at its end or where something else has to
wait for them: each branch is a barrier, and loads do not begin before those that precede them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....base.cuda_abi import LAUNCH_WORDS, CudaLaunchWord
from ....ir.artifact import reporting_ops
from ....ir.core import Op
from ....ir.ops.memory import CHECK
from ..bytecode.enums import AtomicModeCode, ComparisonCode, MemoryOrdering, MemoryScope, Signedness
from ..bytecode.program import Val
from ..bytecode.types import F4E2M1FN, F32, FLAG, I8, I32, I64, TF32, TOKEN, Pointer, TileValueType
from .emitter import CheckedIndex, Rule, TileEmitter, tile

WORD = TileValueType(I64)
HEAD = 24
"""Bytes of a print record before the operands."""


def site_of(em: TileEmitter, op: Op) -> int:
    """Return the number under which an op reports."""
    return next(i for i, other in enumerate(reporting_ops(em.func)) if other is op)


def _place(em: TileEmitter, word: CudaLaunchWord) -> Val:
    """Return the address of a word of the launch record."""
    assert em.record is not None, "a kernel that reports has a launch record"
    return em.one("offset", em.record.kind, em.record, em.index(word))


def _write(em: TileEmitter, word: CudaLaunchWord, value: Val) -> None:
    em.op(
        "store_ptr_tko",
        [TOKEN],
        _place(em, word),
        value,
        memory_ordering_semantics=MemoryOrdering.WEAK,
    )


def _linear_block(em: TileEmitter) -> Val:
    """Return the number of this block, the last grid axis running fastest."""
    number = em.widened(em.block[0])
    for block, length in zip(em.block[1:], em.grid[1:], strict=True):
        rows = em.same("muli", number, em.widened(length))
        number = em.same("addi", rows, em.widened(block))
    return number


# --- failures ------------------------------------------------------------------------------------


def _fail(em: TileEmitter, site: Val, index: Val | None = None, extent: Val | None = None) -> None:
    """Note a failure, if it is the first."""
    zero, one = em.number(0, WORD), em.number(1, WORD)
    taken, _ = em.op(
        "atomic_cas_tko", [WORD, TOKEN], _place(em, CudaLaunchWord.ERROR_TAKEN), zero, one,
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip

    def describe() -> None:
        _write(em, CudaLaunchWord.ERROR_SITE, site)
        _write(em, CudaLaunchWord.ERROR_BLOCK, _linear_block(em))
        for word, value in (
            (CudaLaunchWord.ERROR_INDEX, index),
            (CudaLaunchWord.ERROR_EXTENT, extent),
        ):
            if value is not None:
                _write(em, word, value)

    em.branch(em.compare(ComparisonCode.EQUAL, taken, zero), describe)


def _fail_first(em: TileEmitter, checks: Sequence[CheckedIndex]) -> None:
    """Note the first of the checks that has failed; one of them has."""
    last = checks[-1]
    found = [em.number(site_of(em, last.op), WORD), em.widened(last.index), em.widened(last.extent)]
    for check in checks[-2::-1]:
        site = em.number(site_of(em, check.op), WORD)
        own = site, em.widened(check.index), em.widened(check.extent)
        found = [
            em.one("select", WORD, check.failed, a, b) for a, b in zip(own, found, strict=True)
        ]
    _fail(em, *found)


def _not(em: TileEmitter, flag: Val) -> Val:
    return em.same("xori", flag, em.number(1, FLAG))


def _check(em: TileEmitter, op: Op, where: Val | None = None) -> Sequence[Val]:
    """Emit a check; with `where` only that condition lets it fail."""
    index, extent = em.all(op)
    # Read as unsigned a negative index is a very large one; extents are not negative.
    ok = em.compare(ComparisonCode.LESS_THAN, index, extent, signed=False)
    if em.ranges.of(op.one("extent")).low < 0:
        ok = em.same(
            "andi", ok, em.compare(ComparisonCode.GREATER_THAN_OR_EQUAL, extent, em.index(0))
        )
    if where is not None:
        ok = em.same("ori", ok, _not(em, where))
    # What follows uses other indices where this one is wrong: reports may wait for each other.
    em.failures.append(CheckedIndex(_not(em, ok), op, index, extent, partial(_fail_first, em)))
    return (ok,)


def check_under(em: TileEmitter, op: Op, outer: Val | None) -> Sequence[Val]:
    """Emit a check under a condition without a branch, so that it is reported with others."""
    condition = em.get(op.one("cond"))
    where = condition if outer is None else em.same("andi", outer, condition)
    *ops, made, _ = op.regions[0].ops
    em.plain_ops(ops)
    found = _check(em, made, where) if made.is_a(CHECK) else check_under(em, made, where)
    em.bind(made.results, found)
    return found


def _assert(em: TileEmitter, op: Op) -> Sequence[Val]:
    site = em.number(site_of(em, op), WORD)
    em.branch(_not(em, em.get(op.one("cond"))), lambda: _fail(em, site))
    return ()


# --- prints --------------------------------------------------------------------------------------


def _print(em: TileEmitter, op: Op) -> Sequence[Val]:
    values = [_memory_form(em, value) for value in em.all(op)]
    sizes = [_room(tile(value)) for value in values]
    total = HEAD + sum(sizes)
    used, _ = em.op(
        "atomic_rmw_tko", [WORD, TOKEN], _place(em, CudaLaunchWord.PRINT_USED), em.number(total,
                                                                                          WORD),
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
        mode=AtomicModeCode.ADD,
    )  # fmt: skip
    capacity, _ = em.op(
        "load_ptr_tko", [WORD, TOKEN], _place(em, CudaLaunchWord.PRINT_CAPACITY),
        memory_ordering_semantics=MemoryOrdering.WEAK,
    )  # fmt: skip
    end = em.same("addi", used, em.number(total, WORD))
    fits = em.compare(ComparisonCode.LESS_THAN_OR_EQUAL, end, capacity)

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


def _memory_form(em: TileEmitter, value: Val) -> Val:
    """Return a value in the memory form of a record."""
    kind = tile(value)
    if isinstance(kind.elem, Pointer):
        return em.one("ptr_to_int", kind.of(I64), value)
    if kind.elem == TF32:
        return em.one("ftof", kind.of(F32), value)
    return _nibbles(em, value, kind) if kind.elem == F4E2M1FN else value


def _nibbles(em: TileEmitter, value: Val, kind: TileValueType) -> Val:
    """Return the bits of f4, one byte each: packed into pairs, and these taken apart."""
    half = kind.size // 2
    pairs, column = TileValueType(I8, (half,)), TileValueType(I8, (half, 1))
    flat = em.one("reshape", kind.shaped((kind.size,)), value)
    bytes_ = em.one("pack", pairs, flat)
    low = em.same("andi", bytes_, em.number(0xF, pairs))
    high = em.same("shri", bytes_, em.number(4, pairs), signedness=Signedness.UNSIGNED)
    columns = [em.one("reshape", column, v) for v in (low, high)]
    both = em.one("cat", TileValueType(I8, (half, 2)), *columns, dim=1)
    return em.one("reshape", kind.of(I8), both)


def _room(kind: TileValueType) -> int:
    return -(-kind.size * max(kind.scalar.width // 8, 1) // 8) * 8


def _store_at(em: TileEmitter, start: Val, at: int, value: Val) -> None:
    """Write a tile, row by row, so many bytes behind a start in the record."""
    assert em.record is not None, "a kernel that prints has a launch record"
    kind = tile(value)
    pointer = Pointer(kind.scalar)
    address = em.same("addi", em.one("ptr_to_int", WORD, em.record), start)
    where = em.same("addi", address, em.number(at, WORD))
    base = em.spread(em.one("int_to_ptr", TileValueType(pointer), where), kind.shape)
    if kind.shape:
        count = em.one("iota", TileValueType(I32, (kind.size,)))
        places = count if len(kind.shape) == 1 else em.one("reshape", kind.of(I32), count)
        base = em.one("offset", kind.of(pointer), base, places)
    em.op("store_ptr_tko", [TOKEN], base, value, memory_ordering_semantics=MemoryOrdering.WEAK)


CHECKS: dict[str, Rule] = {"check": _check}
"""Declared with memory, but a report like the others."""
RULES: dict[str, Rule] = {"assert": _assert, "print": _print}
