"""Kernels of other compilers as ops: their arguments are borrowed and checked as those of ours.

What such a kernel does with its arguments is beyond our sight. Who wraps one says which of them it
writes, inside `tw.unsafe()`; its launches are as safe as that is true.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, TypeVar, cast

from .._core import Entry as NativeEntry
from ..base.dtypes import AnyDType
from ..base.errors import LaunchError
from ..compile.options import CompileOptions
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.module import CudaFunction
from ..devices.protocol import Device, Function, LaunchConfig
from ..frontend.capture.annotations import capture
from ..frontend.capture.parameters import Parameter
from ..op.ambient import default_device, unsafe_allowed
from ..op.core import DeviceOp
from ..op.place import Location, here, place_of
from ..tensors.shape import ShapeLike
from .arguments import Arg, Bound, OutputArg, ScalarArg, TensorArg
from .binding import check_element
from .blocks import Asked, asked_for
from .calls import CalledKernel
from .definition import locals_of_caller
from .foreign_calls import (
    Address,
    Call,
    Given,
    Maker,
    MemoryGiven,
    Number,
    NumberGiven,
    Typed,
    is_aligned,
)
from .foreign_code import ForeignCode, PlansByNumbers
from .form import Form, Known, Request
from .links import Generics, link
from .plain import PlainBinder
from .recent import Recent
from .scalars import Accept, accepting
from .slices import SliceBinder, refuse_gaps
from .whole import WholeLaunch

R_co = TypeVar("R_co", covariant=True)

FORMS, KINDS = 256, 64
"""Forms a kernel remembers, and codes that a form does."""
NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is said of a foreign kernel: its parameters, and what its memory may look like."""

    name: str
    parameters: tuple[Parameter, ...]
    constants: tuple[Parameter, ...] = ()
    strided: frozenset[str] = frozenset()
    """The tensors whose elements need not be adjacent."""


class _Binder(SliceBinder):
    """Binds calls of one foreign kernel."""

    def __init__(self, declaration: Declaration) -> None:
        super().__init__(declaration)
        self._strided = declaration.strided

    def describe(self, bound: Bound) -> tuple[Arg, ...]:
        """Return the known properties of each argument."""
        for p, region in zip(self._memory(), bound.memory, strict=True):
            check_element(self._kernel.name, p, region.dtype)
            if p.name not in self._strided:
                refuse_gaps(self._kernel.name, p, region.layout)
        outputs, inputs = iter(bound.outputs), iter(bound.inputs)
        args: list[Arg] = []
        for p in self._parameters:
            if p.kind == "output":
                written = next(outputs)
                args.append(OutputArg(p, written.tiling, written.device))
            elif p.kind == "tensor":
                region, rooted = (handle := next(inputs)).region, handle.rooted
                args.append(TensorArg(p, region.layout, region.storage.device if rooted else None))
            else:
                args.append(ScalarArg(p))
        return tuple(args)


class ForeignForm(Form):
    """Launches of a foreign kernel alike: their tensors are."""

    def __init__(self, kernel: str, args: tuple[Arg, ...], maker: Maker) -> None:
        self._maker = maker
        super().__init__(kernel, args, link(kernel, args, ()))
        self._types = [arg.parameter.dtype for arg in args if isinstance(arg, ScalarArg)]
        self.made: Recent[tuple[Any, ...], ForeignCode] = Recent(KINDS)
        """Codes by device, alignment, traits of numbers, grid, and what else was asked for."""

    def accepting(self, kernel: str, parameter: Parameter) -> Accept:
        """Return the check of a parameter's numbers; without a declared type it adds their own."""
        if isinstance(parameter.dtype, str) or parameter.dtype is None:
            return partial(_typed, _Accepting(kernel, parameter.name), self._maker)
        return accepting(kernel, parameter.name, parameter.dtype)

    def typed(self, numbers: Sequence[Any]) -> list[Typed]:
        """Return accepted numbers with their types."""
        return [
            number if isinstance(number, Typed) else Typed(cast("AnyDType", dtype), number)
            for dtype, number in zip(self._types, numbers, strict=True)
        ]


class _Accepting(dict[AnyDType, Accept]):
    """What checks the numbers given for one parameter, by their type."""

    def __init__(self, kernel: str, name: str) -> None:
        super().__init__()
        self._kernel, self._name = kernel, name

    def __missing__(self, dtype: AnyDType) -> Accept:
        found = self[dtype] = accepting(self._kernel, self._name, dtype)
        return found


def _typed(accept: _Accepting, maker: Maker, value: Any) -> Typed:
    dtype = maker.number_type(value)
    return Typed(dtype, accept[dtype](value))


