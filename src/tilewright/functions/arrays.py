"""Calls of functions on arrays whose library need not know of them: NumPy's, ours, and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..devices.protocol import Stream
from ..devices.registry import gpus
from ..op.core import DeviceOp
from ..op.zipping import zip as zip_ops
from ..tensors.create import asarray, empty, zeros
from ..tensors.gpu_imports import LEGACY, memory_in_order
from ..tensors.tensor import Tensor, new_tensor
from .describing import element_type

if TYPE_CHECKING:
    from .function import Function


def call_on_host(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a call on arrays of the host; results are new NumPy arrays.

    The launch imports NumPy arrays itself, without a copy.
    """
    given: Sequence[Any] = args
    for place in function.tensors:
        if type(args[place]) is not np.ndarray:
            given = [*given[:place], _as_tensor(function, place, args[place]), *given[place + 1 :]]
    if function.written:
        function.wrapped.launch(_by_name(function, given)).sync()
        return as_written(function, args)
    made: list[Any] = []
    for look, sums in zip(function.looks, function.wrapped.sums, strict=True):
        found = look(args)
        make = np.zeros if sums else np.empty
        made.append(make(found.shape, _numpy_type(found.dtype)))
    function.wrapped.launch_in_order([asarray(array) for array in made], given).sync()
    return _as_results(made)


def _by_name(function: Function, args: Sequence[Any]) -> dict[str, Any]:
    names = [p.name for p in function.taken]
    return dict(zip(names, args, strict=True))


def as_written(function: Function, args: Sequence[Any]) -> Any:
    """Return the arrays that a call has written in place."""
    return _as_results([args[i] for i in function.written])


def _as_results(made: Sequence[Any]) -> Any:
    """Return the only result, or a tuple of several."""
    return made[0] if len(made) == 1 else tuple(made)


def _numpy_type(dtype: Any) -> Any:
    """Return NumPy's type of elements that a framework, or we, call `dtype`."""
    return dtype if type(dtype).__module__ == "numpy.dtypes" else element_type(dtype).np


def call_on_tensors(function: Function, args: tuple[Any, ...]) -> DeviceOp[Any]:
    """Build the op of a call on tensors, or on ops that give them."""
    if any(isinstance(arg, DeviceOp) for arg in args):
        joined: Any = zip_ops
        op: DeviceOp[Any] = joined(*args).then(function)
        return op
    if function.written:
        in_place: Any = function.wrapped.launch(_by_name(function, args))
        written: DeviceOp[Any] = in_place.out()
        return written
    device = next((args[i].device for i in function.tensors if isinstance(args[i], Tensor)), None)
    looks = [look(args) for look in function.looks]
    shapes = [tuple(look.shape) for look in looks]
    outputs = [
        (zeros if sums else empty)(shape, element_type(look.dtype), device=device)
        for shape, look, sums in zip(shapes, looks, function.wrapped.sums, strict=True)
    ]
    launch: Any = function.wrapped.launch_in_order(outputs, args, shapes)
    out: DeviceOp[Any] = launch.out()
    return out


def call_by_dlpack(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a call on arrays of a library with DLPack and the functions of Python's array standard.

    On a GPU it is put on the library's current stream, where that can be asked for.
    """
    lead = next(args[i] for i in function.tensors if hasattr(args[i], "__dlpack__"))
    stream = _stream_of(lead)
    made: list[Any] = []
    for look, sums in zip(function.looks, function.wrapped.sums, strict=False):
        found = look(args)
        name = element_type(found.dtype).np.name
        made.append(_made_beside(lead, "zeros" if sums else "empty", tuple(found.shape), name))
    see = asarray if stream is None else _in_order
    given = list(args)
    for place in function.tensors:
        given[place] = _as_tensor(function, place, given[place], see)
    settle = None if stream is None else stream.synchronize
    if function.written:
        launch = function.wrapped.launch(_by_name(function, given), settle)
        made = [args[i] for i in function.written]
    else:
        outputs = [see(array) for array in made]
        launch = function.wrapped.launch_in_order(outputs, given, settle=settle)
    if stream is None:
        launch.sync()
    else:
        launch.start_on(stream)
    return _as_results(made)


def _made_beside(lead: Any, how: str, shape: Sequence[int], dtype: str) -> Any:
    """Make an array of the same library and device as another one, `empty` or `zeros`."""
    if not hasattr(lead, "__array_namespace__"):
        raise TypeError(
            f"results cannot be made for {type(lead).__name__}: it has no __array_namespace__();"
            " pass tw.asarray(x), which gives tensors"
        )
    library: Any = lead.__array_namespace__()
    return getattr(library, how)(shape, dtype=getattr(library, dtype), device=lead.device)


def _stream_of(lead: Any) -> Stream | None:
    """Return the stream on which a library enqueues GPU work; None: the host waits instead."""
    _, ordinal = lead.__dlpack_device__()
    if type(lead).__module__.partition(".")[0] != "cupy":
        return None
    library: Any = lead.__array_namespace__()
    handle = int(library.cuda.get_current_stream().ptr) or LEGACY
    return gpus()[int(ordinal)].borrow_known(handle, None)


def _in_order(array: Any) -> Tensor[Any]:
    return new_tensor(memory_in_order(array))


def _as_tensor(function: Function, place: int, array: Any, see: Any = asarray) -> Tensor[Any]:
    try:
        found: Tensor[Any] = see(array)
    except (TypeError, BufferError) as error:
        name = function.taken[place].name
        raise TypeError(f"`{name}` of `{function.__name__}` cannot be used: {error}") from error
    return found
