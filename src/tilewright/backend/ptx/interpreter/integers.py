"""Integer arithmetic, with carries, and the bits of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .layout import Layout
from .program import Instr, Number
from .values import (
    TYPES,
    Action,
    Array,
    Compute,
    Lanes,
    Maker,
    UndefinedError,
    bits_of,
    first,
    form,
    pure,
    reader,
    unknown,
    writer,
)

if TYPE_CHECKING:
    from .threads import Threads

WIDTHS = "16|32|64"
INTEGER = f"(?P<kind>[su](?:{WIDTHS}))"
WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}


def _unsigned(kind: str) -> str:
    return "u" + kind[1:]


# --- arithmetic ----------------------------------------------------------------------------------


def _wrapped(function: Compute) -> Callable[..., Maker]:
    """Return an operation modulo a power of two: signs make no difference."""

    def make(name: str, count: int) -> Maker:
        def maker(layout: Layout, instr: Instr) -> Action:
            kind = _unsigned(form(instr, rf"{name}\.{INTEGER}", count + 1)["kind"])
            return pure(layout, instr, kind, (kind,) * count, function)

        return maker

    return make


def _signed(name: str, count: int, function: Compute) -> Maker:
    def maker(layout: Layout, instr: Instr) -> Action:
        kind = form(instr, rf"{name}\.{INTEGER}", count + 1)["kind"]
        return pure(layout, instr, kind, (kind,) * count, function)

    return maker


def high(a: Array, b: Array) -> Array:
    """Return the upper half of a product."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
        return np.asarray((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    x, y = np.broadcast_arrays(a, b)
    products = [int(p) * int(q) >> bits for p, q in zip(x.ravel(), y.ravel(), strict=True)]
    mask = (1 << bits) - 1
    made = np.array([p & mask for p in products], np.uint64).view(a.dtype)
    return made.reshape(x.shape)


def _wide(a: Array, b: Array) -> Array:
    wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return np.asarray(a.astype(wide) * b.astype(wide))


def _multiply(layout: Layout, instr: Instr) -> Action:
    match = form(instr, rf"mul(?:24)?\.(?P<part>lo|hi|wide)\.{INTEGER}", 3)
    kind, part = match["kind"], match["part"]
    if part == "wide":
        return pure(layout, instr, WIDER[kind], (kind, kind), _wide)
    if part == "lo":
        kind = _unsigned(kind)
        return pure(layout, instr, kind, (kind, kind), lambda a, b: a * b)
    return pure(layout, instr, kind, (kind, kind), high)


def _multiply_add(layout: Layout, instr: Instr) -> Action:
    if ".cc." in instr.opcode:
        return _with_carry(layout, instr)
    match = form(instr, rf"mad\.(?P<part>lo|hi|wide)\.{INTEGER}", 4)
    kind, part = match["kind"], match["part"]
    if part == "wide":
        wide = WIDER[kind]
        return pure(layout, instr, wide, (kind, kind, wide), lambda a, b, c: _wide(a, b) + c)
    if part == "lo":
        kind = _unsigned(kind)
        return pure(layout, instr, kind, (kind,) * 3, lambda a, b, c: a * b + c)
    return pure(layout, instr, kind, (kind,) * 3, lambda a, b, c: high(a, b) + c)


def _quotient(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the quotient toward zero, and the remainder."""
    wrong = np.atleast_1d(b == 0)
    if wrong.any():
        raise UndefinedError("a division by zero", first(wrong) if wrong.size > 1 else 0)
    if a.dtype.kind == "u":
        return a // b, a % b
    wrong = np.atleast_1d((a == np.iinfo(a.dtype).min) & (b == -1))
    if wrong.any():
        raise UndefinedError("a division that overflows", first(wrong) if wrong.size > 1 else 0)
    floor = a // b
    rest = a - floor * b
    quotient = floor + ((rest != 0) & ((rest < 0) != (a < 0)))
    return quotient.astype(a.dtype), (a - quotient * b).astype(a.dtype)


# --- carries -------------------------------------------------------------------------------------

CARRY = (
    r"(?P<name>add|addc|sub|subc|mad|madc)(?:\.(?P<part>lo|hi))?(?P<sets>\.cc)?"
    r"\.[su](?P<bits>32|64)"
)


def _with_carry(layout: Layout, instr: Instr) -> Action:
    """Add words of a long sum: `.cc` sets the carry of a thread, a `c` behind the name adds it."""
    multiplies = instr.opcode.startswith("mad")
    match = form(instr, CARRY, 4 if multiplies else 3)
    if multiplies != bool(match["part"]):
        unknown(instr)
    kind = f"u{match['bits']}"
    subtracts, takes = match["name"].startswith("sub"), match["name"].endswith("c")
    reads = [reader(layout, instr, operand, kind) for operand in instr.operands[1:]]
    write = writer(instr, instr.operands[0], kind)

    def act(threads: Threads, lanes: Lanes) -> None:
        given = [read(threads, lanes) for read in reads]
        if multiplies:
            a, b, c = given
            given = [high(a, b) if match["part"] == "hi" else a * b, c]
        carry = threads.carry[lanes] if takes else np.zeros(len(threads.carry[lanes]), np.bool_)
        made, out = (_subtract if subtracts else _add)(given[0], given[1], carry)
        if match["sets"]:
            threads.carry[lanes] = out
        write(threads, lanes, made)

    return act


def _add(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    part = a + b
    total = part + carry.astype(part.dtype)
    return total, (part < a) | (total < part)


def _subtract(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    part = a - b
    total = part - borrow.astype(part.dtype)
    return total, (a < b) | (part < borrow.astype(part.dtype))


def _sum(name: str, function: Compute) -> Maker:
    plain = _wrapped(function)(name, 2)

    def maker(layout: Layout, instr: Instr) -> Action:
        return _with_carry(layout, instr) if ".cc." in instr.opcode else plain(layout, instr)

    return maker


# --- bits ----------------------------------------------------------------------------------------


def _bitwise(name: str, count: int, function: Compute) -> Maker:
    def maker(layout: Layout, instr: Instr) -> Action:
        kind = form(instr, rf"{name}\.(b(?:{WIDTHS})|pred)", count + 1)[1]
        return pure(layout, instr, kind, (kind,) * count, function)

    return maker


def _shift(name: str) -> Maker:
    """Return a shift; by its width or more it moves out all bits."""

    def maker(layout: Layout, instr: Instr) -> Action:
        kind = form(instr, rf"{name}\.([bsu](?:{WIDTHS}))", 3)[1]
        function = _left if name == "shl" else _right
        return pure(layout, instr, kind, (kind, "u32"), function)

    return maker


def _left(a: Array, amount: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    by = np.minimum(amount, bits - 1).astype(a.dtype)
    return np.where(amount < bits, a << by, 0)


def _right(a: Array, amount: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    by = np.minimum(amount, bits - 1).astype(a.dtype)
    return np.where((amount < bits) | (a.dtype.kind == "i"), a >> by, 0)


def _funnel(layout: Layout, instr: Instr) -> Action:
    match = form(instr, r"shf\.(l|r)\.(wrap|clamp)\.b32", 4)

    def shift(low: Array, up: Array, amount: Array) -> Array:
        by = (amount & 31 if match[2] == "wrap" else np.minimum(amount, 32)).astype(np.uint64)
        both = up.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
        moved = both << by >> np.uint64(32) if match[1] == "l" else both >> by
        return (moved & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return pure(layout, instr, "b32", ("b32", "b32", "u32"), shift)


def _extract(layout: Layout, instr: Instr) -> Action:
    kind = form(instr, r"bfe\.([su](?:32|64))", 4)[1]
    bits = bits_of(kind)

    def extract(a: Array, position: Array, length: Array) -> Array:
        start, count = (position & 0xFF).astype(np.int64), (length & 0xFF).astype(np.int64)
        cut = _right(a.view(TYPES[_unsigned(kind)]), start.astype(np.uint32))
        unused = np.clip(bits - count, 0, bits).astype(np.uint32)
        if kind[0] == "u":
            return _right(_left(cut, unused), unused)
        # The sign is the last bit of the field, or of the number if the field reaches beyond it.
        last = np.minimum(start + count - 1, bits - 1).clip(0)
        sign = (a >> last.astype(a.dtype)) & 1
        mask = _left(np.full(a.shape, -1, a.dtype), np.minimum(count, bits).astype(np.uint32))
        kept = cut.view(a.dtype) & ~mask
        return np.where((sign != 0) & (count > 0), kept | mask, kept)

    return pure(layout, instr, kind, (kind, "u32", "u32"), extract)


def _insert(layout: Layout, instr: Instr) -> Action:
    kind = form(instr, r"bfi\.(b32|b64)", 5)[1]

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        start, count = position & 0xFF, length & 0xFF
        ones = np.full(a.shape, -1).astype(a.dtype)
        field = _left(~_left(ones, count), start)
        return (b & ~field) | (_left(a, start) & field)

    return pure(layout, instr, kind, (kind, kind, "u32", "u32"), insert)


def _counts(name: str, function: Callable[[Array], Array]) -> Maker:
    def maker(layout: Layout, instr: Instr) -> Action:
        kind = form(instr, rf"{name}\.(b32|b64)", 2)[1]
        return pure(layout, instr, "u32", (kind,), function)

    return maker


def _leading_zeros(a: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    count = np.full(a.shape, bits, np.uint32)
    for number in range(bits):
        seen = (a >> a.dtype.type(number)) & a.dtype.type(1) != 0
        count = np.where(seen, bits - 1 - number, count)
    return count.astype(np.uint32)


def _reverse(layout: Layout, instr: Instr) -> Action:
    kind = form(instr, r"brev\.(b32|b64)", 2)[1]

    def reverse(a: Array) -> Array:
        raw = np.ascontiguousarray(a).reshape(-1, 1).view(np.uint8)
        bits = np.unpackbits(raw, axis=1, bitorder="little")[:, ::-1]
        made = np.packbits(bits, axis=1, bitorder="little").view(a.dtype)
        return made.reshape(a.shape)

    return pure(layout, instr, kind, (kind,), reverse)


def _permute(layout: Layout, instr: Instr) -> Action:
    form(instr, r"prmt\.b32", 4)

    def permute(a: Array, b: Array, selector: Array) -> Array:
        both = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
        made = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint64)
        for number in range(4):
            choice = (selector >> np.uint32(4 * number)).astype(np.uint64)
            byte = both >> (choice & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
            sign = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            chosen = np.where(choice & np.uint64(8), sign, byte)
            made |= chosen << np.uint64(8 * number)
        return made.astype(np.uint32)

    return pure(layout, instr, "b32", ("b32", "b32", "b32"), permute)


def _logic(layout: Layout, instr: Instr) -> Action:
    """Run `lop3`: any function of three bits, given by its table."""
    form(instr, r"lop3\.b32", 5)
    table = instr.operands[-1]
    if not isinstance(table, Number):
        unknown(instr)

    def look(a: Array, b: Array, c: Array, _: Array) -> Array:
        made = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for number in range(8):
            if table.value >> number & 1:
                parts = [x if number >> 2 - k & 1 else ~x for k, x in enumerate((a, b, c))]
                made = made | (parts[0] & parts[1] & parts[2])
        return made

    return pure(layout, instr, "b32", ("b32", "b32", "b32", "b32"), look)


RULES: dict[str, Maker] = {
    "addc": _with_carry,
    "subc": _with_carry,
    "madc": _with_carry,
    "mad": _multiply_add,
    "rem": _signed("rem", 2, lambda a, b: _quotient(a, b)[1]),
    "and": _bitwise("and", 2, lambda a, b: a & b),
    "or": _bitwise("or", 2, lambda a, b: a | b),
    "xor": _bitwise("xor", 2, lambda a, b: a ^ b),
    "not": _bitwise("not", 1, lambda a: ~a),
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "shf": _funnel,
    "bfe": _extract,
    "bfi": _insert,
    "clz": _counts("clz", _leading_zeros),
    "popc": _counts("popc", lambda a: np.bitwise_count(a).astype(np.uint32)),
    "brev": _reverse,
    "prmt": _permute,
    "lop3": _logic,
}
SHARED_NAMES: dict[str, Maker] = {
    "add": _sum("add", lambda a, b: a + b),
    "sub": _sum("sub", lambda a, b: a - b),
    "mul": _multiply,
    "div": _signed("div", 2, lambda a, b: _quotient(a, b)[0]),
    "min": _signed("min", 2, np.minimum),
    "max": _signed("max", 2, np.maximum),
    "neg": _wrapped(lambda a: np.zeros_like(a) - a)("neg", 1),
    "abs": _signed("abs", 1, np.abs),
}
"""Instructions whose names floats have as well."""
