"""Arithmetic: integers and their bits, floats, comparisons, approximations, conversions.

An approximation is the exact result in f64, rounded once; on a GPU the last bits may differ.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .memory import PtxLayout
from .program import PtxInstr, PtxNumber
from .values import (
    TYPES,
    Action,
    Array,
    Compute,
    Lanes,
    Maker,
    UndefinedPtxError,
    bits_of,
    canonical,
    first,
    flushed,
    fma_f64,
    fma_wide,
    form,
    narrow,
    odd_sum,
    pure,
    reader,
    unknown,
    writer,
)

if TYPE_CHECKING:
    from .threads import PtxThreads

# --- integer arithmetic, with carries, and the bits of integers --------------------------------

WIDTHS = "16|32|64"
INTEGER = f"(?P<kind>[su](?:{WIDTHS}))"
WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}


def _unsigned(kind: str) -> str:
    return "u" + kind[1:]


# --- arithmetic ----------------------------------------------------------------------------------


def _wrapped(function: Compute) -> Callable[..., Maker]:
    """Return an operation modulo a power of two: signs make no difference."""

    def make(name: str, count: int) -> Maker:
        def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
            kind = _unsigned(form(instr, rf"{name}\.{INTEGER}", count + 1)["kind"])
            return pure(layout, instr, kind, (kind,) * count, function)

        return maker

    return make


def _signed(name: str, count: int, function: Compute) -> Maker:
    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
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


def _multiply(layout: PtxLayout, instr: PtxInstr) -> Action:
    match = form(instr, rf"mul(?:24)?\.(?P<part>lo|hi|wide)\.{INTEGER}", 3)
    kind, part = match["kind"], match["part"]
    if part == "wide":
        return pure(layout, instr, WIDER[kind], (kind, kind), _wide)
    if part == "lo":
        kind = _unsigned(kind)
        return pure(layout, instr, kind, (kind, kind), lambda a, b: a * b)
    return pure(layout, instr, kind, (kind, kind), high)


def _multiply_add(layout: PtxLayout, instr: PtxInstr) -> Action:
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
        raise UndefinedPtxError("a division by zero", first(wrong) if wrong.size > 1 else 0)
    if a.dtype.kind == "u":
        return a // b, a % b
    wrong = np.atleast_1d((a == np.iinfo(a.dtype).min) & (b == -1))
    if wrong.any():
        raise UndefinedPtxError("a division that overflows", first(wrong) if wrong.size > 1 else 0)
    floor = a // b
    rest = a - floor * b
    quotient = floor + ((rest != 0) & ((rest < 0) != (a < 0)))
    return quotient.astype(a.dtype), (a - quotient * b).astype(a.dtype)


# --- carries -------------------------------------------------------------------------------------

CARRY = (
    r"(?P<name>add|addc|sub|subc|mad|madc)(?:\.(?P<part>lo|hi))?(?P<sets>\.cc)?"
    r"\.[su](?P<bits>32|64)"
)


def _with_carry(layout: PtxLayout, instr: PtxInstr) -> Action:
    """Add words of a long sum: `.cc` sets the carry of a thread, a `c` behind the name adds it."""
    multiplies = instr.opcode.startswith("mad")
    match = form(instr, CARRY, 4 if multiplies else 3)
    if multiplies != bool(match["part"]):
        unknown(instr)
    kind = f"u{match['bits']}"
    subtracts, takes = match["name"].startswith("sub"), match["name"].endswith("c")
    reads = [reader(layout, instr, operand, kind) for operand in instr.operands[1:]]
    write = writer(instr, instr.operands[0], kind)

    def act(threads: PtxThreads, lanes: Lanes) -> None:
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

    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
        return _with_carry(layout, instr) if ".cc." in instr.opcode else plain(layout, instr)

    return maker


# --- bits ----------------------------------------------------------------------------------------


def _bitwise(name: str, count: int, function: Compute) -> Maker:
    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
        kind = form(instr, rf"{name}\.(b(?:{WIDTHS})|pred)", count + 1)[1]
        return pure(layout, instr, kind, (kind,) * count, function)

    return maker


def _shift(name: str) -> Maker:
    """Return a shift; by its width or more it moves out all bits."""

    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
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


def _funnel(layout: PtxLayout, instr: PtxInstr) -> Action:
    match = form(instr, r"shf\.(l|r)\.(wrap|clamp)\.b32", 4)

    def shift(low: Array, up: Array, amount: Array) -> Array:
        by = (amount & 31 if match[2] == "wrap" else np.minimum(amount, 32)).astype(np.uint64)
        both = up.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
        moved = both << by >> np.uint64(32) if match[1] == "l" else both >> by
        return (moved & np.uint64(0xFFFFFFFF)).astype(np.uint32)

    return pure(layout, instr, "b32", ("b32", "b32", "u32"), shift)


def _extract(layout: PtxLayout, instr: PtxInstr) -> Action:
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


def _insert(layout: PtxLayout, instr: PtxInstr) -> Action:
    kind = form(instr, r"bfi\.(b32|b64)", 5)[1]

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        start, count = position & 0xFF, length & 0xFF
        ones = np.full(a.shape, -1).astype(a.dtype)
        field = _left(~_left(ones, count), start)
        return (b & ~field) | (_left(a, start) & field)

    return pure(layout, instr, kind, (kind, kind, "u32", "u32"), insert)


def _counts(name: str, function: Callable[[Array], Array]) -> Maker:
    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
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


def _reverse(layout: PtxLayout, instr: PtxInstr) -> Action:
    kind = form(instr, r"brev\.(b32|b64)", 2)[1]

    def reverse(a: Array) -> Array:
        raw = np.ascontiguousarray(a).reshape(-1, 1).view(np.uint8)
        bits = np.unpackbits(raw, axis=1, bitorder="little")[:, ::-1]
        made = np.packbits(bits, axis=1, bitorder="little").view(a.dtype)
        return made.reshape(a.shape)

    return pure(layout, instr, kind, (kind,), reverse)


def _permute(layout: PtxLayout, instr: PtxInstr) -> Action:
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


def _logic(layout: PtxLayout, instr: PtxInstr) -> Action:
    """Run `lop3`: any function of three bits, given by its table."""
    form(instr, r"lop3\.b32", 5)
    table = instr.operands[-1]
    if not isinstance(table, PtxNumber):
        unknown(instr)

    def look(a: Array, b: Array, c: Array, _: Array) -> Array:
        made = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for number in range(8):
            if table.value >> number & 1:
                parts = [x if number >> 2 - k & 1 else ~x for k, x in enumerate((a, b, c))]
                made = made | (parts[0] & parts[1] & parts[2])
        return made

    return pure(layout, instr, "b32", ("b32", "b32", "b32", "b32"), look)


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


# --- float arithmetic, comparisons and approximations ------------------------------------------

KINDS = "f16|bf16|f32|f64"
MODES = "rn|rz|rm|rp"
ARITHMETIC = (
    rf"(?P<name>\w+?)(?:\.(?P<mode>{MODES}))?(?P<ftz>\.ftz)?(?P<sat>\.sat)?\.(?P<kind>{KINDS})"
)
WIDE: dict[str, Compute] = {
    "add": odd_sum,
    "sub": lambda a, b: odd_sum(a, -b),
    "mul": lambda a, b: a * b,
    "fma": fma_wide,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
}
"""Of f64 that hold smaller floats: exact, or rounded to odd; quotients and roots in f64 have enough
bits to be rounded to nearest once more."""
EXACT: dict[str, Compute] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": fma_f64,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
}
"""Of f64, rounded to nearest."""
ONLY_NEAREST = ("div", "rcp", "sqrt")


def _arithmetic(count: int) -> Maker:
    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
        if count == 2 and instr.opcode.startswith(("div.approx", "div.full")):
            return _approximate(layout, instr)
        match = form(instr, ARITHMETIC, count + 1)
        name, kind, mode = match["name"], match["kind"], match["mode"] or "rn"
        if kind == "f64" and (mode != "rn" or match["ftz"] or match["sat"]):
            unknown(instr)
        if name in ONLY_NEAREST and match["mode"] != "rn":
            unknown(instr)
        function = _rounded(name, kind, mode, ftz=bool(match["ftz"]), sat=bool(match["sat"]))
        return pure(layout, instr, kind, (kind,) * count, function)

    return maker


def _rounded(name: str, kind: str, mode: str, *, ftz: bool, sat: bool) -> Compute:
    if kind == "f64":
        return EXACT[name]
    dtype = TYPES[kind]

    def compute(*given: Array) -> Array:
        taken = [flushed(x) for x in given] if ftz else given
        function: Callable[..., Array] = WIDE[name]
        made = narrow(function(*[x.astype(np.float64) for x in taken]), dtype, mode)
        if sat:
            made = saturated(made)
        return canonical(np.asarray(flushed(made) if ftz else made))

    return compute


def saturated(made: Array) -> Array:
    """Cut a result to 0 .. 1; NaN is 0."""
    return np.where(np.isnan(made), 0, np.clip(made, 0, 1)).astype(made.dtype)


def _of_both(name: str, floats: Maker) -> Maker:
    """Return a name that integers have as well."""
    integers = SHARED_NAMES[name]

    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
        is_float = instr.opcode.rsplit(".", 1)[-1] in KINDS.split("|")
        return (floats if is_float else integers)(layout, instr)

    return maker


# --- signs, least and greatest -------------------------------------------------------------------


def _sign(name: str, function: Callable[[Array, Any], Array]) -> Maker:
    """Run `neg` or `abs`, which change one bit."""

    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
        match = form(instr, rf"{name}(?P<ftz>\.ftz)?\.(?P<kind>{KINDS})", 2)
        kind, bits = match["kind"], TYPES[match["kind"]].itemsize * 8
        unsigned = TYPES[f"u{bits}"].type
        flush = bool(match["ftz"])

        def change(a: Array) -> Array:
            given = flushed(a) if flush else a
            return function(given.view(unsigned), unsigned(1 << bits - 1)).view(TYPES[kind])

        return pure(layout, instr, kind, (kind,), change)

    return maker


def _copy_sign(layout: PtxLayout, instr: PtxInstr) -> Action:
    kind = form(instr, r"copysign\.(f32|f64)", 3)[1]
    return pure(layout, instr, kind, (kind, kind), lambda a, b: np.copysign(b, a))


def _extremum(name: str, function: Callable[..., Array]) -> Maker:
    def maker(layout: PtxLayout, instr: PtxInstr) -> Action:
        match = form(instr, rf"{name}(?P<ftz>\.ftz)?(?P<nan>\.NaN)?\.(?P<kind>{KINDS})", 3)
        kind, least = match["kind"], name == "min"

        def choose(a: Array, b: Array) -> Array:
            x, y = (flushed(a), flushed(b)) if match["ftz"] else (a, b)
            made = function(x, y)
            # -0 is less than +0.
            zeros = (x == 0) & (y == 0)
            negative = (np.signbit(x) | np.signbit(y)) if least else (np.signbit(x) & np.signbit(y))
            zero = np.copysign(np.zeros_like(made), np.where(negative, -1.0, 1.0))
            made = np.where(zeros, zero, made)
            gone = (np.isnan(x) | np.isnan(y)) if match["nan"] else (np.isnan(x) & np.isnan(y))
            return canonical(np.where(gone, np.nan, made).astype(a.dtype))

        return pure(layout, instr, kind, (kind, kind), choose)

    return maker


# --- comparisons ---------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _compare(layout: PtxLayout, instr: PtxInstr) -> Action:
    words = "|".join((*COMPARISONS, *UNSIGNED, *(f"{w}u" for w in COMPARISONS), "num", "nan"))
    match = form(instr, rf"setp\.(?P<word>{words})(?P<ftz>\.ftz)?\.(?P<kind>[bsuf]\d+|bf16)", 3)
    word, kind = match["word"], match["kind"]
    if kind not in TYPES or kind.endswith("8") or (match["ftz"] and kind != "f32"):
        unknown(instr)
    if "f" in kind:
        function = _compare_floats(word, ftz=bool(match["ftz"]))
    elif word in UNSIGNED and kind[0] == "u":
        function = COMPARISONS[UNSIGNED[word]]
    elif word in ("eq", "ne") or (word in COMPARISONS and kind[0] != "b"):
        function = COMPARISONS[word]
    else:
        unknown(instr)
    return pure(layout, instr, "pred", (kind, kind), function)


def _compare_floats(word: str, *, ftz: bool) -> Callable[[Array, Array], Array]:
    """Compare numbers; predicates with a `u` hold where one of both is NaN, `ne` does not."""
    unordered = word.endswith("u") and word[:-1] in COMPARISONS
    base = COMPARISONS.get(word[:-1] if unordered else word)

    def compare(a: Array, b: Array) -> Array:
        if ftz:
            a, b = flushed(a), flushed(b)
        nan = np.isnan(a) | np.isnan(b)
        if base is None:
            return nan if word == "nan" else ~nan
        return (base(a, b) | nan) if unordered else (base(a, b) & ~nan)

    return compare


def _test(layout: PtxLayout, instr: PtxInstr) -> Action:
    match = form(
        instr, r"testp\.(finite|infinite|number|notanumber|normal|subnormal)\.(f32|f64)", 2
    )
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
    }
    return pure(layout, instr, "pred", (match[2],), tests[match[1]])


# --- approximations ------------------------------------------------------------------------------

APPROXIMATE: dict[str, Compute] = {
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "rcp": lambda a: 1.0 / a, "rsqrt": lambda a: 1.0 / np.sqrt(a), "sqrt": np.sqrt,
    "div": lambda a, b: a / b,
}  # fmt: skip


def _approximate(layout: PtxLayout, instr: PtxInstr) -> Action:
    match = form(
        instr,
        r"(?P<name>\w+)\.(?:approx|full)(?P<ftz>\.ftz)?\.(?P<kind>f32|f64)",
        len(instr.operands),
    )
    name, kind, ftz = match["name"], match["kind"], bool(match["ftz"])
    count = 2 if name == "div" else 1
    if name not in APPROXIMATE or len(instr.operands) != count + 1:
        unknown(instr)
    if kind == "f64" and name not in ("rcp", "rsqrt"):
        unknown(instr)

    def compute(*given: Array) -> Array:
        taken = [flushed(x) for x in given] if ftz else given
        function: Callable[..., Array] = APPROXIMATE[name]
        made = function(*[x.astype(np.float64) for x in taken])
        if kind == "f64" and ftz:  # no more than the upper half of the bits is known
            bits = np.asarray(made).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)
            return flushed(bits.view(np.float64))
        if kind == "f64":
            return made
        single = np.asarray(made).astype(np.float32)
        return canonical(np.asarray(flushed(single) if ftz else single))

    return pure(layout, instr, kind, (kind,) * count, compute)


def _root(layout: PtxLayout, instr: PtxInstr) -> Action:
    maker = _approximate if ".approx" in instr.opcode else _arithmetic(1)
    return maker(layout, instr)


# --- `cvt` -------------------------------------------------------------------------------------

TYPE = r"[su](?:8|16|32|64)|f16|bf16|f32|f64"
PATTERN = (
    r"cvt(?:\.(?P<mode>rni|rzi|rmi|rpi|rn|rz|rm|rp))?(?P<ftz>\.ftz)?(?P<sat>\.sat)?"
    rf"\.(?P<to>{TYPE})\.(?P<given>{TYPE})"
)
WHOLE: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def _convert(layout: PtxLayout, instr: PtxInstr) -> Action:
    match = form(instr, PATTERN, 2)
    to, given, mode = match["to"], match["given"], match["mode"] or ""
    flush, sat = bool(match["ftz"]), bool(match["sat"])
    function = _function(instr, to, given, mode, sat=sat)
    read = reader(layout, instr, instr.operands[1], given, wide=True)
    write = writer(instr, instr.operands[0], to, wide=True)

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        value = read(threads, lanes)
        if flush and given == "f32":
            value = flushed(value)
        made = np.asarray(function(value))
        if flush and to == "f32":
            made = flushed(made)
        write(threads, lanes, made)

    return act


def _function(
    instr: PtxInstr, to: str, given: str, mode: str, *, sat: bool
) -> Callable[[Array], Array]:
    floats = "f" in given, "f" in to
    if floats == (False, False) and not mode:
        return _between_integers(to, sat=sat)
    if floats == (True, False) and mode in WHOLE:
        return _to_integer(to, given, mode)
    if floats == (False, True) and to == "f64" and mode == "rn":
        return lambda a: a.astype(np.float64)
    if floats == (False, True) and to != "f64" and mode in ("rn", "rz", "rm", "rp"):
        return lambda a: narrow(_widened(a), TYPES[to], mode)
    if floats == (True, True):
        return _between_floats(instr, to, given, mode, sat=sat)
    unknown(instr)


def _between_integers(to: str, *, sat: bool) -> Callable[[Array], Array]:
    dtype = TYPES[to]
    if not sat:
        return lambda a: a.astype(dtype)
    limits = np.iinfo(dtype)

    def clip(a: Array) -> Array:
        ends = np.iinfo(a.dtype)
        return np.clip(a, max(limits.min, ends.min), min(limits.max, ends.max)).astype(dtype)

    return clip


def _to_integer(to: str, given: str, mode: str) -> Callable[[Array], Array]:
    """Saturate numbers that are too large; NaN becomes zero in some types."""
    dtype = TYPES[to]
    limits = np.iinfo(dtype)
    zero = given != "f64" and dtype.itemsize < 8
    nan = 0 if zero else 1 << 8 * dtype.itemsize - 1

    def convert(a: Array) -> Array:
        whole = WHOLE[mode](a.astype(np.float64))
        low, high = whole <= float(limits.min), whole >= float(limits.max)
        inside = np.where(np.isnan(whole) | low | high, 0.0, whole).astype(dtype)
        made = np.where(low, limits.min, np.where(high, limits.max, inside)).astype(dtype)
        special = np.array(nan, f"uint{8 * dtype.itemsize}").view(dtype)
        return np.where(np.isnan(whole), special, made).astype(dtype)

    return convert


def _widened(a: Array) -> Array:
    """Return an integer in f64, rounded to odd if it has too many bits."""
    if a.dtype.itemsize < 8:
        return a.astype(np.float64)
    low = a & a.dtype.type(0xFFFFFFFF)
    return odd_sum((a - low).astype(np.float64), low.astype(np.float64))


def _between_floats(
    instr: PtxInstr, to: str, given: str, mode: str, *, sat: bool
) -> Callable[[Array], Array]:
    widens = TYPES[to].itemsize > TYPES[given].itemsize
    if (to == given) != (mode in WHOLE or (sat and not mode)) or (widens and mode):
        unknown(instr)
    if not widens and to != given and not mode:
        unknown(instr)

    def convert(a: Array) -> Array:
        if mode in WHOLE:
            made = WHOLE[mode](a)
        elif to == given:
            made = a
        elif widens:
            made = a.astype(TYPES[to])
        else:
            made = narrow(a.astype(np.float64), TYPES[to], mode)
        return canonical(np.asarray(saturated(made) if sat else made))

    return convert


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
    "add": _of_both("add", _arithmetic(2)),
    "sub": _of_both("sub", _arithmetic(2)),
    "mul": _of_both("mul", _arithmetic(2)),
    "div": _of_both("div", _arithmetic(2)),
    "fma": _arithmetic(3),
    "sqrt": _root,
    "rcp": _root,
    "rsqrt": _approximate,
    "ex2": _approximate,
    "lg2": _approximate,
    "sin": _approximate,
    "cos": _approximate,
    "tanh": _approximate,
    "neg": _of_both("neg", _sign("neg", lambda a, bit: a ^ bit)),
    "abs": _of_both("abs", _sign("abs", lambda a, bit: a & ~bit)),
    "copysign": _copy_sign,
    "min": _of_both("min", _extremum("min", np.fmin)),
    "max": _of_both("max", _extremum("max", np.fmax)),
    "setp": _compare,
    "testp": _test,
    "cvt": _convert,
}
"""Arithmetic instructions by the first word of their names."""
