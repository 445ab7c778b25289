"""`cvt`: between integers, between floats, and from one to the other, with rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .floats import saturated
from .layout import Layout
from .program import Instr
from .rounding import canonical, flushed, narrow, odd_sum
from .values import TYPES, Action, Array, Lanes, Maker, form, reader, unknown, writer

if TYPE_CHECKING:
    from .threads import Threads

TYPE = r"[su](?:8|16|32|64)|f16|bf16|f32|f64"
PATTERN = (
    r"cvt(?:\.(?P<mode>rni|rzi|rmi|rpi|rn|rz|rm|rp))?(?P<ftz>\.ftz)?(?P<sat>\.sat)?"
    rf"\.(?P<to>{TYPE})\.(?P<given>{TYPE})"
)
WHOLE: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def _convert(layout: Layout, instr: Instr) -> Action:
    match = form(instr, PATTERN, 2)
    to, given, mode = match["to"], match["given"], match["mode"] or ""
    flush, sat = bool(match["ftz"]), bool(match["sat"])
    function = _function(instr, to, given, mode, sat=sat)
    read = reader(layout, instr, instr.operands[1], given, wide=True)
    write = writer(instr, instr.operands[0], to, wide=True)

    def act(threads: Threads, lanes: Lanes) -> None:
        value = read(threads, lanes)
        if flush and given == "f32":
            value = flushed(value)
        made = np.asarray(function(value))
        if flush and to == "f32":
            made = flushed(made)
        write(threads, lanes, made)

    return act


def _function(
    instr: Instr, to: str, given: str, mode: str, *, sat: bool
) -> Callable[[Array], Array]:
    floats = "f" in given, "f" in to
    if floats == (False, False) and not mode:
        return _between_integers(to, sat=sat)
    if floats == (True, False) and mode in WHOLE:
        return _to_integer(to, given, mode)
    if floats == (False, True) and to == "f64" and mode == "rn":
        return lambda a: a.astype(np.float64)
    if floats == (False, True) and to != "f64" and mode in ("rn", "rz", "rm", "rp"):
        return lambda a: narrow(_wide(a), TYPES[to], mode)
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


def _wide(a: Array) -> Array:
    """Return an integer in f64, rounded to odd if it has too many bits."""
    if a.dtype.itemsize < 8:
        return a.astype(np.float64)
    low = a & a.dtype.type(0xFFFFFFFF)
    return odd_sum((a - low).astype(np.float64), low.astype(np.float64))


def _between_floats(
    instr: Instr, to: str, given: str, mode: str, *, sat: bool
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


RULES: dict[str, Maker] = {"cvt": _convert}
