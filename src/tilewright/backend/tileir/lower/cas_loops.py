"""Emulates atomics that Tile IR does not have with compare-and-swap loops.

Elements smaller than 32 bits are changed inside the 32-bit word that holds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....base.dtypes import AnyDType
from ....ir.attrs import AtomicMode
from ..encoding.enums import Comparison, MemoryOrdering, MemoryScope, Signedness
from ..program.core import Region, Val
from ..program.types import FLAG, I1, I8, I16, I32, I64, TOKEN, Pointer, Scalar, Tile
from .emitter import Emitter, tile

WORDS: dict[int, Scalar] = {1: I8, 8: I8, 16: I16, 32: I32, 64: I64}
"""The integer with the bits of an element in memory."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that hold a tile's elements: where they are, and how far up the elements stand."""

    pointers: Val
    shift: Val | None
    elem: Tile
    """The tile of elements."""
    small: Tile
    """Their bits as integers."""
    word: Tile


def cas_loop(
    em: Emitter,
    mode: AtomicMode | None,
    pointers: Val,
    value: Val,
    mask: Val | None,
    token: Val | None,
    dtype: AnyDType,
    compare: Val | None = None,
) -> tuple[Val, Val]:
    """Combine values into memory (without a mode: replace what equals `compare`).

    Gives the old values, those of `compare` where it is given and not the mask, and a token.
    """
    words = _words(em, pointers, tile(value))
    shape = words.word.shape
    pending = em.number(1, Tile(I1, shape)) if mask is None else mask
    first = _loaded(em, words, pending, token)
    unset = value if compare is None else compare
    carried = (pending, first, unset, token or em.one("make_token", TOKEN))
    body = Region(tuple(Val(v.kind) for v in carried))
    with em.inside(body):
        _round(em, words, _combiner(em, mode, value, dtype, compare), body.args)
    *_, old, done = em.op("loop", [v.kind for v in carried], carried, regions=(body,))
    return old, done


def _round(
    em: Emitter, words: _Words, combine: Callable[[Val], Val], args: tuple[Val, ...]
) -> None:
    """Try once for all pending elements, and leave if there are none."""
    pending, seen, before, token = args
    old = _taken(em, words, seen)
    new = _put(em, words, seen, combine(old))
    found, done = em.op(
        "atomic_cas_tko", [words.word, TOKEN], words.pointers, seen, new, pending, token,
        memory_ordering_semantics=MemoryOrdering.ACQ_REL, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip
    same = em.compare(Comparison.EQUAL, found, seen)
    won = em.same("andi", pending, same)
    results = em.one("select", words.elem, won, old, before)
    left = em.same("andi", pending, em.compare(Comparison.NOT_EQUAL, found, seen))
    finished = em.same("xori", _any(em, left), em.number(1, FLAG))
    leaving = Region()
    with em.inside(leaving):
        em.op("break", (), (left, found, results, done))
    em.op("if", (), finished, regions=(leaving, None))
    em.op("continue", (), (left, found, results, done))


def _any(em: Emitter, flags: Val) -> Val:
    """Whether any element of a tile is true."""
    kind = tile(flags)
    if not kind.shape:
        return flags
    count = kind.size
    numbers = em.one("exti", kind.of(I32), flags, signedness=Signedness.UNSIGNED)
    flat = em.one("reshape", Tile(I32, (count,)), numbers)
    body = Region((Val(Tile(I32)), Val(Tile(I32))))
    with em.inside(body):
        em.op("yield", (), [em.same("ori", *body.args)])
    from_zero = em.zero_identity(I32)
    (total,) = em.op("reduce", [Tile(I32)], [flat], regions=(body,), dim=0, identities=from_zero)
    return em.compare(Comparison.NOT_EQUAL, total, em.number(0, Tile(I32)))


# --- words ---------------------------------------------------------------------------------------


def _words(em: Emitter, pointers: Val, elem: Tile) -> _Words:
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


def _loaded(em: Emitter, words: _Words, mask: Val, token: Val | None) -> Val:
    """A first guess of what the words hold."""
    loaded, _ = em.op(
        "load_ptr_tko", [words.word, TOKEN], words.pointers, mask, em.number(0, words.word), token,
        memory_ordering_semantics=MemoryOrdering.RELAXED, memory_scope=MemoryScope.DEVICE,
    )  # fmt: skip
    return loaded


def _taken(em: Emitter, words: _Words, whole: Val) -> Val:
    """The elements in words."""
    bits = whole
    if words.shift is not None:
        moved = em.same("shri", whole, words.shift, signedness=Signedness.UNSIGNED)
        bits = em.one("trunci", words.small, moved)
    if words.elem.elem == I1:  # any byte but 0 is true
        return em.compare(Comparison.NOT_EQUAL, bits, em.number(0, words.small))
    return bits if words.small == words.elem else em.one("bitcast", words.elem, bits)


def _put(em: Emitter, words: _Words, whole: Val, elements: Val) -> Val:
    """Words with other elements in them."""
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
    em: Emitter, mode: AtomicMode | None, value: Val, dtype: AnyDType, compare: Val | None
) -> Callable[[Val], Val]:
    if mode is None:
        assert compare is not None, "an exchange without a mode needs what to compare with"
        expected = compare
        return lambda old: em.one("select", value.kind, _same(em, old, expected), value, old)
    if mode is AtomicMode.XCHG:
        return lambda old: value
    if dtype.is_float:
        name = {AtomicMode.ADD: "addf", AtomicMode.MAX: "maxf", AtomicMode.MIN: "minf"}[mode]
        nan = {} if mode is AtomicMode.ADD else {"propagate_nan": True}
        return lambda old: em.same(name, old, value, **nan)
    name = INTEGER_OPS[mode]
    if mode in (AtomicMode.MAX, AtomicMode.MIN):
        return lambda old: em.same(name, old, value, signedness=dtype.is_signed)
    return lambda old: em.same(name, old, value)


INTEGER_OPS: dict[AtomicMode, str] = {
    AtomicMode.ADD: "addi", AtomicMode.AND: "andi", AtomicMode.OR: "ori", AtomicMode.XOR: "xori",
    AtomicMode.MAX: "maxi", AtomicMode.MIN: "mini",
}  # fmt: skip


def _same(em: Emitter, a: Val, b: Val) -> Val:
    """Whether elements are the same bit for bit."""
    kind = tile(a)
    if not kind.scalar.is_int:
        bits = kind.of(WORDS[kind.scalar.width])
        a, b = em.one("bitcast", bits, a), em.one("bitcast", bits, b)
    return em.compare(Comparison.EQUAL, a, b, signed=False)
