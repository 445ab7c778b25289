"""What the compiled code of a launch depends on: the signature, made once per kind of launch.

The CPU specializes on element types, ranks, tile shapes, extents that annotations fix, and on the
one axis along which elements are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.errors import LaunchError
from ..base.shapes import Shape
from ..ir.constants import constant_kind
from ..ir.signature import OutputSpec, ParamSpec, PointerSpec, ScalarSpec, Signature, TensorSpec
from .arguments import Arg, OutputArg, PointerArg, ScalarArg, TensorArg
from .links import Links, scalar_type, static_dims

Constants = tuple[tuple[str, Any], ...]


class Specializer:
    """The signatures of one kernel, each made once; launches alike share the same object."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._known: dict[tuple[Any, ...], Signature] = {}

    def signature(
        self,
        args: Sequence[Arg],
        links: Links,
        constants: Constants,
        const_grid: Shape | None,
        grid_rank: int,
    ) -> Signature:
        """The signature of a launch."""
        facts = tuple([self._fact(arg, links) for arg in args])
        fixed = links.constants() + constants
        kinds = tuple([constant_kind(value) for _, value in fixed])
        key: tuple[Any, ...] = (facts, fixed, kinds, const_grid, grid_rank)
        found = self._known.get(key)
        if found is None:
            params = tuple(self._spec(arg, links) for arg in args)
            found = self._known[key] = Signature(params, fixed, const_grid, grid_rank)
        return found

    def _fact(self, arg: Arg, links: Links) -> Any:
        if isinstance(arg, ScalarArg):
            return scalar_type(self._kernel, arg.parameter, links)
        if isinstance(arg, PointerArg):
            return arg.dtype
        fact = (arg.dtype, static_dims(arg, links), arg.layout.unit_axis)
        return (fact, arg.tile) if isinstance(arg, OutputArg) else fact

    def _spec(self, arg: Arg, links: Links) -> ParamSpec:
        name = arg.parameter.name
        if isinstance(arg, ScalarArg):
            return ScalarSpec(name, scalar_type(self._kernel, arg.parameter, links))
        if isinstance(arg, PointerArg):
            return PointerSpec(name, arg.dtype)
        shape, strides = static_dims(arg, links), _static_strides(arg)
        if isinstance(arg, OutputArg):
            return OutputSpec(name, arg.dtype, shape, strides, arg.tile)
        return TensorSpec(name, arg.dtype, shape, strides)


def refuse_unhashable(kernel: str, constants: Constants) -> None:
    """Raise for a constant that may change: code is found by its constants."""
    try:
        hash(constants)
    except TypeError:
        wrong = [(n, v) for n, v in constants if type(v).__hash__ is None]
        shown = ", ".join(f"{name}={value!r}" for name, value in wrong) or "one of them"
        raise LaunchError(
            f"a constant of `{kernel}` cannot be part of the compilation's key",
            expected="values that do not change: numbers, strings, dtypes, tuples of them",
            got=shown,
        ) from None


def _static_strides(arg: TensorArg | OutputArg) -> tuple[int | None, ...]:
    unit = arg.layout.unit_axis
    return tuple(1 if axis == unit else None for axis in range(len(arg.layout.shape)))
