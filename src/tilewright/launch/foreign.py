"""Kernels of other compilers as ops: their arguments are borrowed and checked as those of ours.

What such a kernel does with its arguments is beyond our sight. Who wraps one says which of them it
writes, inside `tw.unsafe()`; its launches are as safe as that is true.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, NoReturn, Protocol, Self, TypeAlias, TypeVar

from ..array.layout import Layout
from ..array.shape import ShapeLike
from ..base.dtypes import AnyDType
from ..base.errors import LaunchError
from ..base.shapes import Shape, size
from ..compile.options import CompileOptions
from ..driver.protocol import Device, Function, FunctionRun, LaunchConfig, Stream
from ..frontend.capture import capture
from ..frontend.parameters import Parameter
from ..ir.constants import constant_kind
from ..op.ambient import default_device, unsafe_allowed
from ..op.core import DeviceOp
from ..op.place import here, place_of
from .arguments import Arg, Bound, OutputArg, ScalarArg, TensorArg
from .binding import check_element
from .blocks import Asked, asked_for
from .code import NOTHING, Later, Recorded, Run
from .definition import locals_of_caller
from .form import Form, Request
from .links import Generics, link
from .recent import Recent
from .report import QUIET, Report
from .scalars import slot_of
from .slices import SliceBinder, refuse_gaps
from .specialize import refuse_unhashable
from .whole import WholeLaunch

R_co = TypeVar("R_co", covariant=True)

FORMS = 256
"""Forms a kernel remembers."""
NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class MemoryGiven:
    """A tensor that a kernel is given."""

    layout: Layout
    address: int
    written: bool

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self.layout.shape

    @property
    def word(self) -> int:
        """Its address."""
        return self.address


@dataclass(frozen=True, slots=True)
class NumberGiven:
    """A number that a kernel is given."""

    dtype: AnyDType
    value: Any

    @property
    def word(self) -> int:
        """Its bits."""
        return slot_of(self.dtype, self.value)


Given: TypeAlias = MemoryGiven | NumberGiven


@dataclass(frozen=True, slots=True)
class Call:
    """All that the code of a launch depends on."""

    kernel: str
    device: Device
    given: Mapping[str, Given]
    """The arguments by name, in the kernel's order."""
    constants: Mapping[str, Any]
    asked: Asked


class Ready(NamedTuple):
    """A launch as a driver takes it."""

    function: Function
    config: LaunchConfig
    words: Sequence[int]
    """The arguments, one word for each parameter of the function."""
    keep: object = None
    """Stays alive until the device has passed the launch."""


class Maker(Protocol):
    """Knows the code of one kernel: compiles and loads it, and says how it takes arguments."""

    def number_type(self, value: Any) -> AnyDType:
        """The type of a number for which the kernel declares none."""
        ...

    def is_loaded(self, call: Call) -> bool:
        """Whether the code for a launch is there."""
        ...

    def ready(self, call: Call) -> Ready:
        """A launch, its code compiled and loaded."""
        ...


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


