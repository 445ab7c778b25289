"""Runs compiled kernels where their tensors live: one way per device, from code to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.errors import ContextError
from ..base.shapes import Shape
from ..compile.options import Stops
from ..devices.immediate import ImmediateStream
from ..devices.null import MemoryUse, NullStream
from ..devices.protocol import Device, Stream
from ..ir.artifact import Artifact
from ..tensors.region import Region
from .arguments import Arg, Bound, OutputArg, PointerArg, ScalarArg, TensorArg
from .code import Later, Recorded, RunOver
from .cuda import load_cuda
from .launch_plan import CalledPlan, called_plan
from .native import load_native
from .report import QUIET, Report

if TYPE_CHECKING:
    from ..backend.reference.machine import Debugger
    from ..ir.core import Func

Load: TypeAlias = Callable[[Artifact, Sequence[Region]], RunOver]
"""Makes an artifact with its hidden memory runnable on a device."""


def load_reference(artifact: Artifact, hidden: Sequence[Region]) -> RunOver:
    """Interpret the kernel on the arguments' own memory."""
    func = artifact.code
    assert not isinstance(func, bytes)
    run = _followed(Stops()) if _has_breakpoint(func) else _interpret
    return lambda args, grid: Interpreted(partial(run, func, args, hidden, grid), called_plan(args))


def _has_breakpoint(func: Func) -> bool:
    from ..ir.ops.control import BREAKPOINT

    return any(op.is_a(BREAKPOINT) for op in func.walk())


def load_stepped(stops: Stops, artifact: Artifact, hidden: Sequence[Region]) -> RunOver:
    """Interpret the kernel for a debugger, which stops in one block, on any memory of the host."""
    func = artifact.code
    assert not isinstance(func, bytes)
    run = _followed(stops, stops_first=True)
    return lambda args, grid: InterpretedHere(
        partial(run, func, args, hidden, grid), called_plan(args)
    )


def _followed(stops: Stops, *, stops_first: bool = False) -> Callable[..., Report]:
    """Return how to interpret a kernel that has events for a debugger."""
    from ..debugging import Stepper, follow

    stepper = Stepper(stops.block, stops.thread, stops_first=stops_first)

    def run(
        func: Func, args: Sequence[Arg], hidden: Sequence[Region], grid: Shape, bound: Bound
    ) -> Report:
        return follow(lambda: _interpret(func, args, hidden, grid, bound, stepper))

    return run


class Interpreted:
    """Interprets launches on the calling thread."""

    lending = None

    def __init__(self, run: Callable[[Bound], Report], plan: CalledPlan) -> None:
        self._run = run
        self.plan = self.called = plan

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Report:
        """Interpret it now."""
        assert isinstance(stream, ImmediateStream)
        return stream.run(self._run, bound)

    def is_brief(self) -> bool:
        """Return True: the interpreter runs on the caller in any case."""
        return False

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Interpret it at each replay."""
        assert isinstance(stream, ImmediateStream)
        latest = [bound]
        stream.put(lambda: self._run(latest[0]))
        return Recorded(lambda report: report, lambda other: latest.__setitem__(0, other))


class InterpretedHere(Interpreted):
    """Interprets launches on the calling thread, on streams of any device of the host."""

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Report:
        """Interpret it now, behind what the stream has to do."""
        stream.record().wait()
        return self._run(bound)

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Raise an error: a replay has no user to debug it."""
        raise ContextError("a launch for a debugger cannot be recorded in a graph")


def load_null(artifact: Artifact, hidden: Sequence[Region]) -> RunOver:
    """Return code that only notes launches: the kernel compiles and fits its arguments."""
    return lambda args, grid: Noted(f"{artifact.name} over {grid}", called_plan(args))


class Noted:
    """Notes launches on null streams."""

    lending = None

    def __init__(self, text: str, plan: CalledPlan) -> None:
        self._text = text
        self.plan = self.called = plan

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Later:
        """Note it; it is over when the stream passes it."""
        assert isinstance(stream, NullStream)
        uses = [MemoryUse(region.start, region.end, writes=True) for region in bound.may_write]
        uses += [MemoryUse(region.start, region.end, writes=False) for region in bound.read]
        stream.launch(self._text, uses)
        return lambda: QUIET

    def is_brief(self) -> bool:
        """Return True: nothing runs."""
        return False

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Note it at each replay."""
        self.start(bound, stream, inline=False)
        return Recorded(lambda raw: QUIET, lambda bound: None)


LOADERS: Mapping[str, Load] = MappingProxyType(
    {"cpu": load_native, "reference": load_reference, "null": load_null}
)
"""The ways to run kernels on the host's devices, by their names."""


def stepped_on(kernel: str, device: Device, stops: Stops) -> Load:
    """Return the function that makes kernels runnable for a debugger."""
    if not device.host_visible:
        raise ContextError(
            f"a debugger cannot follow `{kernel}` on {device.name}",
            expected="tensors in the memory of the host",
            got=f"tensors on {device.name}",
            hint='copy them: x.to("cpu").sync(); or make them under tw.device("cpu")',
        )
    return partial(load_stepped, stops)


def loader_for(device: Device) -> Load:
    """Return the function that makes kernels runnable on a device."""
    return LOADERS.get(device.target) or partial(load_cuda, device)


def _interpret(
    func: Func, args: Sequence[Arg], hidden: Sequence[Region], grid: Shape, bound: Bound,
    debugger: Debugger | None = None,
) -> Report:  # fmt: skip
    from ..backend.reference.interpreter import run

    written = [a.parameter.name for a in args if isinstance(a, OutputArg)]
    unwritten = frozenset(
        name for name, region in zip(written, bound.written, strict=True) if not region.is_written
    )
    values = [*values_of(args, bound), *[region.array() for region in hidden]]
    outcome = run(func, values, grid, uninitialized=unwritten, debugger=debugger)
    return Report(outcome.failure, outcome.printed, outcome.problems, outcome.seed)


def values_of(args: Sequence[Arg], bound: Bound) -> list[Any]:
    """Return the interpreter's arguments: a NumPy array, or the number itself."""
    values: dict[type[Arg], Iterator[Any]] = {
        OutputArg: iter([region.array() for region in bound.written]),
        TensorArg: iter([region.array() for region in bound.read]),
        ScalarArg: iter(bound.numbers),
        PointerArg: iter([pointer.region.array() for pointer in bound.pointers]),
    }
    return [_shaped(arg, next(values[type(arg)])) for arg in args]


def _shaped(arg: Arg, value: Any) -> Any:
    """Return an array in the shape that the kernel sees: a slice has its elements in a row."""
    return value.reshape(arg.layout.shape) if isinstance(arg, OutputArg | TensorArg) else value