class ForeignKernel(CalledKernel):
    """A kernel of another compiler, as launches know kernels."""

    def __init__(self, declaration: Declaration, maker: Maker) -> None:
        super().__init__(declaration, _Binder(declaration))
        self.source = declaration
        self._maker = maker
        self._forms: Recent[tuple[Any, ...], ForeignForm] = Recent(FORMS)
        self.plain = PlainBinder(declaration, self._binder, self._form)

    def check_generics(self, generics: Mapping[str, Any]) -> NoReturn:
        """Refuse generics: a foreign kernel has none."""
        raise TypeError(f"`{self.name}` was compiled elsewhere and has no generics")

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any], generics: Generics) -> Bound:
        """Return the arguments of a call, checked one by one."""
        bound = self._binder.bind(values, keywords)
        self.give_form(bound, generics)
        bound.device = bound.form.home or default_device()
        return bound

    def give_form(self, bound: Bound, generics: Generics) -> None:
        """Find the form of a launch, and check its numbers against it."""
        bound.form = form = self._form(bound)
        bound.numbers = form.accept(bound.numbers)

    def _form(self, bound: Bound) -> ForeignForm:
        kind = bound.kind
        form = self._forms.get(kind)
        if form is None:
            form = ForeignForm(self.name, self._binder.describe(bound), self._maker)
            self._forms.keep(kind, form)
        return form

    def is_ready(self, bound: Bound, request: Request) -> bool:
        """Return whether the code for a launch is available."""
        return self._maker.is_loaded(self._call(bound, request))

    def code(self, bound: Bound, request: Request) -> ForeignCode:
        """Return the code for a launch; compile it if necessary."""
        self._refuse_host_memory(bound)
        form, maker, numbers = _form_of(bound), self._maker, _form_of(bound).typed(bound.numbers)
        call = self._call(bound, request)
        grid, traits = maker.grid(call), maker.traits(numbers)
        aligned = [is_aligned(region.address) for region in bound.memory]
        key: tuple[Any, ...] = (bound.device, *aligned, traits, grid, request)
        found = form.made.get(key)
        if found is None:
            ready, again = maker.ready(call, grid), partial(self.code, request=request)
            self._refuse_elsewhere(ready.function, bound.device)
            found = ForeignCode(self.name, ready, form.args, again)
            if found.is_lasting:
                form.made.keep(key, found)
        if bound.held is not None and found.plan is not None:
            self._remember(bound.held[-1], request, call, numbers, found)
        return found

    def _remember(
        self, known: Known, request: Request, call: Call, numbers: Sequence[Typed],
        code: ForeignCode,
    ) -> None:  # fmt: skip
        """Register the code of such launches, so that the core submits them."""
        plan = code.plan
        assert plan is not None
        if not (numbers and self._maker.asks_numbers):
            known.remember(request, code, plan)
            return
        several = known.asked(request)[1]
        if not isinstance(several, PlansByNumbers):
            several = PlansByNumbers(self._maker, call)
        several.keep(numbers, self._maker.grid(call), plan)
        known.remember(request, code, several)

    def _call(self, bound: Bound, request: Request) -> Call:
        memory = {True: enumerate(bound.written), False: enumerate(bound.read, len(bound.written))}
        numbers = enumerate(_form_of(bound).typed(bound.numbers))
        given: dict[str, Given] = {}
        for arg in bound.form.args:
            name = arg.parameter.name
            if isinstance(arg, ScalarArg):
                place, (dtype, value) = next(numbers)
                given[name] = NumberGiven(dtype, value, Number(place, dtype))
            else:
                written = isinstance(arg, OutputArg)
                place, region = next(memory[written])
                aligned = is_aligned(region.address)
                given[name] = MemoryGiven(region.layout, aligned, written, Address(place))
        asked = request.threads or NOTHING_ASKED
        return Call(self.name, bound.device, given, dict(request.constants), asked)

    def _refuse_elsewhere(self, function: Function, device: Device) -> None:
        """Refuse a device other than the one on which the code is loaded."""
        if not (isinstance(device, CudaDevice) and isinstance(function, CudaFunction)):
            return
        if function.context is not device.context:
            raise LaunchError(
                f"`{self.name}` is loaded on another device than its tensors live on",
                expected=f"tensors of {function.context.name}",
                got=f"tensors of {device.name}",
                hint="load its module on that device: tw.load_module_from_ptx(ptx, device)",
            )

    def _refuse_host_memory(self, bound: Bound) -> None:
        """Refuse host arrays: the code may keep their addresses, so no copy can serve."""
        for arg, region in zip(bound.form.memory, bound.memory, strict=True):
            home = region.storage.device
            if home is not bound.device:
                raise LaunchError(
                    f"`{arg.parameter.name}` of `{self.name}` lives on another device than it"
                    " runs on",
                    expected=f"memory of {bound.device.name}",
                    got=f"memory of {home.name}",
                    hint="copy it there first: tw.from_numpy(a), or t.to(device)",
                )


def _form_of(bound: Bound) -> ForeignForm:
    form = bound.form
    assert isinstance(form, ForeignForm)
    return form


