"""Triton kernels as ops: compiled by Triton for our devices, launched with our tensors.

with tw.unsafe():
    add = triton_kernel(add_kernel, reads=("x_ptr", "y_ptr"), writes=("out_ptr",), grid=...)
add(x, y, z.borrow_mut(), n, BLOCK=1024).sync()
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from ..base.dtypes import AnyDType, f32, i32, i64
from ..base.errors import LaunchError
from ..base.shapes import Shape, size
from ..base.tracebacks import publish
from ..devices.cuda.device import CudaDevice
from ..devices.protocol import Function, LaunchConfig
from ..frontend.capture.parameters import Parameter
from ..launch.foreign import Declaration, ForeignEntry, refuse_unknown_strided
from ..launch.foreign_calls import Call, Given, MemoryGiven, NumberGiven, Ready, Typed, Word
from .functions import Grid, grid_of
from .signature import EMPTY, entry_point, gpu_of, number_type, parameters_of

triton: Any = import_module("triton")
"""Any: type checkers need not have it installed."""
_compiler: Any = import_module("triton.compiler")
_backends: Any = import_module("triton.backends.compiler")

WARP = 32
ALIGNED = 16
"""What Triton looks at addresses and integers for: being a multiple of this."""
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
"""Keywords of a launch that are Triton's own."""
SAME = {f"{kind}{bits}": f"{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)}
NAMES: Mapping[str, str] = {
    **SAME, "bool": "i1", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64",
    "f8e4m3fn": "fp8e4nv", "f8e5m2": "fp8e5",
}  # fmt: skip
"""Triton's names of element types."""
DIVISIBLE = [["tt.divisibility", ALIGNED]]


class Specialized(NamedTuple):
    """What a compilation depends on, besides the device."""

    types: tuple[tuple[str, str], ...]
    """Triton's type of each parameter; "constexpr" where it is a constant."""
    constants: tuple[tuple[str, Any], ...]
    divisible: tuple[str, ...]
    """The parameters that are multiples of 16."""
    options: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel that is loaded on a device."""

    function: Function
    metadata: Any
    words: int
    """How many arguments it takes before those Triton adds."""
    added: int
    """How many it adds: addresses of memory that it may need for itself."""


class TritonMaker:
    """Compiles a kernel as Triton would for such arguments, without Triton's own driver."""

    def __init__(self, kernel: Any, grid: Grid) -> None:
        self._kernel, self._grid = kernel, grid
        self._parameters: dict[str, Any] = {p.name: p for p in kernel.params}
        self._loaded: dict[tuple[CudaDevice, Specialized], Compiled] = {}

    def number_type(self, value: Any) -> AnyDType:
        """Return the type Triton gives a number: ints have 32 bits if they fit, floats 32."""
        return number_type(value, f32, ((i32, -(1 << 31), 1 << 31), (i64, -(1 << 63), 1 << 63)))

    def traits(self, numbers: Sequence[Typed]) -> Hashable:
        """Return the types of the numbers, and Triton's specialization of integers."""
        return tuple([(dtype, *_special(dtype, value)) for dtype, value in numbers])

    @property
    def asks_numbers(self) -> bool:
        """The code depends on what numbers are."""
        return True

    def is_loaded(self, call: Call) -> bool:
        """Return whether it was compiled for such arguments."""
        device = gpu_of(call.kernel, call.device, "Triton")
        return (device, self._specialized(call)) in self._loaded

    @property
    def counts(self) -> bool:
        """Whether the grid may differ with the numbers of a launch."""
        return callable(self._grid)

    def grid(self, call: Call) -> Shape:
        """Return the number of blocks along x, y and z."""
        return (*(call.asked.grid or grid_of(call, self._grid, ())), 1, 1)[:3]

    def ready(self, call: Call, grid: Shape) -> Ready:
        """Return the launch, with the remaining arguments and the scratch memory of Triton."""
        device = gpu_of(call.kernel, call.device, "Triton")
        asked = self._specialized(call)
        compiled = self._loaded.get((device, asked))
        if compiled is None:
            compiled = self._loaded[device, asked] = self._compile(call.kernel, device, asked)
        types = dict(asked.types)
        words: list[Word] = [g.word for n, g in call.given.items() if types[n] != "constexpr"]
        metadata = compiled.metadata
        config = LaunchConfig(grid, (WARP * metadata.num_warps, 1, 1), metadata.shared)
        scratch = size(grid) * metadata.global_scratch_size
        memory = device.allocate(scratch, zeroed=False) if scratch else None
        added = [0 if memory is None else memory.address, 0, 0][: compiled.added]
        return Ready(compiled.function, config, [*words, *added], memory)

    def _specialized(self, call: Call) -> Specialized:
        """Return what Triton compiles for: types, constants, and multiples of 16."""
        types: dict[str, str] = {}
        constants: dict[str, Any] = {}
        divisible: list[str] = []
        options = {k: v for k, v in call.constants.items() if k in OPTIONS and v is not None}
        for name, parameter in self._parameters.items():
            given = call.given.get(name)
            if given is None:
                types[name], constants[name] = "constexpr", call.constants[name]
            elif _is_one(given) and not parameter.do_not_specialize:
                types[name], constants[name] = "constexpr", 1
            else:
                types[name] = _type_of(call.kernel, name, given)
                if _is_divisible(given) and _may_be_aligned(parameter):
                    divisible.append(name)
        return Specialized(
            tuple(types.items()), tuple(constants.items()), tuple(divisible), tuple(options.items())
        )

    def _compile(self, kernel: str, device: CudaDevice, asked: Specialized) -> Compiled:
        names = list(self._parameters)
        source = _compiler.ASTSource(
            self._kernel,
            dict(asked.types),
            {(names.index(name),): value for name, value in asked.constants},
            {(names.index(name),): DIVISIBLE for name in asked.divisible},
        )
        target = _backends.GPUTarget("cuda", int(device.target.removeprefix("sm_")), WARP)
        made = triton.compile(source, target=target, options=dict(asked.options))
        _refuse_special(kernel, made.metadata)
        name, count = entry_point(made.asm["ptx"])
        words = sum(kind != "constexpr" for _, kind in asked.types)
        function = device.load_module(made.asm["cubin"], trusted=True).load_function(name)
        return Compiled(function, made.metadata, words, count - words)


def kernel(
    function: Any,
    *,
    grid: Grid,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    strided: Sequence[str] = (),
) -> ForeignEntry:
    """Wrap a `@triton.jit` kernel as an op; inside `tw.unsafe()`.

    `writes` and `reads` name its pointers; the rest are numbers. It is called with tensors and
    numbers in its order; its constexprs, `num_warps` and the like go by keyword. `grid` is a
    shape, or a function of all of these by name. Tensors named in `strided` may have gaps.
    """
    if not hasattr(function, "params") or not hasattr(function, "arg_names"):
        raise TypeError(
            f"a kernel made by @triton.jit is needed, got {type(function).__name__};"
            " of one that is autotuned or has heuristics, pass `kernel.fn` and a configuration"
        )
    name = function.__name__
    taken = [p.name for p in function.params if not p.is_constexpr]
    constants = tuple(
        Parameter(p.name, "const", default=p.default if p.has_default else EMPTY)
        for p in function.params
        if p.is_constexpr
    )
    options = tuple(Parameter(option, "const", default=None) for option in OPTIONS)
    parameters = parameters_of(name, taken, reads, writes)
    refuse_unknown_strided(name, parameters, strided)
    declaration = Declaration(name, parameters, (*constants, *options), frozenset(strided))
    return ForeignEntry(declaration, TritonMaker(function, grid))


def _type_of(kernel: str, name: str, given: Given) -> str:
    dtype = given.layout.dtype if isinstance(given, MemoryGiven) else given.dtype
    known = NAMES.get(dtype.name)
    if known is None:
        raise LaunchError(
            f"`{name}` of `{kernel}` has an element type that Triton does not have",
            expected=f"one of {', '.join(NAMES)}",
            got=dtype.name,
        )
    if isinstance(given, MemoryGiven):
        return f"*{known}"
    return "u1" if dtype.is_bool else known


def _is_one(given: Given) -> bool:
    return isinstance(given, NumberGiven) and _special(given.dtype, given.value)[0]


def _is_divisible(given: Given) -> bool:
    if isinstance(given, MemoryGiven):
        return given.aligned
    return _special(given.dtype, given.value)[1]


def _special(dtype: AnyDType, value: Any) -> tuple[bool, bool]:
    """Return whether a number is the integer 1, and whether it is a multiple of 16."""
    return (value == 1, value % ALIGNED == 0) if _is_int(dtype) else (False, False)


def _is_int(dtype: AnyDType) -> bool:
    return not (dtype.is_bool or dtype.is_float)


def _may_be_aligned(parameter: Any) -> bool:
    return not (parameter.do_not_specialize or parameter.do_not_specialize_on_alignment)


def _refuse_special(kernel: str, metadata: Any) -> None:
    """Raise for what a plain launch cannot give: clusters of blocks, blocks that wait for all."""
    wrong = [
        what
        for what, asked in (
            ("clusters of blocks (num_ctas > 1)", metadata.num_ctas != 1),
            ("a cooperative grid", metadata.launch_cooperative_grid),
        )
        if asked
    ]
    if wrong:
        raise LaunchError(
            f"the Triton kernel `{kernel}` cannot be launched by Tilewright",
            expected="a kernel of independent blocks",
            got=f"one that needs {' and '.join(wrong)}",
        )


publish(["kernel"], globals())
