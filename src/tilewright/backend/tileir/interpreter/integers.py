"""Integer arithmetic, bits, shifts, comparisons; promises that do not hold are reported."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..encoding.enums import Comparison, Overflow, Rounding, Signedness
from ..program.core import Instr
from ..program.types import Scalar
from .machine import Frame, Results, Rule, number_of
from .values import Array, UndefinedError, integers, signed, tile_kind, unsigned

Binary = Callable[[Array, Array], Array]

COMPARISONS: dict[Comparison, Binary] = {
    Comparison.EQUAL: np.equal, Comparison.NOT_EQUAL: np.not_equal,
    Comparison.LESS_THAN: np.less, Comparison.LESS_THAN_OR_EQUAL: np.less_equal,
    Comparison.GREATER_THAN: np.greater, Comparison.GREATER_THAN_OR_EQUAL: np.greater_equal,
}  # fmt: skip


def elementwise(frame: Frame, instr: Instr) -> list[Array]:
    """The operands of an instruction on elements: tiles of one shape."""
    found = frame.arrays(instr)
    if not frame.by_lanes and len({x.shape for x in found}) > 1:
        frame.fail(f"its operands have the shapes {[x.shape for x in found]}")
    return found


def scalar_of(instr: Instr) -> Scalar:
    """The element type of the only result."""
    return tile_kind(instr.result.kind).scalar


def readings(instr: Instr, arrays: list[Array], name: str = "signedness") -> list[Array]:
    """Operands as an instruction reads them: signed or unsigned."""
    read = signed if number_of(instr, name) == Signedness.SIGNED else unsigned
    return [read(x) for x in arrays]


# --- promises ------------------------------------------------------------------------------------


def _exact(arrays: list[Array], *, is_signed: bool) -> list[Array]:
    """Integers of which sums and products are exact: Python's own if they are wide."""
    read = [(signed if is_signed else unsigned)(x) for x in arrays]
    wide = any(x.dtype.itemsize > 4 for x in read)
    return [x.astype(object if wide else np.int64) for x in read]


def _check_promises(instr: Instr, arrays: list[Array], exact: Callable[..., Array]) -> None:
    """Report an exact result that does not fit, where the instruction promises that it does."""
    promised, width = number_of(instr, "overflow"), scalar_of(instr).width
    if promised & Overflow.NO_SIGNED_WRAP:
        made = np.asarray(exact(*_exact(arrays, is_signed=True)))
        _check_range(made, -(1 << width - 1), (1 << width - 1) - 1, "signed")
    if promised & Overflow.NO_UNSIGNED_WRAP:
        made = np.asarray(exact(*_exact(arrays, is_signed=False)))
        _check_range(made, 0, (1 << width) - 1, "unsigned")


def _check_range(made: Array, low: int, high: int, what: str) -> None:
    outside = (made < low) | (made > high)
    if np.any(outside):
        wrong = made[outside].reshape(-1)[0]
        raise UndefinedError(f"{wrong} wraps around, which was promised not to happen ({what})")


def _shifted(a: Array, b: Array) -> Array:
    """a * 2**b, exact."""
    return np.asarray(a.astype(object) * (np.asarray(2).astype(object) ** b.astype(object)))


def _wrapping(native: Callable[..., Array], exact: Callable[..., Array] | None = None) -> Rule:
    """An instruction that wraps around unless it promises not to."""

    def rule(frame: Frame, instr: Instr) -> Results:
        arrays = elementwise(frame, instr)
        if number_of(instr, "overflow"):
            _check_promises(instr, arrays, exact or native)
        made = np.asarray(native(*(unsigned(x) for x in arrays)))
        return (integers(made, scalar_of(instr)),)

    return rule


# --- division and shifts -------------------------------------------------------------------------


def _check_division(a: Array, b: Array) -> None:
    if np.any(b == 0):
        raise UndefinedError("an integer is divided by zero")
    if np.issubdtype(a.dtype, np.signedinteger) and np.any(
        (a == np.iinfo(a.dtype).min) & (b == -1)
    ):
        raise UndefinedError("the least integer is divided by -1")


