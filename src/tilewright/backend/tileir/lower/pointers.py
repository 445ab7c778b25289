"""Raw pointers and atomics, with compare-and-swap loops for those that Tile IR lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....base.dtypes import AnyDType
from ....ir.attrs import AtomicMode, Ordering, Scope
from ....ir.core import Op
from ..bytecode import enums
from ..bytecode.enums import ComparisonCode, MemoryOrdering, MemoryScope, Signedness
from ..bytecode.program import Hints, InstructionRegion, Val
from ..bytecode.types import (
    BF16,
    F16,
    F32,
    F64,
    FLAG,
    I1,
    I8,
    I16,
    I32,
    I64,
    TOKEN,
    Pointer,
    ScalarType,
    TileValueType,
    tile_of,
)
from .elementwise import is_signed
from .emitter import Rule, TileEmitter, tile

# -------------------------------------------------------------------------------------------------
# Raw pointers: gather, scatter and address arithmetic.

ORDERINGS: dict[Ordering, MemoryOrdering] = {
    Ordering.WEAK: MemoryOrdering.WEAK, Ordering.RELAXED: MemoryOrdering.RELAXED,
    Ordering.ACQUIRE: MemoryOrdering.ACQUIRE, Ordering.RELEASE: MemoryOrdering.RELEASE,
    Ordering.ACQ_REL: MemoryOrdering.ACQ_REL,
}  # fmt: skip
SCOPES: dict[Scope, MemoryScope] = {
    Scope.TILE_BLOCK: MemoryScope.TL_BLK, Scope.DEVICE: MemoryScope.DEVICE,
    Scope.SYSTEM: MemoryScope.SYS,
}  # fmt: skip


def order_of(op: Op) -> dict[str, Any]:
    """Return memory order and scope; a weak access has none."""
    ordering: Ordering = op.attrs["ordering"]
    weak = ordering is Ordering.WEAK
    scope = None if weak else SCOPES[op.attrs["scope"]]
    return {"memory_ordering_semantics": ORDERINGS[ordering], "memory_scope": scope}


def _hints(em: TileEmitter, op: Op) -> Hints | None:
    latency: int | None = op.attrs["latency"]
    latency = em.target.codegen_hints.latency if latency is None else latency
    return None if latency is None else {em.target.arch: {"latency": latency}}


def _offset(em: TileEmitter, op: Op) -> Sequence[Val]:
    pointer, by = em.all(op)
    offsets = op.one("by")
    if not is_signed(offsets):  # offsets have a sign here
        by = em.widened(by, signed=False)
    return (em.one("offset", pointer.kind, pointer, by),)


def _load(em: TileEmitter, op: Op) -> Sequence[Val]:
    kind = tile_of(op.results[0].type)
    mask, padding = op.maybe("mask"), op.maybe("padding")
    given = None if mask is None else em.get(mask)
    rest = None
    if mask is not None:
        rest = em.bits(0, kind) if padding is None else em.get(padding)
    return em.op(
        "load_ptr_tko", [kind, TOKEN], em.get(op.one("source")), given, rest, em.token_of(op),
        **order_of(op), optimization_hints=_hints(em, op),
    )  # fmt: skip


def _store(em: TileEmitter, op: Op) -> Sequence[Val]:
    mask = op.maybe("mask")
    given = None if mask is None else em.get(mask)
    return em.op(
        "store_ptr_tko", [TOKEN], em.get(op.one("target")), em.get(op.one("value")), given,
        em.token_of(op), **order_of(op), optimization_hints=_hints(em, op),
    )  # fmt: skip


def _recast(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    kind = tile_of(op.result.type)
    return (arg if kind == arg.kind else em.one(op.name, kind, arg),)


def _plain_access(rule: Rule, results: int) -> Rule:
    def without_token(em: TileEmitter, op: Op) -> Sequence[Val]:
        return rule(em, op)[:results]

    return without_token


POINTER_ORDERED: dict[str, Rule] = {"load_ptr_tko": _load, "store_ptr_tko": _store}


# -------------------------------------------------------------------------------------------------
# Emulation of missing atomics by compare-and-swap loops.
#
# Elements smaller than 32 bits are updated inside the 32-bit word that holds them.

WORDS: dict[int, ScalarType] = {1: I8, 8: I8, 16: I16, 32: I32, 64: I64}
"""The integer with the bits of an element in memory."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that hold a tile's elements: their addresses, and the shifts of the elements."""

    pointers: Val
    shift: Val | None
    elem: TileValueType
    """The tile of elements."""
    small: TileValueType
    """Their bits as integers."""
    word: TileValueType


