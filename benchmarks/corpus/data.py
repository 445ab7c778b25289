"""Makes inputs and memory for results, as tensors of torch."""

from __future__ import annotations

from typing import Any

from .. import peers
from .case import Tensor

torch: Any = peers.library("torch")
"""A module's global, which torch.compile reads as a constant; it would warn of a call."""


def dtype(name: str) -> Any:
    """An element type of torch."""
    return getattr(torch, name)


def normal(device: str, kind: str, *shape: int, scale: float = 1.0) -> Tensor:
    """Normal numbers."""
    return (torch.randn(shape, device=device, dtype=torch.float32) * scale).to(dtype(kind))


def integers(device: str, low: int, high: int, *shape: int, kind: str = "int32") -> Tensor:
    """Integers, at least `low` and below `high`."""
    return torch.randint(low, high, shape, device=device, dtype=dtype(kind))


def empty(device: str, kind: str, *shape: int) -> Tensor:
    """Memory for a result."""
    return poison(torch.empty(shape, device=device, dtype=dtype(kind)))


def poison(tensor: Tensor) -> Tensor:
    """Overwrite with NaN, or with a number that no result has."""
    if tensor.dtype.is_floating_point and tensor.element_size() > 1:
        return tensor.fill_(float("nan"))
    return tensor.fill_(1 if tensor.element_size() == 1 else -77)


def nbytes(*items: Any) -> float:
    """The bytes of tensors."""
    return float(sum(t.numel() * t.element_size() for t in items if hasattr(t, "numel")))


def wider(x: Tensor) -> Tensor:
    """The same numbers in f32, or in f64 where they are."""
    return x if x.dtype == torch.float64 else x.float()