def _divi(frame: Frame, instr: Instr) -> Results:
    a, b = readings(instr, elementwise(frame, instr))
    _check_division(a, b)
    mode = number_of(instr, "rounding")
    floor = np.asarray(a // b)
    inexact = np.asarray(floor * b != a)
    if mode == Rounding.ZERO:
        floor = floor + (inexact & ((a < 0) != (b < 0)))
    elif mode == Rounding.POSITIVE_INF:
        floor = floor + inexact
    elif mode != Rounding.NEGATIVE_INF or number_of(instr, "signedness") != Signedness.SIGNED:
        frame.fail(f"quotients are not rounded by {Rounding(mode).name}")
    return (integers(np.asarray(floor), scalar_of(instr)),)


def _remi(frame: Frame, instr: Instr) -> Results:
    a, b = readings(instr, elementwise(frame, instr))
    _check_division(a, b)
    return (integers(np.asarray(np.fmod(a, b)), scalar_of(instr)),)


def _amount(instr: Instr, amount: Array) -> Array:
    width = scalar_of(instr).width
    wide = unsigned(amount)
    if np.any(wide >= width):
        raise UndefinedError(f"{width} bits are shifted by {wide.max()}")
    return wide


def _shli(frame: Frame, instr: Instr) -> Results:
    a, by = elementwise(frame, instr)
    amount = _amount(instr, by)
    if number_of(instr, "overflow"):
        _check_promises(instr, [a, by], _shifted)
    return (integers(np.asarray(unsigned(a) << amount), scalar_of(instr)),)


def _shri(frame: Frame, instr: Instr) -> Results:
    a, by = elementwise(frame, instr)
    amount = _amount(instr, by)
    (read,) = readings(instr, [a])
    return (integers(np.asarray(read >> amount.astype(read.dtype)), scalar_of(instr)),)


def _mulhii(frame: Frame, instr: Instr) -> Results:
    a, b = _exact(elementwise(frame, instr), is_signed=False)
    width = scalar_of(instr).width
    high = np.asarray(a.astype(object) * b.astype(object) >> width)
    return (integers(high.astype(np.uint64), scalar_of(instr)),)


# --- the rest ------------------------------------------------------------------------------------


def _extreme(native: Binary) -> Rule:
    def rule(frame: Frame, instr: Instr) -> Results:
        made = native(*readings(instr, elementwise(frame, instr)))
        return (integers(np.asarray(made), scalar_of(instr)),)

    return rule


def _bitwise(native: Binary) -> Rule:
    def rule(frame: Frame, instr: Instr) -> Results:
        return (np.asarray(native(*elementwise(frame, instr))),)

    return rule


def _absi(frame: Frame, instr: Instr) -> Results:
    (a,) = elementwise(frame, instr)
    return (integers(np.asarray(np.abs(signed(a))), scalar_of(instr)),)


def _cmpi(frame: Frame, instr: Instr) -> Results:
    compare = COMPARISONS[Comparison(number_of(instr, "comparison_predicate"))]
    return (np.asarray(compare(*readings(instr, elementwise(frame, instr)))),)


def _exti(frame: Frame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind = scalar_of(instr)
    if tile_kind(instr.operands[0].kind).scalar.width >= kind.width:
        frame.fail(f"{instr.operands[0].kind} is not narrower than {kind}")
    (read,) = readings(instr, [source])
    return (integers(read, kind),)


def _trunci(frame: Frame, instr: Instr) -> Results:
    arrays = elementwise(frame, instr)
    kind = scalar_of(instr)
    if tile_kind(instr.operands[0].kind).scalar.width <= kind.width:
        frame.fail(f"{instr.operands[0].kind} is not wider than {kind}")
    if number_of(instr, "overflow"):
        _check_promises(instr, arrays, np.asarray)
    return (integers(arrays[0], kind),)


RULES: dict[str, Rule] = {
    "addi": _wrapping(np.add), "subi": _wrapping(np.subtract), "muli": _wrapping(np.multiply),
    "negi": _wrapping(np.negative), "divi": _divi, "remi": _remi, "mulhii": _mulhii,
    "absi": _absi, "maxi": _extreme(np.maximum), "mini": _extreme(np.minimum),
    "andi": _bitwise(np.bitwise_and), "ori": _bitwise(np.bitwise_or),
    "xori": _bitwise(np.bitwise_xor), "shli": _shli, "shri": _shri,
    "cmpi": _cmpi, "exti": _exti, "trunci": _trunci,
}  # fmt: skip
