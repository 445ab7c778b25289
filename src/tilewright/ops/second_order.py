"""Gradients of gradients: the `backward` of a kernel that another one is a formula for.

A kernel that computes gradients is differentiated through a formula in operations and operators of
arrays, which compute the same and have gradients themselves. The library of the arrays does that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

LIBRARIES = {"torch": "torch_transforms", "jax": "jax", "jaxlib": "jax"}
"""By the package of an array's class: the module of interop with `gradients_of`."""


def by_formula(kernel: Any, formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return the `backward` of a kernel's function, whose outputs `formula` computes.

    Its parameters are called like inputs of the kernel, arrays and numbers; other inputs have no
    gradient, and so may be anything that follows from these.
    """
    parameters = kernel.source.parameters
    outputs = [f"d_{p.name}" for p in parameters if p.kind == "output"]
    arrays = [p.name for p in parameters if p.kind == "tensor"]
    names = list(inspect.signature(formula).parameters)
    variables = [name for name in names if name in arrays]

    def backward(*grads: Any, **given: Any) -> Any:
        def results(*values: Any) -> Any:
            return formula(**{**given, **dict(zip(variables, values, strict=True))})

        library = _library_of(grads[0])
        found = library.gradients_of(results, [given[name] for name in variables], grads)
        by_name = dict(zip(variables, found, strict=True))
        return tuple([by_name.get(name) for name in arrays])

    backward.__dict__["formula"] = formula
    backward.__dict__["__signature__"] = _signature([*outputs, *names])
    return backward


def _signature(names: Sequence[str]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def _library_of(array: Any) -> Any:
    name = LIBRARIES[type(array).__module__.partition(".")[0]]
    return import_module(f"..interop.{name}", __package__)
