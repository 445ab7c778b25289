"""The libraries we compare with, where they are installed: torch and numba, found when asked for.

They are needed by benchmarks only, so nothing imports them by name.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

from .case import Array, NotAvailable

COMPILERS = ("c++", "g++", "clang++")


def library(name: str) -> Any:
    """A module as it is; NotAvailable where it cannot be imported."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotAvailable(f"{name} cannot be imported: {error}") from None


@cache
def torch() -> Any:
    """The torch module, with gradients off."""
    module = library("torch")
    module.set_grad_enabled(False)
    return module


@cache
def numba() -> Any:
    """The numba module."""
    return library("numba")


def tensor(array: Array) -> Any:
    """A torch tensor over an array's memory; torch cannot read the 16-bit floats NumPy lacks."""
    module = torch()
    if array.dtype.name == "bfloat16":
        return module.from_numpy(array.view("u2")).view(module.bfloat16)
    return module.from_numpy(array)


def jit(function: Callable[..., None]) -> Callable[..., None]:
    """A function compiled by numba for all threads; sums may be taken in any order, as ours are."""
    compiled: Callable[..., None] = numba().njit(parallel=True, fastmath=True)(function)
    return compiled


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function compiled by torch, which needs a C++ compiler on this machine."""
    module = torch()
    if not any(shutil.which(name) for name in COMPILERS):
        raise NotAvailable("torch.compile needs a C++ compiler, and there is none")
    result: Callable[..., Any] = module.compile(function, dynamic=False)
    return result
