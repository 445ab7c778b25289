"""The op a kernel call gives: borrows its arguments when built, runs when started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeVar, TypeVarTuple

from .._core import (
    LINK_MAP,
    link,
    set_defer_classes,
    set_launch_classes,
    set_launch_trace,
    set_outputs_class,
)
from .._core import Launch as NativeLaunch
from .._core import Outputs as NativeOutputs
from ..base.dtypes import DType
from ..base.errors import BorrowError, InternalError, LaunchError, SchedulingError
from ..base.shield import shielded
from ..compile.options import CompileOptions
from ..devices.protocol import Device, Stream
from ..devices.timeline import Timeline
from ..op.ambient import unsafe_allowed
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp, has_op, is_op
from ..op.outcome import Outcome
from ..op.place import Location, here, place_of
from ..op.pledging import check_all
from ..op.running import ELSEWHERE, Steps, named, run_here
from ..tensors.belonging import is_among
from ..tensors.borrow import LOCK
from ..tensors.order import regions_of, tidy
from ..tensors.pending_work import PendingWork
from ..tensors.pledges import Pledge, behind
from ..tensors.recording import Recording
from ..tensors.shape import ShapeLike
from .arguments import Bound, Held, is_borrow
from .cpu_plan import CpuPlan
from .cuda_plan import CudaPlan
from .examining import Examination, examine
from .explain import (
    mark_written,
    refuse_conflicts,
    refuse_ended_borrows,
    refuse_ended_tickets,
    refuse_unusable,
    settle,
)
from .foreign_code import PlansByNumbers
from .form import PLAIN, Known, Request
from .grid import as_grid
from .kernel import DEFAULT_OPTIONS
from .launch_plan import CalledPlan
from .links import by_hand
from .pledging import is_lent_argument, pledge_arguments
from .protocol import Launchable, Runnable
from .starting import give_back, may_run_here, record, settle_known, start
from .tracing import trace_launch

E = TypeVar("E", bound=DType)
F = TypeVar("F", bound=DType)
R_co = TypeVar("R_co", covariant=True)
Ts = TypeVarTuple("Ts")


class Outputs(NativeOutputs):
    """Takes the outputs of a launch out of its results, unpartitioned: one tensor, or a tuple."""

    __slots__ = ()

    def one(self, result: Any) -> Any:
        """Return the tensor of a partition, or that of an accumulator, which was borrowed."""
        return result.borrowed if is_borrow(result) else result.written()


set_outputs_class(Outputs)

MOST_OUTPUTS = 256
"""Ways to take outputs out of results that are remembered: kernels have few."""


class Launch(NativeLaunch, Composite[R_co]):
    """A kernel with its arguments. Its result is the tuple of the very objects passed.

    Arguments are borrowed when it is built, and checked; where some are ops, these run first, and
    everything is checked then. The core builds, starts and waits for launches; it asks this class
    what it cannot decide by numbers.
    """

    gives_back = True

    __slots__ = ()
    LISTED = "compile compile_options const_grid generics grid out"

    _outputs: ClassVar[Callable[[tuple[int, ...], int], Outputs]] = staticmethod(
        lru_cache(MOST_OUTPUTS)(Outputs)
    )
    """Takes which results are outputs, and how many results there are."""

    _kernel: Launchable
    _args: tuple[Any, ...]
    _request: Request
    _held: Held | None
    """The tensors, where all are on the fast path."""
    _examined: Bound | None
    _numbers: Sequence[Any]
    _keywords: Mapping[str, Any]
    _pledges: Sequence[Pledge]
    """Where some arguments are ops: the borrows of the others."""

    @classmethod
    def of(
        cls,
        kernel: Launchable,
        args: tuple[Any, ...],
        keywords: Mapping[str, Any],
        location: Location = None,
    ) -> Self:
        """Build one, for a program at `location`; None: the location of the caller.

        By itself: calling a class takes Python twice as long.
        """
        self = object.__new__(cls)
        self._built = location or here(2)  # a kernel's `__call__`
        self._used = ()
        self._kernel, self._args, self._numbers = kernel, args, ()
        self._request, self._held, self._examined = PLAIN, None, None
        self._keywords, self._pledges, self.made_of, self.effect = keywords, (), (), True
        try:
            if kernel.unsafe:
                self._refuse_outside_unsafe()
            self._request = kernel.request(args, keywords)
            if has_op(args):
                self._defer()
            else:
                self._bind(args)
        except Exception:
            self._refuse()
            raise
        return self

    def _bind_with_numbers(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> bool:
        """Bind arguments as those of any launch, if none must be described first."""
        plain = self._kernel.plain
        values = plain.with_numbers(args, keywords)
        if values is None:
            return False
        held = self._held = plain.bind(values, self._built or 0)
        if held is not None and plain.has_numbers:
            self._numbers = tuple(plain.numbers(values, held))
        return held is not None

    def _refuse(self) -> None:
        """Return the arguments, ops included, of a launch that will not run."""
        self.effect = False
        given = (*self._args, *self._keywords.values())
        give_back(given)
        for op in filter(is_op, given):
            op.mark_refused()

    def _count_results(self) -> int:
        return len(self._kernel.source.parameters)

    @property
    def _bound(self) -> Bound | None:
        """The arguments, checked and borrowed, for who looks at them closely."""
        if self._examined is None and self._held is not None:
            self._examined = self._kernel.plain.bound(self._args, self._held)
            self._examined.numbers = self._numbers
        return self._examined

    if TYPE_CHECKING:  # these are native

        @property
        def name(self) -> str:
            """The kernel's name."""
            ...

        @property
        def home(self) -> Device | None:
            """The device its tensors live on, as far as is known before argument ops have run."""
            ...

        def is_lengthy(self) -> bool:
            """Return whether it must be compiled first."""
            ...

        def steps(self, ctx: ExecutionContext) -> Steps[R_co]:
            """Return the argument ops, then the kernel."""
            ...

    def generics(self, *unnamed: Never, **names: Any) -> Self:
        """Set TypeVars where arguments do not determine them: `.generics(E=tw.f16, BM=128)`."""
        if unnamed:
            self.mark_refused()
            raise TypeError("generics go by the name of their TypeVar: .generics(E=tw.f32, N=64)")

        def linked() -> Request:
            self._kernel.check_generics(names)
            generics = by_hand({**dict(self._request.generics), **names})
            if self._bound is not None:
                self._kernel.give_form(self._bound, generics)
                self._numbers = tuple(self._bound.numbers)
            return self._request._replace(generics=generics)

        return self._asking(linked)

    def grid(self, grid: ShapeLike) -> Self:
        """Set the number of blocks; with outputs, it must agree with their partitions."""
        return self._asking(lambda: self._request._replace(grid=as_grid(grid)))

    def const_grid(self, grid: ShapeLike) -> Self:
        """Do as `grid`, and make it a constant of the compilation."""
        return self._asking(lambda: self._request._replace(const_grid=as_grid(grid)))

    def compile_options(self, options: CompileOptions | None = None, /, **changes: Any) -> Self:
        """Pass hints to the code generator: a `CompileOptions`, or its fields by keyword."""
        base = options or self._request.options or DEFAULT_OPTIONS
        return self._asking(lambda: self._request._replace(options=replace(base, **changes)))

    @property
    def request(self) -> Request:
        """What it asks for besides its arguments."""
        return self._request

    def ask_again(self, before: Request, after: Request) -> bool:
        """Replace the request `before` by `after`; return whether that was its request."""
        if self._request is not before:
            return False
        self._request = after
        return True

    def compile(self) -> Self:
        """Compile and load the kernel for these arguments now; the op is not run by that."""
        self.made_ready()
        return self

    def made_ready(self) -> tuple[Bound, Runnable]:
        """Return its arguments, and the code that runs on them; compile if necessary."""
        bound = self._bound
        if bound is None:
            self.mark_refused()
            raise LaunchError(
                f"`{self.name}` cannot be compiled before its argument ops have run",
                hint="compile a launch on tensors, or on tw.meta(...)",
            )
        return bound, self._kernel.code(bound, self._request)

    def examined_in(self, ctx: ExecutionContext, tries: int) -> Examination:
        """Compile it, and do what else the core needs done before it is submitted."""
        bound = self._bound
        assert bound is not None, "the core has bound it"
        if bound.form.home is not ctx.stream.device:
            self._settle_device(bound, ctx)
        code = self._kernel.code(bound, self._request)
        code.check(bound.numbers)
        check = partial(refuse_ended_borrows, self.name, bound)
        if ctx.is_capturing:
            return Examination(code, code.run.called, check, None)
        assert bound.held is not None, "the core has bound it"
        _, known = bound.held[-1].asked(self._request)
        plan = code.run.called if tries > 1 else known or code.run.plan
        examination = Examination(code, plan, check, partial(mark_written, bound))
        examination.follow(ctx.stream, bound.may_write, bound.read, on_host=tries > 1)
        return examination

    def _asking(self, request: Callable[[], Request]) -> Self:
        """Change what the launch asks for; one that is refused does not warn when dropped."""
        try:
            self._request = request()
        except Exception:
            self.effect = False
            raise
        return self

    def out(self: Launch[Any]) -> DeviceOp[Any]:
        """Return the outputs alone, unpartitioned: one tensor, or a tuple of them."""
        kernel = self._kernel
        outputs = type(self)._outputs(kernel.written, len(kernel.source.parameters))
        op: DeviceOp[Any] = link(self, LINK_MAP, "out", outputs, (), 1)
        return op

    def _must_compile(self) -> bool:
        """Return whether it must be compiled first, where the core is not sure."""
        if self._held is not None:
            code, _ = self._held[-1].asked(self._request)
            if code is not None:
                return code.compiled.stale() is not None
        bound = self._bound
        return bound is not None and not self._kernel.is_ready(bound, self._request)

    def check_standing(self) -> None:
        """Raise if a borrow of an argument has ended."""
        check_all(self._pledges)
        if self._bound is not None:
            refuse_ended_tickets(self.name, self._bound)

    def borrows(self, given: Sequence[object]) -> str | None:
        """Return the first borrowed argument."""
        # Our own references to each: in the arguments, in what they are bound to, in its pledge.
        references = 1 + (self._examined is not None) + bool(self._pledges)
        for i in range(len(self._args)):
            parameter = self._kernel.source.parameters[i]
            lent = is_lent_argument(parameter, self._args[i], references)
            if lent and not is_among(behind(self._args[i]), given):
                return f"it borrows `{parameter.name}`"
        return None

    def give_back(self) -> None:
        """Return the arguments to their origin, if it has not run."""
        args, self._args = self._args, ()
        self._held = self._examined = None
        self._pledges = ()
        give_back(args)

    def fail(self, error: BaseException) -> None:
        """Release what the launch holds after a refusal or failure, and name it in the error."""
        args = self._args
        self._args, self._held, self._examined = (), None, None
        give_back(args)
        if isinstance(error, Exception):
            named(error, self)

    def hear(self, plan: CpuPlan | CudaPlan, record: Any) -> None:
        """Take the report of a finished launch; the core calls this."""
        try:
            plan.hear(record)
        except BaseException as error:
            self.fail(error)
            raise

    def settle_run(self, ctx: ExecutionContext) -> None:
        """Take what the launch was given from former owners, unless later work may still fail.

        The core has run the launch, and it is over.
        """
        bound = self._bound
        assert bound is not None, "the core has bound it"
        shielded(settle, bound, ctx)

    def settle_started(self, ctx: ExecutionContext, outcome: Outcome | None) -> None:
        """Do as `settle_run`, where the core has started it: once its stream has passed it.

        What became of it `outcome` says then; None: it cannot fail alone.
        """
        bound = self._bound
        assert bound is not None, "the core has bound it"
        shielded(settle, bound, ctx, is_over=False)
        ctx.stream.after(partial(settle_known, bound, ctx, outcome))

    def execute_closely(self, ctx: ExecutionContext) -> R_co:
        """Do as `execute` where the core has not bound it: argument ops run first."""
        if self._held is not None:
            raise InternalError(f"`{self.name}` could not be submitted to {ctx.stream!r}")
        if not self.staged:
            raise BorrowError(f"`{self.name}` has run already: an op is used once")
        return run_here(self, ctx)

    def record_on(self, stream: Stream) -> object:
        """Enqueue the launch on a stream that another library captures.

        The result must live as long as the graph that library makes.
        """
        self.claim("record_on()")
        if self.staged:
            raise LaunchError(f"`{self.name}` cannot be recorded before its argument ops have run")
        ctx = ExecutionContext(stream)
        ctx.recording = Recording(self.name)
        self.execute(ctx)
        nodes = ctx.recording.nodes
        for region in [region for node in nodes for region in node.writes]:
            region.mark_written()
        ctx.deliver()
        return [node.work for node in nodes]

    def _run_closely(self, values: Sequence[Any], ctx: ExecutionContext) -> Steps[R_co]:
        """Run the kernel on arguments whose ops have run, where some must be described."""
        self._bind(tuple(values))
        self._args, self.staged = tuple(values), False
        if ctx.on_loop and self._must_compile():
            yield ELSEWHERE
        return self.execute(ctx)

    def _bind_plainly(self, values: tuple[Any, ...]) -> bool:
        """Bind arguments whose ops have run as those of any launch, if none must be described.

        What it has borrowed since it was built must hold until then.
        """
        if self._request.generics or len(values) != self._kernel.plain.arity:
            return False
        with LOCK:
            check_all(self._pledges)
            if not self._bind_with_numbers(values, self._keywords):
                return False
        self._args, self._pledges, self.staged = values, (), False
        return True

    def _settle_device(self, bound: Bound, ctx: ExecutionContext) -> None:
        """Check that tensors are on the stream's device; host arrays follow the stream."""
        home = bound.form.home
        if home is None:
            bound.device = ctx.device
        else:
            raise SchedulingError(
                f"`{self.name}` cannot run on {ctx.stream!r}: its tensors live on another device",
                expected=f"a stream of {home!r}",
                got=f"a stream of {ctx.device!r}",
                hint="copy the tensors with .to(device), or choose a stream of their device",
            )

    def rebinding(self, bound: Bound) -> Callable[..., Bound]:
        """Return what binds other arguments for the same code, for a graph."""
        return partial(self._bind_alike, bound)

    def _bind_alike(self, bound: Bound, /, *args: Any, **named: Any) -> Bound:
        """Bind other arguments for the same code, for a graph."""
        kernel = self._kernel
        args, keywords = kernel.placed(args, named)
        asked = kernel.request(args, keywords)
        if (asked.constants, asked.kinds) != (self._request.constants, self._request.kinds):
            raise LaunchError(f"a node of `{self.name}` keeps its constants")
        args = kernel.plain.adapted(args, keywords)
        other = kernel.bind(args, keywords, self._request.generics)
        if other.form is not bound.form:
            raise LaunchError(
                f"a node of `{self.name}` takes only arguments like those it was recorded with",
                expected=_layouts(bound),
                got=_layouts(other),
                hint="capture another graph",
            )
        refuse_conflicts(self.name, other)
        arguments = kernel.plain.with_numbers(args, keywords)
        assert arguments is not None, "they were bound"
        with LOCK:
            refuse_unusable(other)
            borrowed = kernel.plain.bind_described(arguments, other, here() or 0)
        borrowed.form, borrowed.device = bound.form, bound.device
        return borrowed

    def _bind(self, values: tuple[Any, ...]) -> None:
        """Bind arguments, and borrow them; raise if one of them is refused.

        What it has borrowed since it was built must hold until then.
        """
        plainly = not self._pledges and not self._request.generics
        if plainly and self._bind_with_numbers(values, self._keywords):
            return
        kernel, given = self._kernel, self._taking(values)
        bound = kernel.bind(given, self._keywords, self._request.generics)
        refuse_conflicts(kernel.name, bound)
        arguments = kernel.plain.with_numbers(given, self._keywords)
        assert arguments is not None, "they were bound"
        pledges, self._pledges = self._pledges, ()
        with LOCK:
            check_all(pledges)
            refuse_unusable(bound)
            borrowed = kernel.plain.bind_described(arguments, bound, self._built or 0)
        borrowed.form, borrowed.device = bound.form, bound.device
        self._examined, self._held, self._numbers = borrowed, borrowed.held, tuple(bound.numbers)

    def _taking(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments as they are borrowed."""
        return values

    def _refuse_outside_unsafe(self) -> None:
        if not unsafe_allowed():
            raise LaunchError(
                f"`{self.name}` is an unsafe kernel; its launches are built inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint=f"write `with tw.unsafe():` around {self.name}(...)",
            )


def _layouts(bound: Bound) -> str:
    return ", ".join(f"{arg.dtype.name} {arg.layout.shape}" for arg in bound.form.memory)


def _tidy(held: Held) -> bool:
    """Drop finished work from the memory of a refused launch; return whether that helped."""
    return tidy(regions_of(held))


def _settle(op: Launch[Any], ctx: ExecutionContext) -> None:
    """Do as `Launch.settle_run`."""
    op.settle_run(ctx)


def _settle_started(op: Launch[Any], ctx: ExecutionContext, outcome: Outcome | None) -> None:
    """Do as `Launch.settle_started`."""
    op.settle_started(ctx, outcome)


def _new_outcome(op: Launch[Any], ctx: ExecutionContext | None, stream: Stream) -> Outcome:
    """Return the outcome of a launch that is about to start and may report."""
    outcome = Outcome(((op.name, op.built),)) if ctx is None else ctx.outcome(op)
    outcome.event = stream.record()  # of its stream, which is asked what became of it
    return outcome


CORE_CLASSES: Mapping[str, Any] = {
    "Known": Known, "CpuPlan": CpuPlan, "CudaPlan": CudaPlan, "CalledPlan": CalledPlan,
    "PlansByNumbers": PlansByNumbers, "Timeline": Timeline, "PendingWork": PendingWork,
    "start": start, "record": record, "tidy": _tidy, "examine": examine,
    "may_run_here": may_run_here, "settle": _settle,
    "settle_started": _settle_started, "give_back": give_back, "new_outcome": _new_outcome,
}  # fmt: skip
"""What the core meets when it ends launches, by the names that it asks for."""

set_launch_classes(dict(CORE_CLASSES))
set_launch_trace(trace_launch)
set_defer_classes({
    "ELSEWHERE": ELSEWHERE, "Pledge": Pledge, "give_back": give_back,
    "pledge_arguments": pledge_arguments,
})  # fmt: skip
