"""Python functions that `torch.compile` takes into its graph as they are.

Dynamo does not look into them; the compilers behind it see the operators of the kernels that they
call, with gradients. If PyTorch is imported after this package, it is told of them by the first
call on its tensors, which must not be inside of `torch.compile`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from ..base.tracebacks import public

F = TypeVar("F", bound=Callable[..., Any])

_NODES: list[Callable[..., Any]] = []
"""Those that PyTorch has not been told of."""


def one_node(function: F) -> F:
    """Return a function as users get it, whose calls `torch.compile` takes into its graph."""
    known = public(function)
    _NODES.append(known)
    return known


def tell_torch() -> None:
    """Tell PyTorch of these functions, if it is imported and does not know all of them."""
    if not _NODES or "torch" not in sys.modules:
        return
    compiler: Any = import_module("torch.compiler")
    while _NODES:
        compiler.allow_in_graph(_NODES.pop())
