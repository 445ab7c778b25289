"""Kernels that tune themselves: `tw.autotune`, and the op of a call that is not tuned yet."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, cast

from .._core import admit
from ..base.config import current
from ..base.errors import SchedulingError
from ..base.showing import grid
from ..devices.protocol import Device
from ..launch import Entry, Launch
from ..launch.definition import Declared
from ..launch.operation import Outputs
from ..launch.recent import Recent
from ..launch.simt import SimtEntry
from ..launch.whole import WholeOutputs
from ..op.ambient import default_device
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp, as_op, has_op, is_op
from ..op.nesting import RECORDERS, unlocked
from ..op.place import here, place_of
from ..op.running import ELSEWHERE, Steps
from ..tensors.arc import Arc
from ..tensors.partition import Partition
from ..tensors.tensor import BorrowMut, Tensor
from .choice import Choice, Grid, GridRule, refuse_outputs, refuse_unfit
from .facts import facts_of
from .key import KeyRule, Read, follows_from_layouts, home_of, layouts_of, reader
from .records import Record, alone, find, put
from .report import Report, note
from .sandbox import Sandbox, stand_in
from .space import Config, Space, as_space
from .tuner import Options, tune

LAYOUTS = 1024
"""Calls whose choice is known by the layouts of their arguments alone."""

AnyLaunch: TypeAlias = "Launch[Any] | TuningLaunch"
"""What a call of a tuned kernel gives: its launch, or an op that tunes first."""


class TunedKernel:
    """A kernel whose tiles, constants and hints are chosen by measuring them.

    It is called like the kernel, but with outputs that are not divided into tiles, and without the
    constants that are chosen. The first call with a key runs all configurations on its arguments,
    with copies of its outputs, and remembers the fastest one, also for other processes.
    """

    __name__: str

    def __init__(
        self, entry: Entry, space: Space, key: KeyRule, grid: GridRule, options: Options
    ) -> None:
        refuse_unfit(entry, space)
        self._grid = None if grid is None else Grid(entry, grid)
        self.entry = entry
        """The kernel."""
        self.space = space
        """What is chosen from."""
        self._options = options
        self._key: Read = reader(entry.__name__, entry.source.parameters, key)
        self._arity = len(entry.source.parameters)
        tensors = follows_from_layouts(entry.source.parameters, key)
        self._tensors = _places_of_tensors(entry) if tensors else None
        """Which arguments decide by their layouts alone; None: the key must be computed."""
        self._by_layouts: Recent[object, Choice] = Recent(LAYOUTS)
        self._choices: dict[Any, Choice] = {}
        self._reports: dict[Any, Report] = {}
        self._locks: dict[Any, threading.Lock] = {}
        self.declared: list[Declared] = []
        """The arguments of `declare`."""
        functools.update_wrapper(cast("Any", self), cast("Any", entry))

    def __call__(self, *args: Any, **constants: Any) -> AnyLaunch:
        """Tune a kernel."""
        places = self._tensors
        if places is not None and not constants and len(args) == self._arity:
            choice = self._by_layouts.get(layouts_of(args, places))
            if choice is not None:
                return choice.launch(args, constants)
        args, constants = self._placed(args, constants)
        if not has_op(args):
            choice = self._choices.get(self._key_of(args, constants))
            if choice is not None:
                layouts = None if places is None else layouts_of(args, places)
                if layouts is not None:
                    self._by_layouts.keep(layouts, choice)
                return choice.launch(args, constants)
        return TuningLaunch(self, args, constants)

    def tune(self, *args: Any, **constants: Any) -> Report:
        """Choose for such arguments now, unless it is known; they are read, and not written."""
        args, constants = self._placed(args, constants)
        if any(is_op(arg) for arg in args):
            raise TypeError(f"to tune `{self.__name__}`, pass tensors, not ops")
        refuse_outputs(self.entry, self.space, args)
        self.choose(args, constants)
        return self.report(*args, **constants)

    def declare(self, *args: Any, **constants: Any) -> Declared:
        """Note that calls with such arguments will come, so that `tilewright tune` knows.

        Nothing is measured yet; `tw.meta(...)` stands for tensors.
        """
        declared = Declared(args, constants)
        self.declared.append(declared)
        return declared

    def tune_declared(self) -> list[Report]:
        """Choose for what was declared, with random numbers in the place of `tw.meta(...)`."""
        return [
            self.tune(*map(stand_in, declared.args), **declared.constants)
            for declared in self.declared
        ]

    def launch(self, *args: Any, **constants: Any) -> Launch[Any]:
        """Build the launch of the best configuration; tunes at once if it is not known."""
        args, constants = self._placed(args, constants)
        return self.choose(args, constants).launch(args, constants)

    def report(self, *args: Any, **constants: Any) -> Report:
        """Return what was tried for such arguments; without arguments, by the latest tuning."""
        if not args and self._reports:
            return self._reports[next(reversed(self._reports))]
        found = None
        if args:
            args, constants = self._placed(args, constants)
            found = self._reports.get(self._key_of(args, constants))
        if found is None:
            raise LookupError(
                f"`{self.__name__}` was not tuned for {'such arguments' if args else 'anything'}"
                " yet; kernel.tune(...) does it"
            )
        return found

    def reports(self) -> list[Report]:
        """Return what was tried for each key, in the order of the choices."""
        return list(self._reports.values())

    def choose(self, args: Sequence[Any], constants: Mapping[str, Any]) -> Choice:
        """Return what is chosen for the arguments of a call: known, recorded, or measured now."""
        key = self._key_of(args, constants)
        known = self._choices.get(key)
        if known is not None:
            return known
        mode = current().autotune
        if mode == "off":
            return self._first
        with self._locks.setdefault(key, threading.Lock()):
            known = self._choices.get(key)
            if known is not None:  # another thread was first
                return known
            return self._found(args, constants, key, mode)

    def is_known(self, args: Sequence[Any], constants: Mapping[str, Any]) -> bool:
        """Return whether a call needs no tuning."""
        if current().autotune == "off":
            return True
        return self._choices.get(self._key_of(args, constants)) is not None

    def _found(
        self, args: Sequence[Any], constants: Mapping[str, Any], key: Any, mode: str
    ) -> Choice:
        device = _device_of(args)
        given = dict(constants)
        facts = facts_of(self.entry, self.space, given, key[0], device)
        recorded = self._recorded(facts, key)
        if recorded is not None:
            return recorded
        if mode == "cached":
            return self._first
        _refuse_capture(self.__name__)
        with alone(facts):
            recorded = self._recorded(facts, key)  # another process may have been first
            if recorded is not None:
                return recorded
            return unlocked(self._measured, args, given, key, facts, device)

    def _measured(
        self,
        args: Sequence[Any],
        constants: dict[str, Any],
        key: Any,
        facts: Mapping[str, Any],
        device: Device,
    ) -> Choice:
        """Tune, and remember it."""
        sandbox = Sandbox(self.entry, args, constants, device)
        if len(self.space) == 1 or not sandbox.size:  # there is nothing to choose, or to measure
            return self._first
        choices = [self._choice(config) for config in self.space]
        choice, tried, seconds = tune(self.__name__, choices, sandbox, self._options)
        record = Record(facts, choice.config.text, tried)
        put(record)
        self._reports[key] = note(Report.of(record, seconds))
        self._choices[key] = choice
        return choice

    def _recorded(self, facts: Mapping[str, Any], key: Any) -> Choice | None:
        """Return what a record says, if it is one of the configurations there are now."""
        record = find(facts)
        if record is None:
            return None
        config = next((c for c in self.space if c.text == record.config), None)
        if config is None:
            return None
        self._reports[key] = note(Report.of(record))
        choice = self._choices[key] = self._choice(config)
        return choice

    @functools.cached_property
    def _first(self) -> Choice:
        """What is used where nothing is measured."""
        return self._choice(self.space[0])

    def _choice(self, config: Config) -> Choice:
        return Choice(self.entry, config, self._grid)

    def _key_of(self, args: Sequence[Any], constants: Mapping[str, Any]) -> Any:
        key = self._key(args), home_of(args)
        return (*key, *sorted(constants.items())) if constants else key

    def _placed(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the arguments in the kernel's order, and the constants of the call."""
        placed, constants = self.entry.kernel.placed(tuple(args), keywords)
        chosen = [name for name in constants if name in self.space[0].constants]
        if chosen:
            raise TypeError(f"`{chosen[0]}` of `{self.__name__}` is chosen by tuning: leave it out")
        return placed, constants

    def _repr_html_(self) -> str:
        rows = [(config.text,) for config in self.space]
        return grid(f"tuned kernel {self.__name__}", ("configuration",), rows)

    def __repr__(self) -> str:
        return f"<tuned kernel `{self.__name__}`, {len(self.space)} configurations>"


