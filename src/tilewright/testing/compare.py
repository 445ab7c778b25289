"""Compares tensors and arrays within bounds, and shows the worst element where they differ."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import ml_dtypes
import numpy as np

from ..base import dtypes as dt
from ..base.dtypes import AnyDType, as_dtype
from ..op.core import is_op
from ..tensors.arc import Arc
from ..tensors.tensor import Tensor


class Bounds(NamedTuple):
    """How far apart two numbers may be: all of these together, as far as they are given."""

    rtol: float = 0.0
    """As a share of what is expected."""
    atol: float = 0.0
    """At all."""
    ulp: float = 0.0
    """In units of the last place of what is expected."""

    def __str__(self) -> str:
        given = [f"{name} {value:g}" for name, value in self._asdict().items() if value]
        return " + ".join(given) or "equal"


DEFAULTS: dict[AnyDType, Bounds] = {
    dt.f64: Bounds(1e-10, 1e-10),
    dt.f32: Bounds(2e-6, 1e-6),
    dt.tf32: Bounds(2e-3, 1e-5),
    dt.f16: Bounds(2e-3, 1e-5),
    dt.bf16: Bounds(1.6e-2, 1e-5),
    dt.f8e4m3fn: Bounds(ulp=1),
    dt.f8e5m2: Bounds(ulp=1),
}
"""What is close unless the caller says otherwise; other types must be equal."""

SHOWN = 4
"""Elements that a message lists besides the worst."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    dtype: Any = None,
    message: str = "",
) -> None:
    """Raise AssertionError unless all elements are close: tensors, arrays, numbers, sequences.

    Bounds follow from the element type of `actual`, or `dtype`, unless given; given ones add up.
    Shapes must be equal; NaN is close to NaN, an infinity only to itself.
    """
    found, wanted = _array(actual), _array(expected)
    kind = as_dtype(found.dtype if dtype is None else dtype)
    bounds = Bounds(rtol or 0.0, atol or 0.0, ulp or 0.0)
    if rtol is atol is ulp is None:
        bounds = DEFAULTS.get(kind, Bounds())
    prefix = f"{message}: " if message else ""
    if found.shape != wanted.shape:
        raise AssertionError(
            f"{prefix}the shapes differ\n  expected: {wanted.shape}\n  got: {found.shape}"
        )
    wrong = ~_close(found, wanted, bounds, kind)
    if wrong.any():
        raise AssertionError(prefix + _picture(found, wanted, wrong, bounds, kind))


def _array(x: Any) -> np.ndarray[Any, Any]:
    if is_op(x):
        raise TypeError(f"assert_close takes values, got the op `{x.name}`: run it first")
    return x.to_numpy() if isinstance(x, Tensor | Arc) else np.asarray(x)


def _close(
    found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], bounds: Bounds, kind: AnyDType
) -> np.ndarray[Any, Any]:
    if not any(bounds):
        equal = found == wanted
        both_nan = (found != found) & (wanted != wanted)
        return np.asarray(equal | both_nan)
    a, b = _wide(found), _wide(wanted)
    with np.errstate(invalid="ignore"):
        room = bounds.atol + bounds.rtol * np.abs(b) + bounds.ulp * spacing(b, kind)
        close = np.abs(a - b) <= room
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(same | (close & np.isfinite(a) & np.isfinite(b)))


def _wide(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return a.astype(np.float64)


def spacing(a: np.ndarray[Any, Any], dtype: AnyDType) -> np.ndarray[Any, Any]:
    """Return the distance to the next number of a type, around each number; 1 for integers."""
    if not dtype.is_float:
        return np.ones(np.shape(a))
    info = cast("Any", ml_dtypes).finfo(dtype.np)
    fraction = 10 if dtype is dt.tf32 else int(info.nmant)
    _, exponent = np.frexp(np.where(np.isfinite(a), a, 0.0))
    least = int(info.minexp)
    power = np.where(a == 0, least, np.maximum(exponent - 1, least)) - fraction
    return np.asarray(np.ldexp(1.0, power))


def _picture(
    found: np.ndarray[Any, Any],
    wanted: np.ndarray[Any, Any],
    wrong: np.ndarray[Any, Any],
    bounds: Bounds,
    kind: AnyDType,
) -> str:
    a, b = _wide(found), _wide(wanted)
    with np.errstate(invalid="ignore"):
        off = np.abs(a - b)
    badness = np.where(wrong, np.where(np.isnan(off), np.inf, off), -1.0)
    order = np.argsort(-badness, axis=None, kind="stable")
    count = int(wrong.sum())
    lines = [
        f"{count} of {wrong.size} elements differ ({count / wrong.size:.1%})",
        f"  worst: {_element(found, wanted, int(order[0]), kind)}",
    ]
    rest = [int(i) for i in order[1 : min(SHOWN + 1, count)]]
    lines += [f"  then: {_element(found, wanted, i, kind)}" for i in rest]
    return "\n".join([*lines, f"  bound: {bounds}, for {kind.name}"])


def _element(
    found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], at: int, kind: AnyDType
) -> str:
    index = tuple(int(i) for i in np.unravel_index(at, found.shape))
    a, b = _wide(found.reshape(-1)[at : at + 1])[0], _wide(wanted.reshape(-1)[at : at + 1])[0]
    text = f"at {index}: got {found[index]!s}, expected {wanted[index]!s}"
    with np.errstate(invalid="ignore"):
        off = abs(a - b)
    if not np.isfinite(off):
        return text
    units = off / float(spacing(np.asarray(b), kind))
    return f"{text} (off by {off:.3g}, {units:.3g} ulp)" if kind.is_float else text
