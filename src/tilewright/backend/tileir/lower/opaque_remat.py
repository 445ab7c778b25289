"""Opaque rematerialization: keeps the assembler from merging rematerialized conversions (CSE).

An assembler takes two conversions of one tile for one, and keeps the wide result in registers,
unless the second is of something else, and not to be had before the reduction. So it is of the
tile's bits and a term that is always 0, though no assembler sees that.
"""

from __future__ import annotations

from ....ir.core import Op, Value
from ..encoding.enums import Comparison, Signedness
from ..program.core import Val
from ..program.types import F32, I8, I16, I32, Scalar
from .emitter import Emitter, Reduced, tile

WORDS = {1: I8, 2: I16}
"""The integers of narrow elements, by their bytes."""
HALF = 16


def note_reduction(em: Emitter, op: Op, results: tuple[Val, ...]) -> None:
    """A reduction has been lowered."""
    given = op.operands[0].tile.shape
    if tile(results[0]).elem == F32:
        em.reduced[id(em.code)] = Reduced(results[0], given, op.attrs["axis"])


def converted(em: Emitter, value: Value) -> Val:
    """What is to be converted: the value, or its bits in disguise if that was done before."""
    found, last = em.get(value), em.reduced.get(id(em.code))
    word = WORDS.get(value.tile.dtype.itemsize)
    first = em.converted.setdefault((id(em.code), value), last)
    if word is None or last is None or first is last or last.given != value.tile.shape:
        return found
    kind = tile(found)
    words = kind.of(word)
    bits = found if kind == words else em.one("bitcast", words, found)
    bits = em.same("ori", bits, em.one("broadcast", words, _zeros(em, last, word)))
    return bits if kind == words else em.one("bitcast", kind, bits)


def opaque_false(em: Emitter, x: Val) -> Val:
    """False per element of x, of 32 bits: x * x + 1 is not 7 * y * y, not even modulo 8."""
    kind = tile(x)
    y = em.same("shri", x, em.number(HALF, kind), signedness=Signedness.UNSIGNED)
    left = em.same("addi", em.same("muli", x, x), em.number(1, kind))
    right = em.same("muli", em.number(7, kind), em.same("muli", y, y))
    return em.compare(Comparison.EQUAL, left, right)


def _zeros(em: Emitter, last: Reduced, word: Scalar) -> Val:
    """A zero per result of a reduction."""
    kind = tile(last.result).of(I32)
    never = opaque_false(em, em.one("bitcast", kind, last.result))
    zero = em.one("exti", kind.of(word), never, signedness=Signedness.UNSIGNED)
    ones = tuple(1 if k == last.axis else n for k, n in enumerate(last.given))
    return em.one("reshape", kind.of(word).shaped(ones), zero)
