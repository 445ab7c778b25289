"""The key of a choice: which calls of a tuned kernel share one configuration."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from ..base.dtypes import AnyDType, DTypeMeta, as_dtype
from ..devices.protocol import Device
from ..functions.wrapping import OfArrays
from ..tensors.tensor import BorrowMut, Tensor

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter

KeyRule: TypeAlias = Sequence[str] | OfArrays | None
"""Facts about arguments, such as `x.shape`, `x.shape[0]`, `x.dtype` and `n`; or a function of
arguments, by the names of the kernel's parameters."""
Read: TypeAlias = Callable[[Sequence[Any]], Any]
"""What one part of a key is, for the arguments of a call in the kernel's order."""

FACTS = ("shape", "dtype", "strides", "ndim")
"""What may be asked of an array."""
FACT = re.compile(rf"(?P<name>\w+)(?:\.(?P<fact>{'|'.join(FACTS)})(?:\[(?P<axis>-?\d+)\])?)?")


def reader(kernel: str, parameters: Sequence[Parameter], rule: KeyRule) -> Read:
    """Return what computes the key of a call; without a rule, all shapes and element types."""
    if rule is None:
        return _all_arrays
    names = [p.name for p in parameters]
    if callable(rule):
        return _by_function(kernel, names, rule)
    if isinstance(rule, str):
        raise TypeError(f"the key of `{kernel}` is a list of facts, got {rule!r}: write [{rule!r}]")
    parts = [_part(kernel, names, fact) for fact in rule]
    return lambda args: tuple([part(args) for part in parts])


def _all_arrays(args: Sequence[Any]) -> Any:
    found: list[object] = []
    for arg in args:
        if hasattr(arg, "dtype"):
            found.append((arg.shape, arg.dtype))
        elif _is_several(arg):
            found.append(_all_arrays(arg))
    return tuple(found)


def _part(kernel: str, names: Sequence[str], fact: object) -> Read:
    found = FACT.fullmatch(fact) if isinstance(fact, str) else None
    if found is None or found["name"] not in names:
        raise ValueError(
            f"{fact!r} cannot be in the key of `{kernel}`; facts are such as 'x.shape',"
            f" 'x.shape[0]', 'x.dtype' or 'n', about its parameters {', '.join(names)}"
        )
    place, name = names.index(found["name"]), found["fact"]
    if name is None:
        return lambda args: args[place]
    get = attrgetter(name)
    if found["axis"] is None:
        return lambda args: get(args[place])
    axis = int(found["axis"])
    return lambda args: get(args[place])[axis]


def _by_function(kernel: str, names: Sequence[str], rule: Callable[..., Any]) -> Read:
    asked = [p.name for p in inspect.signature(rule).parameters.values()]
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise TypeError(
            f"the key of `{kernel}` is a function of arguments by name: it has no parameter"
            f" `{unknown[0]}`, only {', '.join(names)}"
        )
    return partial(_called, rule, [names.index(name) for name in asked])


def _called(rule: Callable[..., Any], places: Sequence[int], args: Sequence[Any]) -> Any:
    return rule(*[args[place] for place in places])


def follows_from_layouts(parameters: Sequence[Parameter], rule: KeyRule) -> bool:
    """Return whether arguments with the same layouts have the same key, whatever they are."""
    if any(p.variadic or p.optional or p.kind == "tuple" for p in parameters) or callable(rule):
        return False
    names = [p.name for p in parameters if p.kind not in ("output", "tensor")]
    return rule is None or not any(str(fact).partition(".")[0] in names for fact in rule)


def layouts_of(args: Sequence[Any], places: Sequence[int]) -> tuple[object, ...] | None:
    """Return the layouts of tensors and their device, by identity; None: some are no tensors."""
    found: list[object] = []
    region = None
    for place in places:
        given = args[place]
        kind: Any = given.__class__
        if kind is Tensor:
            region = given.region
        elif kind is BorrowMut:
            region = given.tensor.region
        else:
            return None
        found.append(region.layout)
    if region is not None:
        found.append(region.storage.device)
    return tuple(found)


def home_of(args: Sequence[Any]) -> Any:
    """Return the device of the first tensor, as the arguments have it; None: there is none."""
    for arg in args:
        home = getattr(arg, "device", None)
        if home is not None:
            return home
    return None


def plain(kernel: str, value: Any) -> Any:
    """Return a key as JSON has it: equal keys of any process are equal there."""
    if isinstance(value, DTypeMeta):
        return f"dtype {value.name}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if _is_several(value):
        return [plain(kernel, part) for part in value]
    known = _element_type(value)
    if known is not None:
        return f"dtype {known.name}"
    raise TypeError(
        f"the key of `{kernel}` consists of numbers, texts, element types and tuples of them,"
        f" got {value!r:.60}"
    )


def _is_several(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, tuple | list)


def _element_type(value: Any) -> AnyDType | None:
    """Return the element type that another library calls by this value, if it is one."""
    # Types of NumPy that other packages add have classes of any name.
    named = type(value).__name__.lower().endswith("dtype")
    if not named and not issubclass(type(value), np.dtype):
        return None
    try:
        return as_dtype(str(value).removeprefix("torch."))
    except (TypeError, ValueError):
        return None


def described(device: Device) -> dict[str, Any]:
    """Return what identifies the kind of a device: others of its kind choose alike."""
    return {
        "model": device.model,
        "target": device.target.split()[0],
        "blocks": device.blocks_at_once,
    }