class TuningLaunch(Composite[Any]):
    """A launch of a tuned kernel whose configuration is chosen when it runs."""

    LISTED = "out"
    gives_back = True
    lengthy = True
    holds: ClassVar[tuple[str, ...]] = ("_constants",)

    def __init__(
        self, kernel: TunedKernel, args: Sequence[Any], constants: Mapping[str, Any]
    ) -> None:
        refuse_outputs(kernel.entry, kernel.space, args)
        self._kernel, self._constants = kernel, constants
        parameters = kernel.entry.source.parameters
        self._fresh = [
            i for i, arg in enumerate(args) if is_op(arg) and parameters[i].kind == "output"
        ]
        """Which written arguments come from ops."""
        self._home = tensor_home(args)
        self.effect = True
        self.made_of = tuple([as_op(arg) for arg in args])
        for part in self.made_of:
            part.claim(self.name)
        self.result_count = len(self.made_of)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._kernel.__name__

    @property
    def home(self) -> Device | None:
        """Where its arguments live, as far as they are known."""
        return self._home or next((p.home for p in self.made_of if p.home is not None), None)

    def out(self) -> DeviceOp[Any]:
        """Return the outputs alone: one tensor, or a tuple of them."""
        entry = self._kernel.entry
        kind = WholeOutputs if isinstance(entry, SimtEntry) else Outputs
        parameters = entry.source.parameters
        take = kind(entry.kernel.written, len(parameters))
        op: DeviceOp[Any] = self.map(take)
        return op

    def steps(self, ctx: ExecutionContext) -> Steps[Any]:
        """Return the argument ops, then tuning, then the launch."""
        values: list[Any] = []
        for part in self.made_of:
            values.append((yield part))
        constants = self._constants
        if ctx.on_loop and not self._kernel.is_known(values, constants):
            yield ELSEWHERE
        for place in self._fresh:
            if isinstance(values[place], Tensor) and isinstance(self._kernel.entry, SimtEntry):
                values[place] = values[place].borrow_mut()  # the op owns its result
        launch = self._kernel.choose(values, constants).launch(values, constants)
        return (yield admit(launch, self.name, ctx, values))


