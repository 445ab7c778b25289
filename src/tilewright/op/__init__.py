"""DeviceOp: lazy work on a device, its combinators and its endings."""

from .context import ExecutionContext
from .core import DeviceOp, SharedOp, as_op, shared, value, with_context
from .endings import spawn
from .future import DeviceFuture
from .outcome import Outcome
from .trace import Trace, trace

__all__ = [
    "DeviceFuture",
    "DeviceOp",
    "ExecutionContext",
    "Outcome",
    "SharedOp",
    "Trace",
    "as_op",
    "shared",
    "spawn",
    "trace",
    "value",
    "with_context",
]
