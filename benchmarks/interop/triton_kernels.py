"""The kernel of Triton that is launched by Triton, by PyTorch and by us."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportInvalidTypeForm=false
# ruff: noqa: ANN001, ANN201, D103

from __future__ import annotations

import importlib
from typing import Any

triton: Any = importlib.import_module("triton")
tl: Any = importlib.import_module("triton.language")


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside) * factor, mask=inside)
