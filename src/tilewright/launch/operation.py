"""The op a kernel call gives: borrows its arguments when built, runs when started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar, TypeVarTuple, cast, overload

from ..array.partition import Partition
from ..array.shape import ShapeLike
from ..array.tensor import Tensor
from ..base.dtypes import DType
from ..base.errors import LaunchError
from ..base.shapes import size
from ..compile.options import CompileOptions
from ..driver.protocol import Device
from ..op.ambient import unsafe_allowed
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp, is_op
from ..op.place import here, place_of
from ..op.running import Steps
from .arguments import Arg
from .binding import bind, check_call, constants_of
from .grid import as_grid
from .hidden import hidden_args
from .kernel import Kernel, Request
from .kinds import is_partition
from .links import Links
from .report import deliver
from .taking import check_usable, device_of, refuse_conflicts, refuse_ended_borrows, settle, take

E = TypeVar("E", bound=DType)
F = TypeVar("F", bound=DType)
R_co = TypeVar("R_co", covariant=True)
Ts = TypeVarTuple("Ts")


@dataclass(slots=True)
class Bound:
    """Arguments that were checked and taken, what links them, and where they live."""

    args: list[Arg]
    links: Links
    device: Device


class Launch(Composite[R_co]):
    """A kernel with its arguments. Its result is the tuple of the very objects passed.

    Plain arguments are checked and borrowed when it is built; where some are ops, these run
    first, and everything is checked then.
    """

    def __init__(self, kernel: Kernel, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self._args, self._keywords = tuple(args), keywords
        self._bound: Bound | None = None
        self._request = Request(constants_of(kernel.source, keywords))
        self._refuse_unsafe()
        check_call(kernel.source, args, keywords)
        ops = [a for a in args if is_op(a)]
        if not ops:
            self._bound = self._bind(self._args)
        for op in ops:
            op.claim(kernel.name)
        self.effect = True

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._kernel.name

    @property
    def home(self) -> Device | None:
        """The device its tensors live on, as far as is known before argument ops have run."""
        if self._bound is not None:
            return self._bound.device
        homes = [a.home for a in self._args if is_op(a)]
        return next((home for home in homes if home is not None), None)

    def generics(self, **names: Any) -> Self:
        """Say what TypeVars stand for where arguments cannot: `.generics(E=tw.f16, BM=128)`."""

        def linked() -> Request:
            self._kernel.check_generics(names)
            generics = {**self._request.generics, **names}
            if self._bound is not None:
                self._bound.links = self._kernel.link(self._bound.args, generics)
            return replace(self._request, generics=generics)

        return self._asking(linked)

    def grid(self, grid: ShapeLike) -> Self:
        """Say how many blocks run; with outputs, it must be what their partitions say."""
        return self._asking(lambda: replace(self._request, grid=as_grid(grid)))

    def const_grid(self, grid: ShapeLike) -> Self:
        """As `grid`, and make it a constant of the compilation."""
        return self._asking(lambda: replace(self._request, const_grid=as_grid(grid)))

    def compile_options(self, options: CompileOptions | None = None, /, **changes: Any) -> Self:
        """Give the code generator hints: a `CompileOptions`, or its fields by keyword."""
        base = self._request.options if options is None else options
        return self._asking(lambda: replace(self._request, options=replace(base, **changes)))

    def _asking(self, request: Callable[[], Request]) -> Self:
        """Change what the launch asks for; one that is refused does not warn when dropped."""
        try:
            self._request = request()
        except Exception:
            self.effect = False
            raise
        return self

    @overload
    def out(  # type: ignore[overload-overlap]
        self: Launch[tuple[Partition[E], Partition[F], *Ts]],
    ) -> DeviceOp[tuple[Tensor[E], Tensor[F]]]: ...
    @overload
    def out(self: Launch[tuple[Partition[E], *Ts]]) -> DeviceOp[Tensor[E]]: ...
    @overload
    def out(self) -> DeviceOp[Any]: ...
    def out(self) -> DeviceOp[Any]:
        """The outputs alone, unpartitioned: one tensor, or a tuple of them."""
        written = [i for i, p in enumerate(self._kernel.source.parameters) if p.kind == "output"]
        return self._then_outputs(written)

    def _then_outputs(self, written: list[int]) -> DeviceOp[Any]:
        def outputs(*results: Any) -> Any:
            tensors = tuple(results[i].unpartition() for i in written)
            return tensors[0] if len(tensors) == 1 else tensors

        return self.derived(outputs, "out")

    def _drive(self, ctx: ExecutionContext) -> Steps[R_co]:
        values: list[Any] = []
        for arg in self._args:
            values.append((yield from arg.drive(ctx)) if is_op(arg) else arg)
        bound = self._bind(values) if self._bound is None else self._bound
        try:
            self._run_on_device(bound)
        except BaseException:
            give_back(values)
            raise
        settle(bound.args)
        return cast("R_co", tuple(values))

    def _run_on_device(self, bound: Bound) -> None:
        kernel, request, args, device = self._kernel, self._request, bound.args, bound.device
        refuse_ended_borrows(kernel.name, args)
        grid = kernel.grid(args, request)
        signature = kernel.signature(args, bound.links, request, len(grid))
        artifact = kernel.artifact(signature, device.name, request.options)
        kernel.check(artifact, args, grid)
        if size(grid):
            if artifact.signature.hidden:
                args = [*args, *hidden_args(artifact.signature, device)]
            run = kernel.runners[device.name]
            report = device.stream().submit(lambda: run(artifact, args, grid))
            deliver(kernel.name, report)

    def _bind(self, values: Sequence[Any]) -> Bound:
        kernel = self._kernel
        try:
            args = bind(kernel.source, values, self._keywords)
            refuse_conflicts(kernel.name, args)
            check_usable(args)
            links = kernel.link(args, self._request.generics)
            bound = Bound(args, links, device_of(kernel.name, args))
        except Exception:
            give_back(values)
            raise
        take(kernel.name, args, self.built)
        return bound

    def _refuse_unsafe(self) -> None:
        if self._kernel.source.unsafe and not unsafe_allowed():
            raise LaunchError(
                f"`{self.name}` is an unsafe kernel; its launches are built inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint=f"write `with tw.unsafe():` around {self.name}(...)",
            )


def give_back(values: Sequence[Any]) -> None:
    """Let what a refused or failed launch took over be used again from where it came."""
    for value in values:
        if is_partition(value):
            value.settle(failed=True)
