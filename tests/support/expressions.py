"""Runs tile expressions written as text through the public interface, in outputs with margins.

`run(["a + b", "a * b"], device, {"a": x, "b": y}, i32, tile=(16,))` makes one kernel with two
outputs. Outputs are poisoned and lie inside larger arrays, so that an element that is not written
shows, and one that is written outside does too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import ml_dtypes
import numpy as np

import tilewright as tw
import tilewright.lang as tl
from support.numbers import wide
from tilewright.base import dtypes
from tilewright.base.dtypes import AnyDType

Array = np.ndarray[Any, np.dtype[Any]]

NAMES: dict[str, Any] = {t.__name__: t for t in dtypes.ALL} | {"tl": tl, "tw": tw}
POISON = 0xA5
MARGINS = (5, 16)
"""Elements around an output: its rows then begin where bulk copies cannot, or where they can."""

BOUNDARY = (0, 1, 15, 16, 17, 31)
"""Extents around a tile of 16: none, one, one less, the tile, one more, a prime."""


class Output:
    """A poisoned output of some shape inside a larger array, on the current device."""

    def __init__(self, shape: Sequence[int], dtype: AnyDType, *, margin: int | None = None) -> None:
        margin = random.choice(MARGINS) if margin is None else margin
        whole = [n + 2 * margin for n in shape]
        self._bytes = np.full((*whole, dtype.itemsize), POISON, np.uint8)
        self._inside = tuple(slice(margin, margin + n) for n in shape)
        self._dtype = dtype
        self.array = self._bytes.view(dtype.np).reshape(whole)[self._inside]
        """To be written before the output is first used."""

    @cached_property
    def _whole(self) -> Any:
        array = self._bytes.view(self._dtype.np)
        return held(array.reshape(array.shape[:-1]), self._dtype)

    @property
    def tensor(self) -> Any:
        """The output, to be read or pointed into."""
        return self._whole[self._inside] if self._inside else self._whole

    def cut(self, *tile: int) -> Any:
        """The partition a kernel writes through."""
        if not self._inside:
            return self._whole.partition_mut(tile)
        return self._whole.borrow_mut()[self._inside].partition(tile)

    def result(self) -> Array:
        """What was written; fails if anything around it was."""
        result = self._whole.to_numpy()
        around = result.reshape(*result.shape, 1).view(np.uint8)
        around[self._inside] = POISON
        assert (around == POISON).all(), "something outside of the tensor is written"
        return self._whole.to_numpy()[self._inside]


def held(array: Array, dtype: AnyDType | None = None) -> Any:
    """A tensor of the current device with the memory of an array, which it aliases if it can."""
    alias = tw.asarray(array, dtype)
    device = tw.default_device()
    return alias if alias.device is device else alias.to(device).sync()


def output(array: Any, dtype: AnyDType | None = None, *, margin: int | None = None) -> Output:
    """An output with the shape and, unless given, the type of an array."""
    return Output(np.shape(array), dtype or dtypes.as_dtype(array.dtype), margin=margin)


@cache
def kernel(
    expressions: tuple[str, ...], inputs: tuple[str, ...], load: str, lines: tuple[str, ...] = ()
) -> Any:
    """A kernel that loads each input by `load`, runs `lines`, and stores each expression."""
    outputs = ", ".join(f"z{k}: tl.TensorMut" for k in range(len(expressions)))
    sources = "".join(f", in_{name}: tl.Tensor" for name in inputs)
    body = [f"{name} = {load.format(f'in_{name}')}" for name in inputs]
    body += lines
    body += [f"z{k}.store({text})" for k, text in enumerate(expressions)]
    text = "\n    ".join([f"@tw.entry\ndef kernel({outputs}{sources}) -> None:", *body])
    return tw.exec(text + "\n", dict(NAMES))["kernel"]


def run(
    expressions: Sequence[str],
    device: str,
    inputs: Mapping[str, Any],
    results: Sequence[AnyDType] | AnyDType,
    *,
    tile: Sequence[int] | Sequence[Sequence[int]],
    shape: Sequence[int] | Sequence[Sequence[int]] | None = None,
    load: str = "tl.load_tile_like({}, z0)",
    lines: Sequence[str] = (),
) -> list[Array]:
    """The outputs of a kernel of expressions; the shape is that of the first input unless given.

    Element types, tiles and shapes are those of all outputs, or lists with one for each. An input
    is an array, or an array and the element type its memory has for the kernel.
    """
    made = kernel(tuple(expressions), tuple(inputs), load, tuple(lines))
    count = len(expressions)
    whole = _given(next(iter(inputs.values()))).shape if shape is None else shape
    dtype_of = [results] * count if isinstance(results, type) else list(results)
    with tw.device(device):
        outputs = [Output(s, d) for s, d in zip(_each(whole, count), dtype_of, strict=True)]
        cuts = [z.cut(*t) for z, t in zip(outputs, _each(tile, count), strict=True)]
        made(*cuts, *map(_given, inputs.values())).sync()
    return [z.result() for z in outputs]


def _given(x: Any) -> Any:
    return held(*x) if isinstance(x, tuple) else x


def _each(given: Any, count: int) -> list[Any]:
    """One shape for all, or a list of them."""
    return given if isinstance(given, list) else [given] * count


def assert_all(
    texts: Sequence[str],
    got: Sequence[Array],
    expected: Sequence[Any],
    *inputs: Array,
    ulps: Mapping[str, int] | None = None,
) -> None:
    """All results have the expected type and bits; NaNs of any bits are alike.

    Texts in `ulps` may be so far off, and subnormal results of theirs may be zero.
    """
    for text, a, b in zip(texts, got, expected, strict=True):
        assert a.dtype == b.dtype, f"{text}: {a.dtype}, expected {b.dtype}"
        assert a.shape == b.shape, f"{text}: {a.shape}, expected {b.shape}"
        most = (ulps or {}).get(text)
        wrong = ~(alike(a, b) if most is None else alike(a, b) | near(a, b, most))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            given = [x[at] for x in inputs if x.shape == a.shape]
            shown = f" of {given}" if given else ""
            raise AssertionError(f"{text} at {at}{shown}: {a[at]}, expected {b[at]}")


def near(a: Array, b: Array, most: int) -> Array:
    """Where floats differ by at most so many ulp, or a subnormal number was flushed."""
    x, y = wide(a), wide(b)
    limits = ml_dtypes.finfo(b.dtype)
    with np.errstate(invalid="ignore"):  # inf - inf
        distance = np.abs(x - y)
    ulp = np.maximum(2.0 ** np.floor(np.log2(np.abs(y) + (y == 0))), float(limits.tiny))
    flushed = (x == 0) & (np.abs(y) <= float(limits.tiny))
    return np.asarray((distance <= most * ulp * float(limits.eps)) | flushed)


def alike(a: Array, b: Array) -> Array:
    """Where two arrays of one type agree, signs of zero included."""
    if a.dtype.kind in "iub":
        return np.asarray(a == b)
    x, y = wide(a), wide(b)
    return np.asarray((np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y))))


def once(table: Mapping[str, Any]) -> dict[str, Any]:
    """Each function of a table under one of its texts."""
    texts = {function: text for text, function in reversed(table.items())}
    return {text: function for text, function in table.items() if texts[function] == text}


def wrapped(values: Any, dtype: AnyDType) -> Array:
    """Python integers, reduced to the range of an integer type."""
    low, high = dtypes.int_range(dtype)
    return np.array([(v - low) % (high - low + 1) + low for v in values], dtype.np)


def bits_of(a: Array) -> Array:
    """The same bits as unsigned integers."""
    return np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}")
