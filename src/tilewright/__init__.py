"""Safe tile kernels in Python: tensors, ops and decorators of the host, `import tilewright as tw`.

What may be written in a kernel is in `tilewright.lang`.
"""

from .array import (
    Arc,
    BorrowMut,
    DevicePointer,
    Partition,
    Tensor,
    asarray,
    empty,
    from_numpy,
    memcpy,
    meta,
    move,
    zeros,
)
from .array.resident import Resident as _Resident
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
)
from .compile.options import CompileOptions
from .driver.protocol import Device, Stream
from .frontend.sources import execute as _execute
from .kernels import eye, eye_rect, fill, full, ones
from .lang.device_global import Global as _Global
from .launch import Entry, KernelArg, Launch, entry
from .op import DeviceOp, ExecutionContext, value
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
from .op.policy import SchedulingPolicy, SingleStream, StreamPoolRoundRobin

# A global is a word of kernels, but its memory is the host's: here they are put together.
_Global.host = _Resident

kernel = entry
exec = _execute  # noqa: A001 - the word for it, as `tw.exec`; not in __all__, nor is bool_

__all__ = [
    "Arc",
    "BorrowError",
    "BorrowMut",
    "CompileError",
    "CompileOptions",
    "ContextError",
    "DType",
    "Device",
    "DeviceError",
    "DeviceOp",
    "DevicePointer",
    "DriverError",
    "Entry",
    "Error",
    "ExecutionContext",
    "InternalError",
    "KernelArg",
    "KernelCacheError",
    "Launch",
    "LaunchError",
    "PaddingWarning",
    "Partition",
    "SchedulingError",
    "SchedulingPolicy",
    "ShapeError",
    "SingleStream",
    "Stream",
    "StreamPoolRoundRobin",
    "Tensor",
    "asarray",
    "bf16",
    "default_device",
    "default_policy",
    "device",
    "devices",
    "empty",
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
    "i8",
    "i16",
    "i32",
    "i64",
    "kernel",
    "memcpy",
    "meta",
    "move",
    "ones",
    "set_default_device",
    "set_default_policy",
    "synchronize",
    "tf32",
    "u8",
    "u16",
    "u32",
    "u64",
    "unsafe",
    "value",
    "with_default_device_policy",
    "zeros",
]
