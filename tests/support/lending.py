"""Lends the memory of a tensor to another library, as each device can."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw

LENT = r"while a NumPy view of it is alive|another library uses it"
"""How errors say that memory is lent."""


def lent(tensor: tw.Tensor[Any]) -> object:
    """Keeps the memory of a tensor lent, as long as it lives: to NumPy, or by DLPack."""
    if tensor.device.name.startswith("cuda"):
        with tw.unsafe():  # else a tensor that others rely on is exported as a copy
            return tensor.__dlpack__()
    return np.asarray(tensor)
