"""Binds a call's arguments to a kernel's parameters: one argument at a time, changing nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..array.arc import Arc
from ..array.foreign import aliased, is_array
from ..array.region import Region, region_of_array
from ..array.tensor import BorrowMut, Tensor
from ..base.dtypes import AnyDType
from ..base.errors import BorrowError, ShapeError
from ..base.shapes import Shape
from ..driver.host import CPU
from ..frontend.parameters import Dim, Kind, Parameter
from ..frontend.sources import KernelSource
from ..op.core import is_op
from ..op.place import here, place_of
from .arguments import Arg, OutputArg, PointerArg, ScalarArg, TensorArg
from .grid import MAX_EXTENT
from .kinds import is_arc, is_partition, is_pointer, is_tensor, kind_of


def check_call(kernel: KernelSource, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raise TypeError where the number of arguments or a keyword is wrong, as Python would."""
    names = [p.name for p in kernel.parameters]
    if len(args) != len(names):
        noun = "argument" if len(names) == 1 else "arguments"
        raise TypeError(
            f"`{kernel.name}` takes {len(names)} positional {noun}"
            f" ({', '.join(names)}), {len(args)} given"
        )
    known = {p.name for p in kernel.constants}
    for name in keywords:
        if name in names:
            raise TypeError(f"`{name}` of `{kernel.name}` is given by position, not by keyword")
        if name not in known:
            listed = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise TypeError(f"`{kernel.name}` has no keyword `{name}`; {listed}")
    for p in kernel.constants:
        if p.default is inspect.Parameter.empty and p.name not in keywords:
            raise TypeError(f"`{kernel.name}` needs the constant `{p.name}`: pass {p.name}=...")


def bind(kernel: KernelSource, args: Sequence[Any], keywords: Mapping[str, Any]) -> list[Arg]:
    """Every argument that reaches the running kernel, in the order of the signature."""
    bound = [
        _BINDERS[p.kind](kernel.name, p, value)
        for p, value in zip(kernel.parameters, args, strict=True)
    ]
    for p in kernel.constants:
        if p.kind == "scalar":
            bound.append(_scalar(kernel.name, p, keywords.get(p.name, p.default)))
    return bound


def constants_of(kernel: KernelSource, keywords: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The compile-time constants of a call, defaults filled in."""
    return tuple(
        (p.name, keywords.get(p.name, p.default)) for p in kernel.constants if p.kind == "const"
    )


def _tensor(kernel: str, p: Parameter, value: Any) -> TensorArg:
    handle = _handle(value)
    region = _foreign(kernel, p, value) if handle is None else handle.region
    _check_element(kernel, p, region.dtype, value)
    _check_rank(kernel, p, region.shape)
    _check_extents(kernel, p, region.shape)
    return TensorArg(p, region, handle)


def _handle(value: Any) -> Tensor[Any] | None:
    if is_tensor(value):
        return value
    return value.value if is_arc(value) else None


def _foreign(kernel: str, p: Parameter, value: Any) -> Region:
    if is_partition(value):
        raise TypeError(
            f"`{p.name}` of `{kernel}` is read, but got a Partition;"
            " pass the tensor: p.unpartition()"
        )
    array = aliased(value)
    if array is None:
        _refuse_object(kernel, p, value, "a tensor or an array")
    try:
        return region_of_array(array, CPU)
    except TypeError:
        _wrong_dtype(kernel, p, "an element type that kernels have", str(array.dtype), value)


def _output(kernel: str, p: Parameter, value: Any) -> OutputArg:
    if not is_partition(value):
        _refuse_unpartitioned(kernel, p, value)
    region = value.tensor.region
    _check_element(kernel, p, region.dtype, value)
    _check_rank(kernel, p, region.shape)
    _check_extents(kernel, p, region.shape)
    return OutputArg(p, region, value)


def _refuse_unpartitioned(kernel: str, p: Parameter, value: Any) -> NoReturn:
    forms = f"pass {p.name}.partition_mut(tile_shape), or {p.name}.partition(tile_shape)"
    known: dict[type, tuple[str, str]] = {
        Tensor: ("a plain tensor (a shared borrow)", f"{forms} to give it away"),
        Arc: ("an Arc (a shared owner)", "pass arc.try_partition(tile_shape)"),
        BorrowMut: ("a whole tensor", f"{forms} to give it away"),
        np.ndarray: ("a NumPy array", "pass tw.asarray(a).partition_mut(tile_shape)"),
    }
    what, hint = known.get(kind_of(value), ("", ""))
    if not what:
        _refuse_object(kernel, p, value, f"a partition: {p.name}.partition_mut(tile_shape)")
    raise BorrowError(
        f"`{p.name}` of `{kernel}` is written, but got {what}",
        places=(("here", place_of(here())),),
        hint=hint,
    )


def _scalar(kernel: str, p: Parameter, value: Any) -> ScalarArg:
    # Range and kind are checked once the type is known: it may be linked to another parameter.
    return ScalarArg(p, value)


def _pointer(kernel: str, p: Parameter, value: Any) -> PointerArg:
    if not is_pointer(value):
        _refuse_object(kernel, p, value, "a raw pointer: t.device_pointer()")
    _check_element(kernel, p, value.dtype, value)
    return PointerArg(p, value)


_BINDERS: dict[Kind, Callable[[str, Parameter, Any], Arg]] = {
    "tensor": _tensor,
    "output": _output,
    "scalar": _scalar,
    "pointer": _pointer,
}


def _refuse_object(kernel: str, p: Parameter, value: Any, expected: str) -> NoReturn:
    kind = "an op" if is_op(value) else type(value).__name__
    raise TypeError(f"`{p.name}` of `{kernel}` must be {expected}, got {kind}")


def _check_element(kernel: str, p: Parameter, dtype: AnyDType, value: Any) -> None:
    wanted = p.dtype
    if wanted is not None and not isinstance(wanted, str) and wanted is not dtype:
        _wrong_dtype(kernel, p, wanted.name, dtype.name, value)


def _wrong_dtype(kernel: str, p: Parameter, expected: str, got: str, value: Any) -> NoReturn:
    convertible = is_array(value) and expected in ("f16", "f32", "f64", "i32", "i64")
    raise ShapeError(
        f"`{p.name}` of `{kernel}` has the wrong element type",
        expected=expected,
        got=got,
        hint=f"convert it: {p.name}.astype(tw.{expected}.np)" if convertible else None,
    )


def _check_rank(kernel: str, p: Parameter, shape: Shape) -> None:
    if p.dims is None:
        return
    packs = any(isinstance(d, tuple) for d in p.dims)
    least = len(p.dims) - packs
    if len(shape) == least or (packs and len(shape) >= least):
        return
    raise ShapeError(
        f"`{p.name}` of `{kernel}` has the wrong rank",
        expected=f"{'at least ' if packs else ''}{_axes(least)}: ({', '.join(map(_dim, p.dims))})",
        got=f"{_axes(len(shape))}: {shape}",
    )


def _check_extents(kernel: str, p: Parameter, shape: Shape) -> None:
    """Extents are i32 in kernels: a longer one would wrap without a word."""
    if shape and max(shape) > MAX_EXTENT:
        raise ShapeError(
            f"axis {shape.index(max(shape))} of `{p.name}` of `{kernel}` is too long",
            expected=f"at most {MAX_EXTENT} elements along each axis",
            got=str(shape),
            hint="give it one axis more: x.reshape(...)",
        )


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"


def _dim(dim: Dim) -> str:
    if dim is None:
        return "any"
    return f"*{dim[1]}" if isinstance(dim, tuple) else str(dim)
