"""Kernels of other compilers as ops: their arguments are borrowed and checked as those of ours.

What such a kernel does with its arguments is beyond our sight. Who wraps one says which of them it
writes, inside `tw.unsafe()`; its launches are as safe as that is true.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import Parameter as Declared
from typing import Any, NoReturn, Self, TypeAlias, TypeVar

from ..base.dtypes import AnyDType
from ..base.errors import LaunchError
from ..base.shapes import Shape
from ..compile.options import CompileOptions
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.module import CudaFunction
from ..devices.protocol import Device, Function, LaunchConfig
from ..frontend.capture.annotations import capture
from ..frontend.capture.parameters import Parameter
from ..ir.signature import constant_kind
from ..op.ambient import default_device, unsafe_allowed
from ..op.core import DeviceOp
from ..op.place import here, place_of
from ..tensors.shape import ShapeLike
from .arguments import Arg, Bound, OutputArg, ScalarArg, TensorArg
from .binding import Placed, check_element
from .blocks import Asked, asked_for
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
from .form import PLAIN, Form, Known, Request
from .links import Generics, link
from .plain import PlainBinder
from .recent import Recent
from .scalars import Accept, accepting
from .slices import SliceBinder, refuse_gaps
from .specialize import refuse_unhashable
from .whole import WholeLaunch

R_co = TypeVar("R_co", covariant=True)

FORMS, KINDS = 256, 64
"""Forms a kernel remembers, and codes that a form does."""
CONSTANTS = 64
"""Sets of constants with which a kernel is called that are remembered."""
NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is said of a foreign kernel: its parameters, and what its memory may look like."""

    name: str
    parameters: tuple[Parameter, ...]
    constants: tuple[Parameter, ...] = ()
    strided: frozenset[str] = frozenset()
    """The tensors whose elements need not stand in a row."""


class _Binder(SliceBinder):
    """Binds calls of one foreign kernel."""

    def __init__(self, declaration: Declaration) -> None:
        super().__init__(declaration)
        self._strided = declaration.strided

    def describe(self, bound: Bound) -> tuple[Arg, ...]:
        """What is known of each argument."""
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
        self.made: Recent[tuple[Any, ...], ForeignCode] = Recent(KINDS)
        """Codes by device, alignment, traits of numbers, grid, and what else was asked for."""

    def ranges(self) -> bytes:
        """Nothing is sure of numbers, whose types may not be declared."""
        return b""

    def accepting(self, kernel: str, parameter: Parameter) -> Accept:
        """What checks the numbers given for a parameter, and gives them with their types."""
        accept = _Accepting(kernel, parameter.name)
        return partial(_typed, accept, self._maker, parameter.dtype)


class _Accepting(dict[AnyDType, Accept]):
    """What checks the numbers given for one parameter, by their type."""

    def __init__(self, kernel: str, name: str) -> None:
        super().__init__()
        self._kernel, self._name = kernel, name

    def __missing__(self, dtype: AnyDType) -> Accept:
        found = self[dtype] = accepting(self._kernel, self._name, dtype)
        return found


def _typed(accept: _Accepting, maker: Maker, declared: AnyDType | str | None, value: Any) -> Typed:
    dtype = maker.number_type(value) if declared is None else declared
    assert not isinstance(dtype, str), "generics are not for foreign kernels"
    return Typed(dtype, accept[dtype](value))


