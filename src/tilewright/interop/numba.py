"""numba-cuda kernels as ops: compiled by Numba to PTX, launched with our tensors.

with tw.unsafe():
    scale = kernel(scale_kernel, reads=("x",), writes=("out",), block=256)
scale(x, z.borrow_mut(), 2.0).sync()
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from ..base.dtypes import AnyDType, f64, i64
from ..base.errors import LaunchError
from ..base.shapes import Shape, size
from ..base.tracebacks import publish
from ..devices.cuda.device import CudaDevice
from ..devices.protocol import Function, LaunchConfig
from ..launch.foreign import Declaration, ForeignEntry
from ..launch.foreign_calls import Call, Given, MemoryGiven, Ready, Typed, Word
from ..tensors.shape import ShapeLike, as_shape
from .functions import Grid, grid_of
from .signature import entry_point, gpu_of, number_type, parameters_of

numba: Any = import_module("numba")
"""Any: type checkers need not have it installed."""
_cuda: Any = import_module("numba.cuda")

OPTIONS = ("fastmath", "opt", "lineinfo")
"""What is passed on of the options that `@cuda.jit` was given."""
Types: TypeAlias = tuple[Any, ...]
"""Numba's types of the arguments."""


class NumbaMaker:
    """Compiles a kernel for the types of its arguments, as Numba names them."""

    def __init__(self, dispatcher: Any, grid: Grid | None, block: ShapeLike) -> None:
        self._function = dispatcher.py_func
        given = dispatcher.targetoptions
        self._options = {name: given[name] for name in OPTIONS if name in given}
        self._grid = grid
        self._block = as_shape(block, "the block", least=1)
        self._loaded: dict[tuple[CudaDevice, Types], Function] = {}

    def number_type(self, value: Any) -> AnyDType:
        """Return the type Numba gives a number: ints and floats have 64 bits."""
        return number_type(value, f64, ((i64, -(1 << 63), 1 << 63),))

    def traits(self, numbers: Sequence[Typed]) -> Hashable:
        """Return the types of the numbers."""
        return tuple([number.dtype for number in numbers])

    @property
    def asks_numbers(self) -> bool:
        """The code depends on what numbers are."""
        return True

    def is_loaded(self, call: Call) -> bool:
        """Return whether it was compiled for such arguments."""
        device = gpu_of(call.kernel, call.device, "Numba")
        return (device, _types(call)) in self._loaded

    @property
    def counts(self) -> bool:
        """Whether the grid may differ with the numbers of a launch."""
        return callable(self._grid)

    def grid(self, call: Call) -> Shape:
        """Return the number of blocks."""
        return call.asked.grid or grid_of(call, self._grid, call.asked.block or self._block)

    def ready(self, call: Call, grid: Shape) -> Ready:
        """Return the launch, with arrays as the words that Numba divides them into."""
        device, types = gpu_of(call.kernel, call.device, "Numba"), _types(call)
        function = self._loaded.get((device, types))
        if function is None:
            function = self._loaded[device, types] = self._compile(device, types)
        config = LaunchConfig(grid, call.asked.block or self._block, call.asked.shared_mem_bytes)
        return Ready(function, config, [w for g in call.given.values() for w in _words(g)])

    def _compile(self, device: CudaDevice, types: Types) -> Function:
        number = int(device.target.removeprefix("sm_"))
        ptx, _ = _cuda.compile(
            self._function, types, device=False, abi="numba", cc=divmod(number, 10), **self._options
        )
        text = ptx if isinstance(ptx, str) else ptx.decode()
        return device.load_module(text.encode()).load_function(entry_point(text).name)


def kernel(
    function: Any,
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    grid: Grid | None = None,
    block: ShapeLike = 256,
) -> ForeignEntry:
    """Wrap a `@numba.cuda.jit` kernel as an op; inside `tw.unsafe()`.

    `writes` and `reads` name its arrays; the rest are numbers. Arrays may have gaps. An input
    is a read-only array for Numba, which rejects kernels that write it. Without `grid` there
    is a thread for each element of what is written.
    """
    if not hasattr(function, "py_func") or not hasattr(function, "targetoptions"):
        raise TypeError(
            f"a kernel made by @numba.cuda.jit is needed, got {type(function).__name__}"
        )
    if function.targetoptions.get("device") or function.targetoptions.get("link"):
        raise TypeError(
            f"`{function.__name__}` is a device function, or linked with other files;"
            " only whole kernels can be made ops"
        )
    code = function.py_func.__code__
    names = code.co_varnames[: code.co_argcount]
    parameters = parameters_of(function.__name__, names, reads, writes)
    arrays = frozenset(p.name for p in parameters if p.kind != "scalar")
    declaration = Declaration(function.__name__, parameters, strided=arrays)
    return ForeignEntry(declaration, NumbaMaker(function, grid, block))


def _types(call: Call) -> Types:
    return tuple([_type_of(call.kernel, name, given) for name, given in call.given.items()])


def _type_of(kernel: str, name: str, given: Given) -> Any:
    if not isinstance(given, MemoryGiven):
        return _element(kernel, name, given.dtype)
    layout = given.layout
    order = "C" if layout.is_contiguous else "A"
    element = _element(kernel, name, layout.dtype)
    return numba.types.Array(element, len(layout.shape), order, readonly=not given.written)


def _element(kernel: str, name: str, dtype: AnyDType) -> Any:
    if dtype.np.isbuiltin != 1:
        raise LaunchError(
            f"`{name}` of `{kernel}` has an element type that Numba does not have",
            expected="bool, or integers and floats of NumPy",
            got=dtype.name,
        )
    return numba.from_dtype(dtype.np)


def _words(given: Given) -> list[Word]:
    """Return a number; or an array: no owner, no parent, its size, its address, extents and
    strides.
    """
    if not isinstance(given, MemoryGiven):
        return [given.word]
    layout = given.layout
    item = layout.dtype.itemsize
    steps = [step * item for step in layout.strides]
    return [0, 0, size(layout.shape), item, given.word, *layout.shape, *steps]


publish(["kernel"], globals())
