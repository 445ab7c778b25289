"""Says in a user's words what a value of the kernel is; errors speak of values so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..base.dtypes import DType, DTypeMeta
from ..ir.core import Value
from ..ir.types import PtrType, TileType
from ..lang.device_global import Global
from .values import (
    AccumulatorRef,
    ElementRef,
    ElementsRef,
    MappedRef,
    OutputRef,
    OwnedIndex,
    PartitionRef,
    RunRef,
    RunsRef,
    SharedRef,
    SliceRef,
    TensorRef,
    TileRef,
    TilesRef,
)


def describe(x: Any) -> str:
    """Say in a user's words what a value of the kernel is."""
    return next((words for kinds, words in WORDS if isinstance(x, kinds)), _named)(x)


def article(noun: str) -> str:
    """A noun with its article, as it is said: an f32, an i32, a bf16."""
    said_with_vowel = noun[:1] in "aeio" or (noun[:1] == "f" and noun[1:2].isdigit())
    return f"{'an' if said_with_vowel else 'a'} {noun}"


def _named(x: Any) -> str:
    """By its own name, or by what it is: functions, classes, objects of the host."""
    label = getattr(x, "__name__", None)
    return f"`{label}`" if label else article(type(x).__name__)


def _value(x: Value) -> str:
    if not isinstance(x.type, TileType):
        return _named(x)
    elem, shape = x.type.elem, x.type.shape
    name = f"pointer to {elem.to.name}" if isinstance(elem, PtrType) else elem.name
    return f"{article(name)} tile of shape {shape}" if shape else f"a scalar {name}"


def _global(x: Global[Any]) -> str:
    name = x.memory.dtype.name
    return f"a global of shape {x.shape}, {name}" if x.shape else f"a global {name}"


def _all(values: Iterable[Any]) -> str:
    return ", ".join(map(describe, values))


WORDS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (Value, _value),
    (TensorRef, lambda x: f"tensor `{x.name}`"),
    (OutputRef, lambda x: f"output `{x.name}`"),
    (PartitionRef, lambda x: f"a partition of `{x.name}`"),
    (MappedRef, lambda x: f"mapped output `{x.name}`"),
    (AccumulatorRef, lambda x: f"accumulator `{x.name}`"),
    (OwnedIndex, lambda x: "an index of " + " and ".join(f"`{o.name}`" for o in x.origin.outputs)),
    (SliceRef, lambda x: f"slice `{x.name}`"),
    (SharedRef, lambda x: f"shared memory `{x.name}`"),
    (ElementsRef, lambda x: f"the elements of {describe(x.slice)}"),
    (RunsRef, lambda x: f"the runs of {describe(x.slice)}"),
    (RunRef, lambda x: f"a run of {describe(x.runs.slice)}"),
    (TilesRef, lambda x: f"the tiles of {describe(x.slice)}"),
    (TileRef, lambda x: f"a tile of {describe(x.tiles.slice)}"),
    (ElementRef, lambda x: f"an element of {describe(x.memory)}"),
    (Global, _global),
    (DTypeMeta, lambda x: "the class DType" if x is DType else f"the element type {x.name}"),
    ((bool, int, float, str, type(None)), repr),
    (tuple, lambda x: f"({_all(x)})"),
    (list, lambda x: f"[{_all(x)}]"),
)
"""What values of each kind are called; all others go by their names."""