class ForeignLaunch(WholeLaunch[R_co]):
    """A foreign kernel with its arguments. Its result is the tuple of the very objects passed."""

    LISTED = "launch_config"

    def launch_config(
        self,
        config: LaunchConfig | None = None,
        /,
        *,
        grid: ShapeLike | None = None,
        block: ShapeLike | None = None,
        shared_mem_bytes: int = 0,
    ) -> Self:
        """Set the number of blocks and of threads, where the kernel's wrapper does not."""
        if config is not None:
            grid, block = config.grid_dim, config.block_dim
            shared_mem_bytes = config.shared_mem_bytes

        def asking() -> Request:
            return self._request._replace(threads=asked_for(grid, block, shared_mem_bytes))

        return self._asking(asking)

    def out(self) -> DeviceOp[Any]:
        """Return the outputs alone: one tensor, or a tuple of them."""
        return super().out()

    def _bind_alike(self, bound: Bound, /, *args: Any, **named: Any) -> Bound:
        """Bind other arguments for the same code, for a graph; constants not given stay."""
        return super()._bind_alike(bound, *args, **{**dict(self._request.constants), **named})

    def grid(self, grid: ShapeLike) -> Self:
        """Set the number of blocks, as `launch_config(grid=...)`."""
        return self.launch_config(grid=grid)

    def const_grid(self, grid: ShapeLike) -> NoReturn:
        """Raise: the code was compiled elsewhere."""
        self.mark_refused()
        raise TypeError(f"`{self.name}` has no const_grid(); use launch_config(grid=...)")

    def compile_options(self, options: CompileOptions | None = None, /, **changes: Any) -> NoReturn:
        """Raise: the code was compiled elsewhere."""
        self.mark_refused()
        raise TypeError(f"`{self.name}` was compiled elsewhere, and takes no options of ours")


class ForeignEntry(NativeEntry):
    """A kernel of another compiler. Calling it with its arguments gives the op that runs it.

    It takes what SIMT kernels take: tensors and arrays to read, `z.borrow_mut()`, `tw.move(z)` or
    an op for what it writes, numbers.
    """

    __slots__ = ("__dict__", "__weakref__")

    kernel: ForeignKernel
    """What builds its launches."""

    def __init__(self, declaration: Declaration, maker: Maker) -> None:
        if not unsafe_allowed():
            raise LaunchError(
                f"`{declaration.name}` is foreign code, which cannot be checked; wrap it"
                " inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint="write `with tw.unsafe():` around it, if it reads and writes nothing but what"
                " its declaration says",
            )
        self.kernel = ForeignKernel(declaration, maker)
        self._set_launches(ForeignLaunch)
        self.source = declaration
        self.__name__ = declaration.name

    def _call_at_slowly(self, location: Location, args: tuple[Any, ...], /) -> ForeignLaunch[Any]:
        """Do as `_call_slowly`, for a call at a given location."""
        return ForeignLaunch[Any].of(self.kernel, args, {}, location)

    def _call_slowly(self, /, *args: Any, **keywords: Any) -> ForeignLaunch[Any]:
        """Build the op that runs the kernel on these arguments, where the core could not."""
        named: Mapping[str, Any] = keywords
        if len(args) < len(self.source.parameters):
            args, named = self.kernel.placed(args, named)
        return ForeignLaunch[Any].of(self.kernel, args, named)

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.source.parameters)
        return f"ForeignEntry({self.__name__}({names}))"

    if TYPE_CHECKING:  # this is native

        def __call__(self, /, *args: Any, **keywords: Any) -> ForeignLaunch[Any]:
            """Build the op that runs the kernel on these arguments."""
            ...


Wrap: TypeAlias = Callable[[Callable[..., Any]], ForeignEntry]


def declare(maker: Maker, *, strided: Sequence[str] = (), name: str | None = None) -> Wrap:
    """Create a foreign kernel from a Python function that only declares its parameters."""
    return functools.partial(_declared, maker, frozenset(strided), name, locals_of_caller())


def _declared(
    maker: Maker,
    strided: frozenset[str],
    name: str | None,
    names: dict[str, Any],
    function: Callable[..., Any],
) -> ForeignEntry:
    source = capture(function, unsafe=True, dialect="simt", frame_locals=names)
    for p in source.parameters:
        if p.kind == "pointer":
            raise TypeError(
                f"`{p.name}` of `{source.name}` is memory that is neither read nor written;"
                " declare it as simt.Slice or simt.DisjointSlice"
            )
    refuse_unknown_strided(source.name, source.parameters, strided)
    given = Declaration(name or source.name, source.parameters, source.constants, strided)
    return ForeignEntry(given, maker)


def refuse_unknown_strided(
    kernel: str, parameters: Sequence[Parameter], strided: Collection[str]
) -> None:
    """Raise if a name stands for no tensor."""
    tensors = [p.name for p in parameters if p.kind in ("tensor", "output")]
    unknown = [name for name in strided if name not in tensors]
    if unknown:
        raise TypeError(
            f"`strided` of `{kernel}` names its tensors {', '.join(tensors) or 'none'},"
            f" got {', '.join(unknown)}"
        )
