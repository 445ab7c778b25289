"""The element types in which operations compute under `torch.autocast`, as PyTorch's own do."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

LOWER = frozenset(
    {
        "bmm", "conv1d", "conv2d", "grouped_matmul", "linear", "linear_cross_entropy", "matmul",
        "scaled_dot_product_attention",
    }
)  # fmt: skip
"""Operations that compute in the type of the context."""
FULL = {
    "cuda": frozenset(
        {
            "cross_entropy", "cumprod", "cumsum", "group_norm", "layer_norm", "log_softmax",
            "logsumexp", "norm", "prod", "rms_norm", "softmax", "softplus", "sum",
        }
    ),
    "cpu": frozenset({"cross_entropy"}),
}  # fmt: skip
"""By the kind of device: operations that compute in f32. All others take arrays as they are."""


def autocast(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation that converts PyTorch's tensors as the context asks for."""
    if name not in LOWER and not any(name in names for names in FULL.values()):
        return function

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        torch: Any = sys.modules.get("torch")
        if torch is None or not torch._C._is_any_autocast_enabled():
            return function(*args, **named)
        dtype = _type_of(torch, name, args)
        if dtype is None:
            return function(*args, **named)
        kind = args[0].device.type
        with torch.autocast(kind, enabled=False):
            given = [_converted(torch, arg, dtype) for arg in args]
            keywords = {key: _converted(torch, arg, dtype) for key, arg in named.items()}
            return function(*given, **keywords)

    return call


def _type_of(torch: Any, name: str, args: tuple[Any, ...]) -> Any:
    """Return the type in which an operation computes; None: that of its arguments."""
    if not args or not isinstance(args[0], torch.Tensor):
        return None
    kind = args[0].device.type
    if kind not in FULL or not torch.is_autocast_enabled(kind):
        return None
    if name in LOWER:
        return torch.get_autocast_dtype(kind)
    return torch.float32 if name in FULL[kind] else None


def _converted(torch: Any, arg: Any, dtype: Any) -> Any:
    """Return an argument in a type; f64, integers and what is no tensor stay as they are."""
    if not isinstance(arg, torch.Tensor) or arg.dtype not in _narrow(torch):
        return arg
    return arg.to(dtype)


@functools.cache
def _narrow(torch: Any) -> frozenset[Any]:
    return frozenset({torch.float32, torch.float16, torch.bfloat16})
