"""Safe tile kernels in Python: tensors, ops and decorators of the host, `import tilewright as tw`.

What may be written in a kernel is in `tilewright.lang`.
"""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec

try:
    import tilewright._core as _core  # noqa: F401 # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as _error:
    raise ImportError(
        "the native core of tilewright, tilewright._core, is not built for this Python. In a "
        "checkout, build it:\n"
        f"    make inplace PYTHON={_sys.executable}\n"
        "It takes CMake, ninja and a C++ compiler, and says what is missing; "
        "`pip install tilewright` brings it along."
    ) from _error

from .base.dtypes import (
    DType,
    bf16,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from .base.dtypes import bool_ as bool_
from .base.errors import (
    BorrowError,
    CompileError,
    ContextError,
    DeviceError,
    DriverError,
    Error,
    InternalError,
    KernelCacheError,
    LaunchError,
    PaddingWarning,
    SchedulingError,
    ShapeError,
    UnwrittenWarning,
)
from .base.host import Host as _Host
from .base.shapes import FULL, OWNED, cdiv, next_power_of_2
from .base.tracebacks import public as _public
from .base.tracebacks import publish as _publish
from .devices.cuda.device import peer_access
from .devices.protocol import LaunchConfig
from .devices.registry import device_count
from .graph import CudaGraph, Scope
from .graph import capture as _capture
from .op import (
    DeviceFuture,
    DeviceOp,
    ExecutionContext,
    SharedOp,
    Trace,
    as_op,
    shared,
    spawn,
    trace,
    value,
    with_context,
)
from .op.ambient import (
    default_device,
    default_policy,
    device,
    devices,
    set_default_device,
    set_default_policy,
    synchronize,
    unsafe,
    with_default_device_policy,
)
from .op.gate import Sharing as _Sharing
from .op.pledging import Pledging as _Pledging
from .op.policy import SchedulingPolicy, SingleStream, SpreadDevices, StreamPoolRoundRobin
from .op.recipes import run_part as _run_part
from .op.zipping import zip as zip  # noqa: A004 - the word for it, as `tw.zip`; not in __all__
from .tensors import (
    Arc,
    BorrowMut,
    DevicePointer,
    MappedPartition,
    Partition,
    Tensor,
    asarray,
    empty,
    empty_like,
    from_numpy,
    memcpy,
    meta,
    move,
    zeros,
    zeros_like,
)
from .tensors.pledges import lent_among as _lent_among
from .tensors.pledges import pledged as _pledged
from .tensors.resident import Resident as _Resident
from .tensors.sharing import another_owner as _another_owner
from .tensors.sharing import share as _share

if _typing.TYPE_CHECKING:
    from . import distributed, jit_cache, ops, simt, tune
    from .compile.options import CompileOptions
    from .devices.mesh import Mesh
    from .distributed.sharding import ShardedTensor, replicate, shard
    from .frontend.capture.parameters import dim
    from .frontend.capture.sources import execute as _execute
    from .functions.function import function
    from .kernels import (
        arange,
        convert,
        eye,
        eye_rect,
        fill,
        full,
        full_like,
        linspace,
        ones,
        ones_like,
        rand,
        randint,
        randn,
        randn_f16,
        random_bits,
    )
    from .launch import Entry, KernelArg, Launch, entry
    from .launch.debugging import debug
    from .launch.handles import Device, Function, Module, Stream
    from .launch.raw import (
        AsyncKernelLaunch,
        load_module_from_bytes,
        load_module_from_file,
        load_module_from_ptx,
    )
    from .testing import bench
    from .tune import Config, autotune, search

    kernel = entry
    exec = _execute  # noqa: A001 - the word for it, as `tw.exec`; not in __all__, nor is bool_

_MORE = ("bool_", "exec", "lang", "testing", "zip", "__doc__", "__file__", "__name__", "__path__")
"""What else `dir` lists: what users use, and not the folders of the package."""

_LATER = {
    "distributed": ".distributed",
    "exec": ".frontend.capture.sources:execute",
    "jit_cache": ".jit_cache",
    "kernel": ".launch:entry",
    "lang": ".lang",
    "ops": ".ops",
    "simt": ".simt",
    "testing": ".testing",
    "tune": ".tune",
} | {
    name: f"{module}:{name}"
    for module, names in {
        ".compile.options": ("CompileOptions",),
        ".devices.mesh": ("Mesh",),
        ".distributed.sharding": ("ShardedTensor", "replicate", "shard"),
        ".frontend.capture.parameters": ("dim",),
        ".functions.function": ("function",),
        ".kernels": (
            "arange",
            "convert",
            "eye",
            "eye_rect",
            "fill",
            "full",
            "full_like",
            "linspace",
            "ones",
            "ones_like",
            "rand",
            "randint",
            "randn",
            "randn_f16",
            "random_bits",
        ),
        ".launch": ("Entry", "KernelArg", "Launch", "entry"),
        ".launch.debugging": ("debug",),
        ".launch.handles": ("Device", "Function", "Module", "Stream"),
        ".launch.raw": (
            "AsyncKernelLaunch",
            "load_module_from_bytes",
            "load_module_from_file",
            "load_module_from_ptx",
        ),
        ".testing": ("bench",),
        ".tune": ("Config", "autotune", "search"),
    }.items()
    for name in names
}
"""Names that are loaded when first asked for, and where they are: a module, or something in one."""

# A global is a word of kernels, but its memory is the host's: here they are put together.
_Host.memory = _Resident
# Ops know nothing of tensors: how these are shared and borrowed is the array's matter.
_Sharing.keep, _Sharing.hand_out = _share, _another_owner
_Pledging.begin, _Pledging.lent = _pledged, _lent_among
ExecutionContext.runner = staticmethod(_run_part)
# Nor do they know of graphs, which are made of them.
DeviceOp.capture = staticmethod(_capture)

__all__ = [
    "FULL",
    "OWNED",
    "Arc",
    "AsyncKernelLaunch",
    "BorrowError",
    "BorrowMut",
    "CompileError",
    "CompileOptions",
    "Config",
    "ContextError",
    "CudaGraph",
    "DType",
    "Device",
    "DeviceError",
    "DeviceFuture",
    "DeviceOp",
    "DevicePointer",
    "DriverError",
    "Entry",
    "Error",
    "ExecutionContext",
    "Function",
    "InternalError",
    "KernelArg",
    "KernelCacheError",
    "Launch",
    "LaunchConfig",
    "LaunchError",
    "MappedPartition",
    "Mesh",
    "Module",
    "PaddingWarning",
    "Partition",
    "SchedulingError",
    "SchedulingPolicy",
    "Scope",
    "ShapeError",
    "ShardedTensor",
    "SharedOp",
    "SingleStream",
    "SpreadDevices",
    "Stream",
    "StreamPoolRoundRobin",
    "Tensor",
    "Trace",
    "UnwrittenWarning",
    "arange",
    "as_op",
    "asarray",
    "autotune",
    "bench",
    "bf16",
    "cdiv",
    "convert",
    "debug",
    "default_device",
    "default_policy",
    "device",
    "device_count",
    "devices",
    "dim",
    "distributed",
    "empty",
    "empty_like",
    "entry",
    "eye",
    "eye_rect",
    "f4e2m1fn",
    "f4e2m1fnx2",
    "f8e4m3fn",
    "f8e5m2",
    "f8e8m0fnu",
    "f16",
    "f32",
    "f64",
    "fill",
    "from_numpy",
    "full",
    "full_like",
    "function",
    "i8",
    "i16",
    "i32",
    "i64",
    "jit_cache",
    "kernel",
    "linspace",
    "load_module_from_bytes",
    "load_module_from_file",
    "load_module_from_ptx",
    "memcpy",
    "meta",
    "move",
    "next_power_of_2",
    "ones",
    "ones_like",
    "ops",
    "peer_access",
    "rand",
    "randint",
    "randn",
    "randn_f16",
    "random_bits",
    "replicate",
    "search",
    "set_default_device",
    "set_default_policy",
    "shard",
    "shared",
    "simt",
    "spawn",
    "synchronize",
    "tf32",
    "trace",
    "tune",
    "u8",
    "u16",
    "u32",
    "u64",
    "unsafe",
    "value",
    "with_context",
    "with_default_device_policy",
    "zeros",
    "zeros_like",
]

_publish([*__all__, "zip"], globals())


def load_ipython_extension(shell: object) -> None:
    """Have notebooks show results of launches by their properties: `%load_ext tilewright`."""
    from .notebook import load

    load(shell)


if "IPython" in _sys.modules:
    from .notebook import load_if_there as _load_if_there

    _load_if_there()

if not _typing.TYPE_CHECKING:  # which know the names from above

    def __getattr__(name: str) -> object:
        """Load what a name of `_LATER` stands for, and keep it."""
        if name not in _LATER:
            raise AttributeError(_no_such(name), name=name)
        module, _, attribute = _LATER[name].partition(":")
        loaded = _import_module(module, __name__)
        for _, _, other in (target.partition(f"{module}:") for target in _LATER.values()):
            if other:  # a function may give objects of a class beside it
                _public(getattr(loaded, other))
        found = _public(getattr(loaded, attribute)) if attribute else loaded
        globals()[name] = found
        return found

    def _no_such(name: str) -> str:
        said = f"module {__name__!r} has no attribute {name!r}"
        if name.startswith("_") or _find_spec(f"{__name__}.{name}"):
            return said  # tools ask for the former, and imports for modules that they then load
        from .name_hints import hint

        found = hint(name, dir(_sys.modules[__name__]))
        return f"{said}; {found}" if found else said

    def __dir__() -> list[str]:
        return sorted([*__all__, *_MORE])
