"""Python functions that `torch.compile` takes into its graph as they are.

Dynamo does not look into them; the compilers behind it see the operators of the kernels that they
call, with gradients. If PyTorch is imported after this package, the first call on its tensors
registers them, which must not be inside of `torch.compile`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from ..base.tracebacks import public

F = TypeVar("F", bound=Callable[..., Any])

_NODES: list[Callable[..., Any]] = []
"""Those that are not registered with PyTorch yet."""


def one_node(function: F) -> F:
    """Return a function as users get it, whose calls `torch.compile` takes into its graph."""
    known = public(function)
    _NODES.append(known)
    return known


def tell_torch() -> None:
    """Register these functions with PyTorch, if it is imported and does not know all of them."""
    if not _NODES or "torch" not in sys.modules:
        return
    compiler: Any = import_module("torch.compiler")
    while _NODES:
        node = _NODES.pop()
        compiler.allow_in_graph(node)
        _let_compile(node)


def _let_compile(node: Any) -> None:
    """Let `torch.compile(node)` see a function that calls it: it would look into the node itself.

    PyTorch finds such a function where its own wrappers have theirs.
    """

    def call(*args: Any, **named: Any) -> Any:
        return node(*args, **named)

    node._torchdynamo_orig_callable, node._torchdynamo_wrapper_id = call, id(node)