def _places_of_tensors(entry: Entry) -> list[int]:
    parameters = entry.source.parameters
    return [i for i, p in enumerate(parameters) if p.kind in ("output", "tensor")]


def tensor_home(args: Sequence[Any]) -> Device | None:
    """Return the device of the first tensor; arrays of other libraries go where tensors are."""
    ours: list[Any] = [arg for arg in args if isinstance(arg, Tensor | BorrowMut | Partition | Arc)]
    home: Device | None = home_of(ours)
    return home


def _device_of(args: Sequence[Any]) -> Device:
    """Return where the launches of a call run."""
    return tensor_home(args) or default_device()


def _refuse_capture(kernel: str) -> None:
    """Raise if this thread captures work, in which nothing can be measured."""
    from threading import get_ident

    recorder = RECORDERS.get(get_ident()) if RECORDERS else None
    if recorder is not None:
        raise SchedulingError(
            f"`{kernel}` is not tuned for these arguments, and cannot be while `{recorder.name}` is"
            " captured",
            places=(("here", place_of(here())),),
            hint=f"call {kernel}.tune(...) with such arguments before the capture",
        )


class Autotune:
    """What `tw.autotune` gives: decorates kernels, and is the `tune` of `tw.function`."""

    def __init__(self, space: Space, key: KeyRule, grid: GridRule, options: Options) -> None:
        self.space, self.key, self.grid, self.options = space, key, grid, options

    @property
    def chosen(self) -> frozenset[str]:
        """The constants that are chosen, and `tile` if tiles are."""
        names = {name for config in self.space for name in config.constants}
        return frozenset(names | {"tile" for config in self.space if config.tile is not None})

    def __call__(self, kernel: Entry) -> TunedKernel:
        """Tune a kernel."""
        _refuse_no_kernel(kernel)
        return TunedKernel(kernel, self.space, self.key, self.grid, self.options)

    def __repr__(self) -> str:
        return f"<tw.autotune of {len(self.space)} configurations>"


def _refuse_no_kernel(kernel: object) -> None:
    if not isinstance(kernel, Entry):
        raise TypeError(
            "tw.autotune stands above @tw.entry or @simt.kernel, and decorates what they make; got"
            f" {type(kernel).__name__} `{getattr(kernel, '__name__', repr(kernel))}`"
        )


def autotune(
    space: Sequence[Config] | Config,
    /,
    *,
    key: KeyRule = None,
    grid: GridRule = None,
    tolerance: float | None = None,
    flush: bool = False,
) -> Autotune:
    """Choose tiles, constants and hints of a kernel by measuring: `@tw.autotune(tw.search(...))`.

    `space` is a `tw.search(...)`, or a list of `tw.Config`. Calls with the same `key` share a
    choice: facts such as `"x.shape"`, `"x.shape[0]"`, `"x.dtype"` or the name of a number, or a
    function of arguments by name, which may put shapes into buckets; by default it is the shapes
    and element types of all tensors. `grid` is for kernels whose grid does not follow from outputs:
    a function of arguments and constants by name, `lambda x, BLOCK: tw.cdiv(x.shape[0], BLOCK)`.

    Each candidate's results are compared with those of the first. `tolerance` is how far they may
    be apart, relative to their magnitude; by default it follows from the element type, and integers
    must be equal. With `flush` the caches of the device are flushed before each measured launch.
    """
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"the tolerance of tw.autotune is not negative, got {tolerance}")
    return Autotune(as_space(space), key, grid, Options(tolerance, flush))
