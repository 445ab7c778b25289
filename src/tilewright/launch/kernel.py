"""A kernel ready to be specialized: from bound arguments to compiled code, grid and facts."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import compile as compiler
from ..base.shapes import Shape
from ..compile.options import CompileOptions
from ..frontend.sources import KernelSource
from ..ir.artifact import Artifact
from ..ir.launch_expr import LaunchFacts
from ..ir.signature import Signature
from .arguments import Arg, OutputArg, ScalarArg, TensorArg
from .grid import launch_grid
from .links import Links, link, scalar_type
from .run import runners
from .scalars import check_scalar
from .specialize import Constants, Specializer


@dataclass(slots=True)
class Request:
    """What a launch asks besides its arguments."""

    constants: Constants = ()
    generics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grid: Shape | None = None
    const_grid: Shape | None = None
    options: CompileOptions = field(default_factory=CompileOptions)


class Kernel:
    """A captured kernel with its specializations."""

    def __init__(self, source: KernelSource, function: Callable[..., Any]) -> None:
        self.source = source
        self.name = source.name
        self.runners = runners()
        self._specializer = Specializer(source.name)
        self._generics = _generic_names(source, function)

    def check_generics(self, generics: Mapping[str, Any]) -> None:
        """Raise for a name that is no generic of this kernel."""
        for name in generics:
            if name not in self._generics:
                listed = ", ".join(sorted(self._generics)) or "none"
                raise TypeError(f"`{self.name}` has no generic `{name}`; it has {listed}")

    def link(self, args: Sequence[Arg], generics: Mapping[str, Any]) -> Links:
        """Check what links the arguments, and each scalar against its type."""
        links = link(self.name, args, generics)
        for arg in args:
            if isinstance(arg, ScalarArg):
                dtype = arg.parameter.dtype
                if isinstance(dtype, str) and dtype not in links.dtypes:
                    continue  # may still be bound by hand
                wanted = scalar_type(self.name, arg.parameter, links)
                arg.value = check_scalar(self.name, arg.parameter.name, wanted, arg.given)
        return links

    def grid(self, args: Sequence[Arg], request: Request) -> Shape:
        """The launch grid."""
        return launch_grid(self.name, args, request.const_grid or request.grid)

    def signature(self, args: Sequence[Arg], request: Request, rank: int) -> Signature:
        """The signature of a launch."""
        links = self.link(args, request.generics)
        return self._specializer.signature(args, links, request.constants, request.const_grid, rank)

    def artifact(self, signature: Signature, target: str, options: CompileOptions) -> Artifact:
        """The compiled code; compiled now if it is not yet."""
        return compiler.get(self.source, signature, target, options)


def facts_of(args: Sequence[Arg], grid: Shape) -> LaunchFacts:
    """What launch checks may ask about."""
    extents = {
        a.parameter.name: a.region.shape for a in args if isinstance(a, TensorArg | OutputArg)
    }
    scalars = {a.parameter.name: a.value for a in args if isinstance(a, ScalarArg)}
    return LaunchFacts(extents, scalars, grid)


def _generic_names(source: KernelSource, function: Callable[..., Any]) -> frozenset[str]:
    """TypeVars a kernel may mean: those of its parameters, its own, those its names lead to."""
    names = {p.__name__ for p in getattr(function, "__type_params__", ())}
    for p in source.parameters:
        if isinstance(p.dtype, str):
            names.add(p.dtype)
        for dim in p.dims or ():
            if isinstance(dim, str):
                names.add(dim)
            elif isinstance(dim, tuple):
                names.add(dim[1])
    code = inspect.unwrap(function).__code__
    kinds = (typing.TypeVar, typing.TypeVarTuple)
    names.update(n for n in code.co_names if isinstance(source.source.globals.get(n), kinds))
    return frozenset(names)