class ForeignKernel:
    """A kernel of another compiler, as launches know kernels, with its constants."""

    unsafe = False
    bare = PLAIN

    def __init__(
        self, declaration: Declaration, maker: Maker, given: Mapping[str, Any] | None = None
    ) -> None:
        self.name = declaration.name
        self.source = declaration
        self._binder = _Binder(declaration)
        self.written = tuple(self._binder.outputs)
        """Which of its parameters are outputs."""
        self._maker = maker
        self._given = dict(given or {})
        self._constants = dict(self._binder.constants(self._given))
        self._forms: Recent[tuple[Any, ...], ForeignForm] = Recent(FORMS)
        self.plain = self._plain()
        """What binds most calls, and borrows too; None: all need a closer look."""

    def _plain(self) -> PlainBinder | None:
        missing = any(value is Declared.empty for value in self._constants.values())
        if missing or not (self._binder.outputs or self._binder.inputs):
            return None
        return PlainBinder(self.source, self._binder, self._form)

    def with_constants(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> ForeignKernel:
        """The same kernel for the constants of a call."""
        self._binder.check_call(args, keywords)
        refuse_unhashable(self.name, self._binder.constants(keywords))
        return ForeignKernel(self.source, self._maker, keywords)

    def placed(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Placed:
        """The arguments by position, though some were given by name, and the other keywords."""
        return self._binder.placed(args, keywords)

    def asked(self, keywords: Mapping[str, Any]) -> None:
        """Nothing is known: calls with keywords are those of `with_constants`."""

    def check_generics(self, generics: Mapping[str, Any]) -> NoReturn:
        """It has none."""
        raise TypeError(f"`{self.name}` was compiled elsewhere and has no generics")

    def request(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Request:
        """Check the number of arguments and the keywords of a call; give what it asks for."""
        if self.plain is not None and not keywords and len(args) == self.plain.arity:
            return PLAIN
        given = {**self._given, **keywords}
        self._binder.check_call(args, given)
        if given != self._given:
            raise LaunchError(f"a node of `{self.name}` keeps its constants")
        return PLAIN

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any], generics: Generics) -> Bound:
        """The arguments of a call, checked one by one."""
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
        """Whether the code for a launch is there."""
        return self._maker.is_loaded(self._call(bound, request))

    def code(self, bound: Bound, request: Request) -> ForeignCode:
        """The code for a launch; made now if it is not there yet."""
        self._refuse_host_memory(bound)
        form, maker = bound.form, self._maker
        assert isinstance(form, ForeignForm)
        call = self._call(bound, request)
        grid, traits = maker.grid(call), maker.traits(bound.numbers)
        aligned = [is_aligned(region.address) for region in bound.memory]
        key: tuple[Any, ...] = (bound.device, *aligned, traits, grid, call.asked)
        found = form.made.get(key)
        if found is None:
            ready, again = maker.ready(call, grid), partial(self.code, request=request)
            self._refuse_elsewhere(ready.function, bound.device)
            found = ForeignCode(self.name, ready, form.args, again)
            if found.is_lasting:
                form.made.keep(key, found)
        if bound.held is not None and request is PLAIN:
            self._remember(bound, call, grid, found)
        return found

    def _remember(self, bound: Bound, call: Call, grid: Shape, code: ForeignCode) -> None:
        """Let plain launches of these kinds find their code."""
        assert bound.held is not None
        known: Known = bound.held[-1]
        if code.run.plan is not None:
            plans = known.asked(PLAIN)[1] or PlansByNumbers(self._maker, call, grid)
            assert isinstance(plans, PlansByNumbers)
            plans.keep(bound.numbers, grid, code.run.plan)
            known.remember(PLAIN, code, plans)

    def _call(self, bound: Bound, request: Request) -> Call:
        memory = {True: enumerate(bound.written), False: enumerate(bound.read, len(bound.written))}
        numbers = enumerate(bound.numbers)
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
        return Call(self.name, bound.device, given, self._constants, asked)

    def _refuse_elsewhere(self, function: Function, device: Device) -> None:
        """Code is loaded on one device, and runs there alone."""
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
        """Arrays of the host are not copied for code that may keep their addresses."""
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


class ForeignLaunch(WholeLaunch[R_co]):
    """A foreign kernel with its arguments. Its result is the tuple of the very objects passed."""

    def launch_config(
        self,
        config: LaunchConfig | None = None,
        /,
        *,
        grid: ShapeLike | None = None,
        block: ShapeLike | None = None,
        shared_mem_bytes: int = 0,
    ) -> Self:
        """Say how many blocks run, of how many threads, where the kernel's wrapper does not."""
        if config is not None:
            grid, block = config.grid_dim, config.block_dim
            shared_mem_bytes = config.shared_mem_bytes

        def asking() -> Request:
            return self._request._replace(threads=asked_for(grid, block, shared_mem_bytes))

        return self._asking(asking)

    def out(self) -> DeviceOp[Any]:
        """What was written alone: one tensor, or a tuple of them."""
        return super().out()

    def grid(self, grid: ShapeLike) -> Self:
        """Say how many blocks run; as `launch_config(grid=...)`."""
        return self.launch_config(grid=grid)

    def const_grid(self, grid: ShapeLike) -> NoReturn:
        """Not for code that was compiled elsewhere."""
        self.mark_refused()
        raise TypeError(f"`{self.name}` has no const_grid(); use launch_config(grid=...)")

    def compile_options(self, options: CompileOptions | None = None, /, **changes: Any) -> NoReturn:
        """Not for code that was compiled elsewhere."""
        self.mark_refused()
        raise TypeError(f"`{self.name}` was compiled elsewhere, and takes no options of ours")


class ForeignEntry:
    """A kernel of another compiler. Calling it with its arguments gives the op that runs it.

    It takes what SIMT kernels take: tensors and arrays to read, `z.borrow_mut()`, `tw.move(z)` or
    an op for what it writes, numbers.
    """

    def __init__(self, declaration: Declaration, maker: Maker) -> None:
        if not unsafe_allowed():
            raise LaunchError(
                f"`{declaration.name}` is foreign code, which cannot be checked; wrap it"
                " inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint="write `with tw.unsafe():` around it, if it reads and writes nothing but what"
                " its declaration says",
            )
        self._kernel = ForeignKernel(declaration, maker)
        self._with_constants: Recent[Hashable, ForeignKernel] = Recent(CONSTANTS)
        self.source = declaration
        self.__name__ = declaration.name

    def __call__(self, /, *args: Any, **keywords: Any) -> ForeignLaunch[Any]:
        """Build the op that runs the kernel on these arguments."""
        constants: Mapping[str, Any] = keywords
        if constants and len(args) < len(self.source.parameters):
            args, constants = self._kernel.placed(args, constants)
        kernel = self._for(args, constants) if constants else self._kernel
        return ForeignLaunch[Any].of(kernel, args, {})

    def _for(self, args: Sequence[Any], constants: Mapping[str, Any]) -> ForeignKernel:
        """The kernel for some constants."""
        values = constants.values()
        key = (*constants, *values, *[constant_kind(value) for value in values])
        try:
            found = self._with_constants.get(key)
        except TypeError:  # the words for this are the kernel's
            found = None
        if found is None:
            found = self._kernel.with_constants(args, constants)
            self._with_constants.keep(key, found)
        return found

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.source.parameters)
        return f"ForeignEntry({self.__name__}({names}))"


Wrap: TypeAlias = Callable[[Callable[..., Any]], ForeignEntry]


def declare(maker: Maker, *, strided: Sequence[str] = (), name: str | None = None) -> Wrap:
    """Make a foreign kernel of a Python function that only declares its parameters."""
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
