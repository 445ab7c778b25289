"""DeviceOp: lazy work on a device, its combinators and its endings."""

from .context import ExecutionContext
from .core import DeviceOp, value

__all__ = ["DeviceOp", "ExecutionContext", "value"]
