"""A kernel's arguments written as text, as in `z=f32[?,?%8]:tile(64,64)`.

    tensor    DTYPE[EXTENT,...]      EXTENT is a number, `?` for any, `?%8` for any multiple of 8
    output    the same, then :tile(8,8), and :map(4,1) if it is mapped; of a SIMT kernel no more
    view      the same, then :permute(1,0) and so on, any method that gives another tensor
    pointer   DTYPE*
    number    DTYPE; may be left out where the kernel says it
    constant  a Python literal or an element type, likewise the name of a generic

An extent is part of the code only where the kernel's annotations make it so. For other extents
only the fact counts that every launch is specialized on: whether rows are multiples of 16 bytes.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..base import dtypes
from ..base.dtypes import AnyDType, as_dtype
from ..frontend.capture.parameters import Parameter
from ..launch.definition import Entry
from ..tensors.create import meta
from .subcommand import UsageError

TENSOR = re.compile(r"(?P<dtype>\w+)\[(?P<extents>[^\]]*)\](?P<views>(?::\w+\([^()]*\))*)")
VIEW = re.compile(r":(\w+)\(([^()]*)\)")
EXTENT = re.compile(r"(\d+)|\?(?:%(\d+))?")
VIEWS = {
    "tile": "partition_mut", "map": "map", "permute": "permute", "transpose": "transpose",
}  # fmt: skip
"""What may follow a tensor, and the method it stands for."""
SHAPED = ("tile", "map")
"""Those that take a shape."""
ANY = 7
"""Stands for `?`: no power of two but 1 divides it, and it is small, so that strides are too."""
PLAIN_NUMBERS: Mapping[str, Any] = {"b": True, "f": 1.0}
"""Some number by the kind of its type; 1 for integers."""


def call_of(kernel: Entry, words: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments for `kernel.compile_for`, from `name=text` words."""
    given = dict(map(_split, words))
    args = tuple(_positional(kernel, p, given) for p in kernel.source.parameters)
    return args, {name: _constant(text) for name, text in given.items()}


def _split(word: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"an argument is written NAME=VALUE, not {word!r}")
    return name, text.strip()


def _positional(kernel: Entry, p: Parameter, given: dict[str, str]) -> Any:
    text = given.pop(p.name, None)
    if p.kind == "scalar":
        return _number(p, text)
    simt = kernel.source.dialect == "simt"
    if text is None and _is_known(p, simt=simt):
        text = suggestion(p, simt=simt)
    if text is None:
        shown = f"--arg '{p.name}={suggestion(p, simt=simt)}'"
        raise UsageError(f"`{p.name}` of `{kernel.__name__}` is missing: {shown}")
    if p.kind == "pointer":
        return _pointer(p, text)
    tensor = _tensor(p, text)
    return tensor.borrow_mut() if simt and p.kind == "output" else tensor


def is_enough(kernel: Entry) -> bool:
    """Return whether a kernel can be called without any word."""
    simt = kernel.source.dialect == "simt"
    known = [_is_known(p, simt=simt) for p in kernel.source.parameters]
    empty = inspect.Parameter.empty
    return all(known) and all(p.default is not empty for p in kernel.source.constants)


def _is_known(p: Parameter, *, simt: bool) -> bool:
    """Return whether the kernel declares the whole type: the length of a slice does not matter."""
    return p.kind == "scalar" or (_own_type(p) is not None and (simt or p.kind == "pointer"))


def _own_type(p: Parameter) -> str | None:
    return None if p.dtype is None or isinstance(p.dtype, str) else p.dtype.name


def suggestion(p: Parameter, *, simt: bool = False) -> str:
    """Return an example of an argument for a parameter."""
    dtype = _own_type(p) or "f32"
    if p.kind == "pointer":
        return f"{dtype}*"
    if simt:
        return f"{dtype}[?]"
    rank = 2 if p.dims is None else max(len(p.dims), 1)
    dims = [str(d) if isinstance(d, int) and p.kind == "tensor" else "?" for d in p.dims or ()]
    tile = f":tile({','.join(['64'] * rank)})" if p.kind == "output" else ""
    mapped = f":map({','.join(['1'] * rank)})" if p.mapped else ""
    return f"{dtype}[{','.join(dims or ['?'] * rank)}]{tile}{mapped}"


def _number(p: Parameter, text: str | None) -> Any:
    """Return a number of the parameter's type; the code does not depend on which."""
    own = _own_type(p)
    if text is not None and own is not None and text != own:
        raise UsageError(f"`{p.name}` is a number of type {own}, not {text}")
    dtype = _dtype(text or own or "i32")
    return PLAIN_NUMBERS.get(dtype.kind, 1)


def _pointer(p: Parameter, text: str) -> Any:
    if not text.endswith("*"):
        raise UsageError(f"`{p.name}` is a pointer, written such as f32*, not {text!r}")
    return meta((1,), _dtype(text[:-1].strip())).device_pointer()


def _tensor(p: Parameter, text: str) -> Any:
    found = TENSOR.fullmatch(text.replace(" ", ""))
    if found is None:
        raise UsageError(f"`{p.name}` is written such as {suggestion(p)}, not {text!r}")
    value: Any = meta(tuple(_extents(p, found["extents"])), _dtype(found["dtype"]))
    for name, inner in VIEW.findall(found["views"]):
        if name not in VIEWS:
            raise UsageError(f"`{p.name}`: {name} is none of {', '.join(VIEWS)}")
        numbers = [_extent(p, word) for word in inner.split(",")]
        method = getattr(value, VIEWS[name])
        value = method(tuple(numbers)) if name in SHAPED else method(*numbers)
    return value


def _extents(p: Parameter, text: str) -> Iterator[int]:
    for word in text.split(",") if text else ():
        yield _extent(p, word)


def _extent(p: Parameter, word: str) -> int:
    found = EXTENT.fullmatch(word)
    if found is None or found[2] == "0":
        raise UsageError(f"`{p.name}`: {word!r} is no extent; write 128, ? or ?%8")
    return int(found[1]) if found[1] else ANY * int(found[2] or 1)


def _dtype(name: str) -> AnyDType:
    found = getattr(dtypes, {"bool": "bool_"}.get(name, name), None)
    if not (inspect.isclass(found) and issubclass(found, dtypes.DType)):
        raise UsageError(f"there is no element type {name!r}")
    return as_dtype(found)


def _constant(text: str) -> Any:
    """Return a constant or a generic: an element type, or a Python literal."""
    if inspect.isclass(getattr(dtypes, text, None)):
        return _dtype(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(f"{text!r} is neither an element type nor a Python literal") from None
