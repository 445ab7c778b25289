"""Calls of functions on arrays whose library need not know of them: NumPy's, ours, and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..devices.protocol import Stream
from ..devices.registry import gpus
from ..op.core import DeviceOp
from ..op.zipping import zip as zip_ops
from ..tensors.create import asarray, empty
from ..tensors.gpu_imports import LEGACY, memory_in_order
from ..tensors.tensor import Tensor, new_tensor
from .describing import element_type

if TYPE_CHECKING:
    from .function import Function


def call_on_host(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a call on arrays of the host; results are new NumPy arrays.

    The launch imports NumPy arrays itself, without a copy.
    """
    made: list[Any] = []
    for look in function.looks:
        found = look(args)
        made.append(np.empty(found.shape, _numpy_type(found.dtype)))
    given: Sequence[Any] = args
    for place in function.tensors:
        if type(args[place]) is not np.ndarray:
            given = [*given[:place], _as_tensor(function, place, args[place]), *given[place + 1 :]]
    function.wrapped.launch_in_order([asarray(array) for array in made], given).sync()
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
    device = next((args[i].device for i in function.tensors if isinstance(args[i], Tensor)), None)
    looks = [look(args) for look in function.looks]
    shapes = [tuple(look.shape) for look in looks]
    outputs = [
        empty(shape, element_type(look.dtype), device=device)
        for shape, look in zip(shapes, looks, strict=True)
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
    for look in function.looks:
        found = look(args)
        made.append(_empty_beside(lead, tuple(found.shape), element_type(found.dtype).np.name))
    see = asarray if stream is None else _in_order
    given = list(args)
    for place in function.tensors:
        given[place] = _as_tensor(function, place, given[place], see)
    settle = None if stream is None else stream.synchronize
    outputs = [see(array) for array in made]
    launch = function.wrapped.launch_in_order(outputs, given, settle=settle)
    if stream is None:
        launch.sync()
    else:
        launch.start_on(stream)
    return made[0] if len(made) == 1 else tuple(made)


def _empty_beside(lead: Any, shape: Sequence[int], dtype: str) -> Any:
    """Allocate an array of the same library and device as another one."""
    if not hasattr(lead, "__array_namespace__"):
        raise TypeError(
            f"results cannot be made for {type(lead).__name__}: it has no __array_namespace__();"
            " pass tw.asarray(x), which gives tensors"
        )
    library: Any = lead.__array_namespace__()
    return library.empty(shape, dtype=getattr(library, dtype), device=lead.device)


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
        name = function.wrapped.inputs[place].name
        raise TypeError(f"`{name}` of `{function.__name__}` cannot be used: {error}") from error
    return found