class ForeignKernel:
    """A kernel of another compiler, as launches know kernels."""

    plain = None
    unsafe = False

    def __init__(self, declaration: Declaration, maker: Maker) -> None:
        self.name = declaration.name
        self.source = declaration
        self._binder = _Binder(declaration)
        self._maker = maker
        self._forms: Recent[tuple[Any, ...], Form] = Recent(FORMS)

    def check_generics(self, generics: Mapping[str, Any]) -> NoReturn:
        """It has none."""
        raise TypeError(f"`{self.name}` was compiled elsewhere and has no generics")

    def request(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Request:
        """Check the number of arguments and the keywords of a call; give what it asks for."""
        self._binder.check_call(args, keywords)
        constants = self._binder.constants(keywords)
        refuse_unhashable(self.name, constants)
        return Request(constants, tuple([constant_kind(value) for _, value in constants]))

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any], generics: Generics) -> Bound:
        """The arguments of a call, checked one by one."""
        bound = self._binder.bind(values, keywords)
        self.give_form(bound, generics)
        bound.device = bound.form.home or default_device()
        return bound

    def give_form(self, bound: Bound, generics: Generics) -> None:
        """Find the form of a launch, and check its numbers against it."""
        scalars = [p for p in self.source.parameters if p.kind == "scalar"]
        types = tuple(
            [p.dtype or self._maker.number_type(value)
             for p, value in zip(scalars, bound.numbers, strict=True)]
        )  # fmt: skip
        key = (bound.kind, types)
        form = self._forms.get(key)
        if form is None:
            typed = iter(types)
            args = tuple(
                ScalarArg(replace(arg.parameter, dtype=next(typed)))
                if isinstance(arg, ScalarArg) else arg
                for arg in self._binder.describe(bound)
            )  # fmt: skip
            form = Form(self.name, args, link(self.name, args, generics))
            self._forms.keep(key, form)
        bound.form = form
        bound.numbers = form.accept(bound.numbers)

    def is_ready(self, bound: Bound, request: Request) -> bool:
        """Whether the code for a launch is there."""
        return self._maker.is_loaded(self._call(bound, request))

    def code(self, bound: Bound, request: Request) -> ForeignCode:
        """The launch as its driver takes it."""
        self._refuse_host_memory(bound)
        ready = self._maker.ready(self._call(bound, request))
        return ForeignCode(self.name, ready)

    def _call(self, bound: Bound, request: Request) -> Call:
        memory = {True: iter(bound.written), False: iter(bound.read)}
        numbers = iter(bound.numbers)
        given: dict[str, Given] = {}
        for arg in bound.form.args:
            name = arg.parameter.name
            if isinstance(arg, ScalarArg):
                assert not isinstance(arg.parameter.dtype, str | None)
                given[name] = NumberGiven(arg.parameter.dtype, next(numbers))
            else:
                written = isinstance(arg, OutputArg)
                region = next(memory[written])
                given[name] = MemoryGiven(region.layout, region.address, written)
        asked = request.threads or NOTHING_ASKED
        return Call(self.name, bound.device, given, dict(request.constants), asked)

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


class ForeignCode:
    """One launch of a foreign kernel, ready to be put on a stream."""

    __slots__ = ("kernel", "run")

    def __init__(self, kernel: str, ready: Ready) -> None:
        self.kernel = kernel
        """The kernel's name."""
        self.run: Run = ForeignRun(kernel, ready) if size(ready.config.grid_dim) else NOTHING
        """How it gets on its way."""

    def check(self, numbers: Sequence[Any]) -> None:
        """Nothing is known that could be checked."""


class ForeignRun:
    """Puts one launch on a stream."""

    shot = None

    __slots__ = ("_kernel", "_ready")

    def __init__(self, kernel: str, ready: Ready) -> None:
        self._kernel, self._ready = kernel, ready

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Later:
        """Put it on a stream, with its arguments kept alive until it has passed."""
        function, config, words, keep = self._ready
        run = function.put_on(stream, config, words, inline=inline, keep=(bound, keep))
        return partial(_report, run)

    def is_brief(self) -> bool:
        """Nobody knows how long it takes."""
        return False

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Put it into a capture."""
        function, config, words, keep = self._ready
        function.put_on(stream, config, words, keep=(bound, keep))
        return Recorded(lambda raw: QUIET, self._refuse_refill)

    def _refuse_refill(self, bound: Bound) -> NoReturn:
        raise LaunchError(
            f"a node of `{self._kernel}` keeps the arguments it was recorded with",
            hint="capture another graph",
        )


def _report(run: FunctionRun) -> Report:
    problem = run.problem()
    return QUIET if problem is None else Report(error=problem)


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
                f"`{declaration.name}` is code that nothing here can look into; it is wrapped"
                " inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint="write `with tw.unsafe():` around it, if it reads and writes nothing but what"
                " its declaration says",
            )
        self._kernel = ForeignKernel(declaration, maker)
        self.source = declaration
        self.__name__ = declaration.name

    def __call__(self, *args: Any, **constants: Any) -> ForeignLaunch[Any]:
        """Build the op that runs the kernel on these arguments."""
        return ForeignLaunch[Any].of(self._kernel, args, constants)

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
    given = Declaration(name or source.name, source.parameters, source.constants, strided)
    return ForeignEntry(given, maker)
