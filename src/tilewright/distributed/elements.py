"""Element types as torch has them, and what each can be reduced by."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import ShapeError
from .call import MEAN, Call

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""

NAMES: dict[str, tuple[Any, Any]] = {
    "f32": (np.float32, torch.float32), "f64": (np.float64, torch.float64),
    "f16": (np.float16, torch.float16), "bf16": (np.int16, torch.bfloat16),
    "i8": (np.int8, torch.int8), "u8": (np.uint8, torch.uint8),
    "i32": (np.int32, torch.int32), "i64": (np.int64, torch.int64),
    "u32": (np.int32, torch.int32), "u64": (np.int64, torch.int64),
    "bool": (np.uint8, torch.uint8),
}  # fmt: skip
"""Element types that can be combined: NumPy's to make an array of that size, and torch's."""
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "u8", "i32", "i64")
COMBINED = {
    "mean": FLOATS, "sum": (*FLOATS, *INTEGERS, "u32", "u64"),
    "product": (*FLOATS, *INTEGERS, "u32", "u64"),
    "min": (*FLOATS, *INTEGERS, "bool"), "max": (*FLOATS, *INTEGERS, "bool"),
}  # fmt: skip
"""What each reduction can be made of. Sums and products have the same bits with and without a sign;
the least and the greatest of bools are those of bytes."""

REDUCTIONS: dict[str, Any] = {
    "sum": torch.distributed.ReduceOp.SUM, "mean": torch.distributed.ReduceOp.SUM,
    "product": torch.distributed.ReduceOp.PRODUCT,
    "min": torch.distributed.ReduceOp.MIN, "max": torch.distributed.ReduceOp.MAX,
}  # fmt: skip


def refuse_elements(call: Call) -> None:
    """Raise if elements of this type cannot be combined."""
    if call.reduce and call.dtype not in COMBINED[call.reduce]:
        wide = "f32" if call.reduce == MEAN or call.dtype.startswith("f") else "i32 or tw.i64"
        raise ShapeError(
            f"`{call.op}` cannot make a {call.reduce} of {call.dtype}",
            expected=f"elements of {', '.join(COMBINED[call.reduce])}",
            got=call.dtype,
            hint=f"convert the tensor: tw.convert(x, tw.{wide})",
        )