def cas_loop(
    em: TileEmitter,
    mode: AtomicMode | None,
    pointers: Val,
    value: Val,
    mask: Val | None,
    token: Val | None,
    dtype: AnyDType,
    compare: Val | None = None,
) -> tuple[Val, Val]:
    """Combine values into memory by a CAS loop (without a mode: replace values equal to `compare`).

    Return the old values and a token; where the mask is false, the values of `compare` if given.
    """
    words = _words(em, pointers, tile(value))
    shape = words.word.shape
    pending = em.number(1, TileValueType(I1, shape)) if mask is None else mask
    first = _loaded(em, words, pending, token)
    unset = value if compare is None else compare
    carried = (pending, first, unset, token or em.one("make_token", TOKEN))
    body = InstructionRegion(tuple(Val(v.kind) for v in carried))
    with em.inside(body):
        _round(em, words, _combiner(em, mode, value, dtype, compare), body.args)
    *_, old, done = em.op("loop", [v.kind for v in carried], carried, regions=(body,))
    return old, done


def _round(
    em: TileEmitter, words: _Words, combine: Callable[[Val], Val], args: tuple[Val, ...]
) -> None:
    """Try once for all pending elements, and leave if there are none."""
    pending, seen, before, token = args
    old = _taken(em, words, seen)
    new = _put(em, words, seen, combine(old))
    found, done = em.op(
        "atomic_cas_tko", [words.word, TOKEN], words.pointers, seen, new, pending, token,
        memory_ordering_semantics=MemoryOrdering.ACQ_REL, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip
    same = em.compare(ComparisonCode.EQUAL, found, seen)
    won = em.same("andi", pending, same)
    results = em.one("select", words.elem, won, old, before)
    left = em.same("andi", pending, em.compare(ComparisonCode.NOT_EQUAL, found, seen))
    finished = em.same("xori", _any(em, left), em.number(1, FLAG))
    leaving = InstructionRegion()
    with em.inside(leaving):
        em.op("break", (), (left, found, results, done))
    em.op("if", (), finished, regions=(leaving, None))
    em.op("continue", (), (left, found, results, done))


def _any(em: TileEmitter, flags: Val) -> Val:
    """Return whether any element of a tile is true."""
    kind = tile(flags)
    if not kind.shape:
        return flags
    count = kind.size
    numbers = em.one("exti", kind.of(I32), flags, signedness=Signedness.UNSIGNED)
    flat = em.one("reshape", TileValueType(I32, (count,)), numbers)
    body = InstructionRegion((Val(TileValueType(I32)), Val(TileValueType(I32))))
    with em.inside(body):
        em.op("yield", (), [em.same("ori", *body.args)])
    from_zero = em.zero_identity(I32)
    (total,) = em.op(
        "reduce", [TileValueType(I32)], [flat], regions=(body,), dim=0, identities=from_zero
    )
    return em.compare(ComparisonCode.NOT_EQUAL, total, em.number(0, TileValueType(I32)))


# --- words ---------------------------------------------------------------------------------------


def _words(em: TileEmitter, pointers: Val, elem: TileValueType) -> _Words:
    small = elem.of(WORDS[max(elem.scalar.width, 8)])
    if small.scalar.width >= 32:
        word = small
        where = em.one("ptr_to_ptr", word.of(Pointer(word.scalar)), pointers)
        return _Words(where, None, elem, small, word)
    word = elem.of(I32)
    address = em.one("ptr_to_int", elem.of(I64), pointers)
    start = em.same("andi", address, em.number(-4, elem.of(I64)))
    where = em.one("int_to_ptr", elem.of(Pointer(I32)), start)
    inside = em.one("trunci", word, em.same("subi", address, start))
    shift = em.same("shli", inside, em.number(3, word))
    return _Words(where, shift, elem, small, word)


def _loaded(em: TileEmitter, words: _Words, mask: Val, token: Val | None) -> Val:
    """Load the words as the first guess of a CAS loop."""
    loaded, _ = em.op(
        "load_ptr_tko", [words.word, TOKEN], words.pointers, mask, em.number(0, words.word), token,
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip
    return loaded


def _taken(em: TileEmitter, words: _Words, whole: Val) -> Val:
    """Extract the elements from 32-bit words."""
    bits = whole
    if words.shift is not None:
        moved = em.same("shri", whole, words.shift, signedness=Signedness.UNSIGNED)
        bits = em.one("trunci", words.small, moved)
    if words.elem.elem == I1:  # any byte but 0 is true
        return em.compare(ComparisonCode.NOT_EQUAL, bits, em.number(0, words.small))
    return bits if words.small == words.elem else em.one("bitcast", words.elem, bits)


def _put(em: TileEmitter, words: _Words, whole: Val, elements: Val) -> Val:
    """Insert other elements into words."""
    if words.elem.elem == I1:
        bits = em.one("exti", words.small, elements, signedness=Signedness.UNSIGNED)
    else:
        bits = elements if words.small == words.elem else em.one("bitcast", words.small, elements)
    if words.shift is None:
        return bits
    ones = em.number((1 << words.small.scalar.width) - 1, words.word)
    place = em.same("shli", ones, words.shift)
    rest = em.same("andi", whole, em.same("xori", place, em.number(-1, words.word)))
    wide = em.one("exti", words.word, bits, signedness=Signedness.UNSIGNED)
    return em.same("ori", rest, em.same("shli", wide, words.shift))


# --- what to put ---------------------------------------------------------------------------------


def _combiner(
    em: TileEmitter, mode: AtomicMode | None, value: Val, dtype: AnyDType, compare: Val | None
) -> Callable[[Val], Val]:
    if mode is None:
        assert compare is not None, "an exchange without a mode needs what to compare with"
        expected = compare
        return lambda old: em.one("select", value.kind, _same(em, old, expected), value, old)
    if mode is AtomicMode.XCHG:
        return lambda old: value
    if dtype.is_float:
        assert mode is AtomicMode.ADD, "floats have no atomic extremes"
        return lambda old: em.same("addf", old, value)
    name = INTEGER_OPS[mode]
    if mode in (AtomicMode.MAX, AtomicMode.MIN):
        return lambda old: em.same(name, old, value, signedness=dtype.is_signed)
    return lambda old: em.same(name, old, value)


INTEGER_OPS: dict[AtomicMode, str] = {
    AtomicMode.ADD: "addi", AtomicMode.AND: "andi", AtomicMode.OR: "ori", AtomicMode.XOR: "xori",
    AtomicMode.MAX: "maxi", AtomicMode.MIN: "mini",
}  # fmt: skip


def _same(em: TileEmitter, a: Val, b: Val) -> Val:
    """Return whether elements are the same bit for bit."""
    kind = tile(a)
    if not kind.scalar.is_int:
        bits = kind.of(WORDS[kind.scalar.width])
        a, b = em.one("bitcast", bits, a), em.one("bitcast", bits, b)
    return em.compare(ComparisonCode.EQUAL, a, b, signed=False)


# -------------------------------------------------------------------------------------------------
# Atomics: those that Tile IR has, and the others as CAS loops.

BITS: dict[AtomicMode, enums.AtomicModeCode] = {
    AtomicMode.AND: enums.AtomicModeCode.AND, AtomicMode.OR: enums.AtomicModeCode.OR,
    AtomicMode.XOR: enums.AtomicModeCode.XOR, AtomicMode.ADD: enums.AtomicModeCode.ADD,
}  # fmt: skip
EXTREMES: dict[AtomicMode, tuple[enums.AtomicModeCode, enums.AtomicModeCode]] = {
    AtomicMode.MAX: (enums.AtomicModeCode.UMAX, enums.AtomicModeCode.MAX),
    AtomicMode.MIN: (enums.AtomicModeCode.UMIN, enums.AtomicModeCode.MIN),
}
"""By whether the integers are signed."""
ADDED_SINCE: dict[ScalarType, int] = {F16: 80, BF16: 90, F32: 80, F64: 80}
"""The first architecture that adds floats of a type atomically."""


def mode_of(
    em: TileEmitter, mode: AtomicMode, dtype: AnyDType, kind: ScalarType
) -> enums.AtomicModeCode | None:
    """Return the mode as Tile IR has it; None if it has none for this element type."""
    if mode is AtomicMode.ADD and dtype.is_float:
        return enums.AtomicModeCode.ADDF if em.target.number >= ADDED_SINCE[kind] else None
    if kind.width < 32:
        return None
    if mode is AtomicMode.XCHG:
        return enums.AtomicModeCode.XCHG
    if dtype.is_float:
        return None
    return EXTREMES[mode][dtype.is_signed] if mode in EXTREMES else BITS[mode]


def atomic_order(op: Op) -> dict[str, Any]:
    """Return memory order and scope of an atomic, which is never weak."""
    given = order_of(op)
    return given if given["memory_scope"] is not None else given | {
        "memory_ordering_semantics": enums.MemoryOrdering.RELAXED,
        "memory_scope": enums.MemoryScope.DEVICE,
    }  # fmt: skip


def combine(
    em: TileEmitter,
    op: Op,
    pointers: Val,
    value: Val,
    mask: Val | None,
    token: Val | None,
    dtype: AnyDType,
) -> tuple[Val, Val]:
    """Combine values into memory; return the old ones and a token."""
    mode = mode_of(em, op.attrs["mode"], dtype, tile(value).scalar)
    if mode is None:
        return cas_loop(em, op.attrs["mode"], pointers, value, mask, token, dtype)
    old, done = em.op(
        "atomic_rmw_tko", [value.kind, TOKEN], pointers, value, mask, token,
        **atomic_order(op), mode=mode,
    )  # fmt: skip
    return old, done


def _rmw(em: TileEmitter, op: Op) -> Sequence[Val]:
    given = op.maybe("mask")
    mask = None if given is None else em.get(given)
    value = em.get(op.one("value"))
    dtype = op.one("value").tile.dtype
    old, token = combine(em, op, em.get(op.one("target")), value, mask, em.token_of(op), dtype)
    if mask is not None:
        old = em.one("select", value.kind, mask, old, em.bits(0, tile(value)))
    return old, token


SWAPPED = (I32, I64, F32, F64)


def _cas(em: TileEmitter, op: Op) -> Sequence[Val]:
    given = op.maybe("mask")
    mask = None if given is None else em.get(given)
    kind = tile_of(op.results[0].type)
    target, compare, value = (em.get(op.one(n)) for n in ("target", "compare", "value"))
    if kind.elem not in SWAPPED:
        return cas_loop(
            em, None, target, value, mask, em.token_of(op), op.one("value").tile.dtype, compare
        )
    return em.op(
        "atomic_cas_tko", [kind, TOKEN], target, compare, value, mask, em.token_of(op),
        **atomic_order(op),
    )  # fmt: skip


def _plain_atomic(rule: Rule) -> Rule:
    def without_token(em: TileEmitter, op: Op) -> Sequence[Val]:
        return rule(em, op)[:1]

    return without_token


ATOMICS_ORDERED: dict[str, Rule] = {"atomic_rmw_tko": _rmw, "atomic_cas_tko": _cas}

RULES: dict[str, Rule] = {
    "offset": _offset,
    "load_ptr": _plain_access(_load, 1),
    "store_ptr": _plain_access(_store, 0),
    **dict.fromkeys(("ptr_to_int", "int_to_ptr", "ptr_to_ptr"), _recast),
    "atomic_rmw": _plain_atomic(_rmw),
    "atomic_cas": _plain_atomic(_cas),
}
