"""A kernel ready to be specialized: from bound arguments to compiled code, grid and facts."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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
from .report import check_launch
from .run import runners
from .scalars import check_scalar
from .specialize import Constants, Specializer

Known: TypeAlias = tuple[Shape, tuple[Any, ...]]
"""A grid, and what launch checks may ask of each argument."""

DEFAULT_OPTIONS = CompileOptions()

MOST_REMEMBERED = 256
"""Launches whose checks are known to hold, per compiled code."""


@dataclass(slots=True)
class Request:
    """What a launch asks besides its arguments."""

    constants: Constants = ()
    generics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grid: Shape | None = None
    const_grid: Shape | None = None
    options: CompileOptions = DEFAULT_OPTIONS


class Kernel:
    """A captured kernel with its specializations."""

    def __init__(self, source: KernelSource, function: Callable[..., Any]) -> None:
        self.source = source
        self.name = source.name
        self.runners = runners()
        self._specializer = Specializer(source.name)
        self._linked = any(
            p.dims is not None or isinstance(p.dtype, str) for p in source.parameters
        )
        self._passed: dict[int, tuple[Artifact, set[Known]]] = {}
        self._generics = _generic_names(source, function)

    def check_generics(self, generics: Mapping[str, Any]) -> None:
        """Raise for a name that is no generic of this kernel."""
        for name in generics:
            if name not in self._generics:
                listed = ", ".join(sorted(self._generics)) or "none"
                raise TypeError(f"`{self.name}` has no generic `{name}`; it has {listed}")

    def link(self, args: Sequence[Arg], generics: Mapping[str, Any]) -> Links:
        """Check what links the arguments, and each scalar against its type."""
        plain = not (self._linked or generics)
        links = Links(self.name, {}, {}, set()) if plain else link(self.name, args, generics)
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

    def signature(
        self, args: Sequence[Arg], links: Links, request: Request, rank: int
    ) -> Signature:
        """The signature of a launch."""
        return self._specializer.signature(args, links, request.constants, request.const_grid, rank)

    def artifact(self, signature: Signature, target: str, options: CompileOptions) -> Artifact:
        """The compiled code; compiled now if it is not yet."""
        return compiler.get(self.source, signature, target, options)

    def check(self, artifact: Artifact, args: Sequence[Arg], grid: Shape) -> None:
        """Evaluate the launch checks, unless they are known to hold for such arguments."""
        if not artifact.launch_checks:
            return
        # Found by identity, as hashing an artifact would read its code.
        _, passed = self._passed.setdefault(id(artifact), (artifact, set()))
        known = (grid, tuple([a.value if isinstance(a, ScalarArg) else _extents(a) for a in args]))
        if known in passed:
            return
        check_launch(self.name, artifact.launch_checks, facts_of(args, grid))
        if len(passed) >= MOST_REMEMBERED:
            passed.clear()
        passed.add(known)


def _extents(arg: Arg) -> Shape:
    return arg.region.shape if isinstance(arg, TensorArg | OutputArg) else ()


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
