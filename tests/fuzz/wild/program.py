"""A random kernel as data: its text, and what it is launched with. Plain enough for JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tilewright.base import dtypes
from tilewright.base.dtypes import AnyDType

Array = np.ndarray[Any, Any]
DTYPES: dict[str, AnyDType] = {t.__name__: t for t in dtypes.ALL}
LAYOUTS = ("dense", "turned", "gaps", "backwards", "offset")
SMALL = 8
"""Floats are whole numbers up to this, so that sums and products of them are exact."""


@dataclass(frozen=True)
class Input:
    """An array that a kernel reads: its numbers follow from a seed, its layout is named."""

    dtype: str
    shape: tuple[int, ...]
    layout: str
    seed: int

    def array(self) -> Array:
        """The array."""
        rng = np.random.default_rng(self.seed)
        values = numbers(rng, DTYPES[self.dtype], self.shape)
        if self.layout == "dense":
            return values
        if self.layout == "turned":
            return np.asfortranarray(values)
        if self.layout == "backwards":
            return np.ascontiguousarray(values[::-1])[::-1]
        more = [n + 1 + k % 3 for k, n in enumerate(self.shape)]
        whole = np.zeros(more, values.dtype)
        first = 1 if self.layout == "offset" else 0
        part = tuple(slice(first, first + n) for n in self.shape)
        whole[part] = values
        return whole[part]


def numbers(rng: np.random.Generator, dtype: AnyDType, shape: tuple[int, ...]) -> Array:
    if dtype.is_bool:
        return rng.random(shape) < 0.5
    if dtype.is_float:
        return rng.integers(-SMALL, SMALL + 1, shape).astype(dtype.np)
    low, high = dtypes.int_range(dtype)
    anything = rng.integers(low, high, shape, dtype=dtype.np, endpoint=True)
    small = rng.integers(max(low, -9), 10, shape).astype(dtype.np)
    edges = rng.choice(np.array([low, high, 0, 1, dtype.bits - 1, dtype.bits], dtype.np), shape)
    return np.choose(rng.integers(0, 3, shape), [anything, small, edges])


@dataclass(frozen=True)
class Wild:
    """A kernel `k(outputs, inputs, n)` and its launch."""

    seed: int
    source: str
    tile: tuple[int, ...]
    extents: tuple[int, ...]
    outputs: tuple[str, ...]
    inputs: tuple[Input, ...]
    n: int
    mapped: tuple[int, ...] | None = None
    """The map shape, where blocks visit several tiles."""

    def with_source(self, source: str) -> Wild:
        """The same launch of another kernel."""
        return replace(self, source=source)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    def shown(self) -> str:
        """For a reader: the kernel, and what it is launched with."""
        launch = f"tile {self.tile}, extents {self.extents}, n = {self.n}, map {self.mapped}"
        lines = [f"seed {self.seed}, {launch}, outputs {', '.join(self.outputs)}"]
        lines += map(str, self.inputs)
        return "\n".join([*lines, "", self.source])

    @staticmethod
    def of(text: str) -> Wild:
        """From JSON."""
        given = json.loads(text)
        inputs = tuple(Input(i["dtype"], tuple(i["shape"]), i["layout"], i["seed"])
                       for i in given.pop("inputs"))  # fmt: skip
        mapped = given.pop("mapped")
        sides = {name: tuple(given.pop(name)) for name in ("tile", "extents", "outputs")}
        return Wild(
            **given, **sides, inputs=inputs, mapped=None if mapped is None else tuple(mapped)
        )
