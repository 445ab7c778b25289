"""Calls of functions on arrays whose library need not know of them: NumPy's, ours, and others."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import addressof
from typing import TYPE_CHECKING, Any

import numpy as np

from ..devices.host import CPU
from ..devices.protocol import Stream
from ..devices.registry import gpus
from ..launch.recent import Recent
from ..op.ambient import default_device
from ..op.core import DeviceOp
from ..op.zipping import zip as zip_ops
from ..tensors.create import asarray, empty
from ..tensors.gpu_imports import LEGACY, memory_in_order
from ..tensors.layout import Layout
from ..tensors.region import Region, layout_of_array
from ..tensors.storage import IMPORTS, Storage
from ..tensors.tensor import Tensor, new_tensor
from .describing import element_type

if TYPE_CHECKING:
    from .function import Function

KINDS = 256
"""Kinds of calls that a function remembers."""

_char_at_start: Any = ctypes.c_char.from_buffer


class NumpyCalls:
    """Calls of one function on NumPy arrays: what follows from shapes and types is kept.

    Results are new memory, and inputs that nobody here knows need not be found by their addresses,
    nor be known to others while the call runs.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._numbers = [
            i for i in range(len(function.wrapped.inputs)) if i not in function.tensors
        ]
        if all(look.like is not None for look in function.looks):
            self._numbers = []  # what results look like does not depend on them
        self._known: Recent[tuple[Any, ...], _Alike] = Recent(KINDS)

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Run a call whose arrays are all NumPy's own class; it is over when this returns."""
        function = self._function
        kind: list[Any] = []
        for place in function.tensors:
            array = args[place]
            kind += (array.dtype, array.shape, array.strides)
        for place in self._numbers:
            kind += (type(args[place]), args[place])
        known = self._known.get(tuple(kind))
        if known is None:
            results = call_on_host(function, args)
            self._known.keep(tuple(kind), _Alike(function, args, results))
            return results
        return known.run(args)


class _Alike:
    """What calls have in common whose arrays have the same shapes, strides and types."""

    __slots__ = ("_function", "_launch", "_read", "_written")

    def __init__(self, function: Function, args: tuple[Any, ...], results: Any) -> None:
        self._function, self._launch = function, function.wrapped.launch_in_order
        made: Any = results if len(function.looks) > 1 else (results,)
        self._written: list[tuple[Any, Any, Layout, bool]] = [
            (array.shape, array.dtype, _layout_of(array), _is_buffer(array)) for array in made
        ]
        self._read = [
            (i, _layout_of(args[i]), args[i].itemsize - 1, _is_buffer(args[i]))
            for i in function.tensors
        ]

    def run(self, args: tuple[Any, ...]) -> Any:
        """Run one of them."""
        device = default_device()
        if not device.host_visible:
            device = CPU
        given = list(args)
        spans: list[tuple[int, int]] = []
        for place, layout, odd, is_buffer in self._read:
            array: Any = args[place]
            if is_buffer and array.flags.writeable:
                address = addressof(_char_at_start(array))
            else:
                address = array.__array_interface__["data"][0]
            if address & odd:
                return call_on_host(self._function, args)
            start, end = address + layout.low, address + layout.high
            spans.append((start, end))
            storage = Storage(device, start, end - start, array, readonly=True)
            given[place] = new_tensor(Region(storage, layout, address))
        if IMPORTS.meet(spans):
            return call_on_host(self._function, args)
        made: list[Any] = []
        written: list[Any] = []
        for shape, dtype, layout, is_buffer in self._written:
            array = np.empty(shape, dtype)
            address = (
                addressof(_char_at_start(array))
                if is_buffer
                else array.__array_interface__["data"][0]
            )
            made.append(array)
            storage = Storage(device, address, array.nbytes, array)
            written.append(new_tensor(Region(storage, layout, address)))
        self._launch(written, given).sync()
        return made[0] if len(made) == 1 else tuple(made)


def _layout_of(array: np.ndarray[Any, Any]) -> Layout:
    return layout_of_array(array.dtype, array.shape, array.strides)[0]


def _is_buffer(array: np.ndarray[Any, Any]) -> bool:
    """Whether the address of arrays alike is found by the buffer protocol, in a third of the time,
    where they are writeable."""
    return array.dtype.isbuiltin == 1 and array.size > 0 and array.flags.c_contiguous


def call_on_host(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a call on arrays of the host, whatever is known of their memory."""
    made: list[Any] = []
    for look in function.looks:
        found = look(args)
        made.append(np.empty(tuple(found.shape), element_type(found.dtype).np))
    given = list(args)
    for place in function.tensors:
        given[place] = _as_tensor(function, place, given[place])
    function.wrapped.launch_in_order([asarray(array) for array in made], given).sync()
    return made[0] if len(made) == 1 else tuple(made)


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
    launch = function.wrapped.launch_in_order([see(array) for array in made], given)
    if stream is None:
        launch.sync()
    else:
        launch.start_on(stream)
    return made[0] if len(made) == 1 else tuple(made)


def _empty_beside(lead: Any, shape: Sequence[int], dtype: str) -> Any:
    """A new array of the library of another one, on its device."""
    if not hasattr(lead, "__array_namespace__"):
        raise TypeError(
            f"results cannot be made for {type(lead).__name__}: it has no __array_namespace__();"
            " pass tw.asarray(x), which gives tensors"
        )
    library: Any = lead.__array_namespace__()
    return library.empty(shape, dtype=getattr(library, dtype), device=lead.device)


def _stream_of(lead: Any) -> Stream | None:
    """The stream on which a library puts its work on a GPU; None: the host waits instead."""
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
